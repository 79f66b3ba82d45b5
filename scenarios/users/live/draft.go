package live

import (
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// draft is a scenario before it has steps: what it is made of.
type draft struct {
	topology scenarios.Topology
	tools    []netfilter.Dialect
	objects  []manifest.Object
	config   *kubeproxyconfig.KubeProxyConfiguration // nil: not known
	preload  []preload
	own      map[string]*kubeproxyconfig.KubeProxyConfiguration // of nodes that have another one
}

// eachConfig changes every configuration that is known.
func (d *draft) eachConfig(change func(*kubeproxyconfig.KubeProxyConfiguration)) {
	if d.config != nil {
		change(d.config)
	}
	for _, config := range d.own {
		change(config)
	}
}

// draft reads what a scenario of the cluster is made of; the notes say what was assumed or does not fit.
func (c *Cluster) draft() (*draft, []string, error) {
	s, err := c.survey()
	if err != nil {
		return nil, nil, err
	}
	config, err := c.config()
	if err != nil {
		return nil, nil, err
	}
	if config == nil && len(c.NodeConfigs) < len(c.nodes()) {
		s.notef(ConfigurationAssumed)
	}
	objects, err := c.pruned()
	d := &draft{topology: s.out, tools: c.dialects(), objects: objects, config: pruneConfig(config)}
	if len(c.NodeConfigs) > 0 {
		d.own = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	}
	for name, own := range c.NodeConfigs {
		d.own[name] = pruneConfig(own)
	}
	return d, s.notes, err
}

// tools are the variants of iptables that the nodes have; none if no snapshot says so, or all.
func (c *Cluster) dialects() []netfilter.Dialect {
	found := map[netfilter.Dialect]bool{}
	for _, taken := range c.Snapshots {
		for i := range taken.IPTables {
			if rules := &taken.IPTables[i]; provenance.InSave(rules.Save) {
				found[rules.Dialect] = true
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	for tool := range found {
		return []netfilter.Dialect{tool}
	}
	return nil
}

// pruneConfig is what of a configuration decides about packets; nil of none.
func pruneConfig(c *kubeproxyconfig.KubeProxyConfiguration) *kubeproxyconfig.KubeProxyConfiguration {
	if c == nil {
		return nil
	}
	out := &kubeproxyconfig.KubeProxyConfiguration{
		ClusterCIDR: c.ClusterCIDR, DetectLocalMode: c.DetectLocalMode, DetectLocal: c.DetectLocal,
		NodePortAddresses: c.NodePortAddresses, Mode: c.Mode,
	}
	out.NFTables.MasqueradeBit, out.NFTables.MasqueradeAll = c.NFTables.MasqueradeBit, c.NFTables.MasqueradeAll
	out.IPTables.MasqueradeBit, out.IPTables.MasqueradeAll = c.IPTables.MasqueradeBit, c.IPTables.MasqueradeAll
	out.IPTables.LocalhostNodePorts = c.IPTables.LocalhostNodePorts
	out.Conntrack.TCPBeLiberal = c.Conntrack.TCPBeLiberal
	return out.DeepCopy()
}

// simulatedPods begin the names of a simulated node's devices to its pods (scenarios/world/plan).
const simulatedPods = "veth"

// toSimulated has kube-proxy know local traffic by the devices of simulated nodes, where it goes by devices.
func (d *draft) toSimulated() {
	d.eachConfig(func(c *kubeproxyconfig.KubeProxyConfiguration) {
		switch c.DetectLocalMode {
		case "BridgeInterface", "InterfaceNamePrefix":
			c.DetectLocalMode = "InterfaceNamePrefix"
			c.DetectLocal = kubeproxyconfig.DetectLocalConfiguration{InterfaceNamePrefix: simulatedPods}
		}
	})
}

// scenario is the scenario without steps.
func (d *draft) scenario(name string) (*scenarios.Scenario, error) {
	kubeProxy, err := d.kubeProxies()
	if err != nil {
		return nil, err
	}
	if len(d.topology.Pods) == 0 {
		d.topology.Pods = nil // not given, rather than none
	}
	if len(d.topology.Outside) == 0 {
		d.topology.Outside = nil
	}
	iptables := scenarios.IPTables{Dialects: d.tools}
	for i := range d.preload {
		iptables.Preload = append(iptables.Preload, d.preload[i].Preload)
	}
	return &scenarios.Scenario{Name: name, Topology: d.topology, IPTables: iptables, Objects: d.objects, KubeProxy: kubeProxy}, nil
}

// kubeProxies gives each node its configuration if one has another than the rest; otherwise it returns that of all.
func (d *draft) kubeProxies() (scenarios.KubeProxy, error) {
	if len(d.own) == 0 {
		return kubeProxyOf(d.config)
	}
	for i := range d.topology.Nodes {
		n := &d.topology.Nodes[i]
		config := d.own[n.Name]
		if config == nil {
			config = d.config
		}
		var err error
		if n.KubeProxy, err = kubeProxyOf(config); err != nil {
			return scenarios.KubeProxy{}, err
		}
	}
	return scenarios.KubeProxy{}, nil
}

// kubeProxyOf is a configuration as a scenario has it; nothing if it is not known.
func kubeProxyOf(c *kubeproxyconfig.KubeProxyConfiguration) (scenarios.KubeProxy, error) {
	if c == nil {
		return scenarios.KubeProxy{}, nil
	}
	return scenarios.KubeProxyOf(c)
}

// dropsByPolicy says whether a ruleset has a policy of DROP.
func dropsByPolicy(rules netfilter.RulesetView) bool {
	for _, table := range rules.Tables {
		for chain := range table.Unsorted() {
			if chain.Policy == netfilter.Drop {
				return true
			}
		}
	}
	return false
}

// preloadDrops says whether rules that a scenario puts on its nodes have a policy of DROP.
func preloadDrops(p *scenarios.Preload) bool {
	family := netfilter.IPv4
	if p.Family == scenarios.FamilyIPv6 {
		family = netfilter.IPv6
	}
	rules, err := fakekernel.RestoreSaves([]string{p.Save}, family)
	return err == nil && dropsByPolicy(rules)
}
