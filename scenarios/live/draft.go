package live

import (
	"strings"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// draft is a scenario before it has steps: what it is made of.
type draft struct {
	topology scenarios.Topology
	tools    []scenarios.Tool
	objects  []manifest.Object
	config   *kubeproxyconfig.KubeProxyConfiguration // nil: nobody knows
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
	if config == nil {
		s.notef("no kube-proxy configuration is known: its defaults count, with the range of the nodes' podCIDRs as clusterCIDR")
	}
	objects, err := c.pruned()
	return &draft{topology: s.out, tools: c.tools(), objects: objects, config: pruneConfig(config)}, s.notes, err
}

// tools are the variants of iptables that the nodes have; none if no snapshot says so, or all.
func (c *Cluster) tools() []scenarios.Tool {
	found := map[scenarios.Tool]bool{}
	for _, taken := range c.Snapshots {
		for i := range taken.IPTables {
			if rules := &taken.IPTables[i]; strings.Contains(rules.Save, "KUBE-SERVICES") {
				found[scenarios.Tool(rules.Backend)] = true
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	for tool := range found {
		return []scenarios.Tool{tool}
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
		NodePortAddresses: c.NodePortAddresses,
	}
	out.IPTables.MasqueradeBit, out.IPTables.MasqueradeAll = c.IPTables.MasqueradeBit, c.IPTables.MasqueradeAll
	out.IPTables.LocalhostNodePorts = c.IPTables.LocalhostNodePorts
	out.Conntrack.TCPBeLiberal = c.Conntrack.TCPBeLiberal
	return out.DeepCopy()
}

// simulatedPods begin the names of a simulated node's devices to its pods (scenarios/plan).
const simulatedPods = "veth"

// toSimulated has kube-proxy know local traffic by the devices of simulated nodes, where it goes by devices.
func (d *draft) toSimulated() {
	if d.config == nil {
		return
	}
	switch d.config.DetectLocalMode {
	case "BridgeInterface", "InterfaceNamePrefix":
		d.config.DetectLocalMode = "InterfaceNamePrefix"
		d.config.DetectLocal = kubeproxyconfig.DetectLocalConfiguration{InterfaceNamePrefix: simulatedPods}
	}
}

// scenario is the scenario without steps.
func (d *draft) scenario(name string) (*scenarios.Scenario, error) {
	var kubeProxy scenarios.KubeProxy
	if d.config != nil {
		var err error
		if kubeProxy, err = scenarios.KubeProxyOf(d.config); err != nil {
			return nil, err
		}
	}
	if len(d.topology.Pods) == 0 {
		d.topology.Pods = nil // not given, rather than none
	}
	if len(d.topology.Outside) == 0 {
		d.topology.Outside = nil
	}
	return &scenarios.Scenario{
		Name: name, Topology: d.topology, IPTables: scenarios.IPTables{Tools: d.tools}, Objects: d.objects, KubeProxy: kubeProxy,
	}, nil
}

// filters says whether rules of others drop packets at a node: a policy of DROP.
func filters(taken *snapshot.Node) bool {
	for i := range taken.IPTables {
		for line := range strings.Lines(taken.IPTables[i].Save) {
			if strings.HasPrefix(line, ":") && strings.Contains(line, " DROP ") {
				return true
			}
		}
	}
	return false
}
