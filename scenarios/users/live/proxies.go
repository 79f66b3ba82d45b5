package live

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// proxyOf is the service proxy that a node runs, by its snapshot, and by its configuration if it has rules of both modes. The note says
// what is left of the other mode.
func proxyOf(taken *snapshot.NodeSnapshot, configured string) (found provenance.ServiceProxy, note string, err error) {
	s, err := signsOf(taken)
	if err != nil {
		return found, "", fmt.Errorf("snapshot of %s: %w", taken.Hostname, err)
	}
	found = provenance.ServiceProxyOf(s, configured)
	if found.Mode == provenance.ModeNFTables && !hasRead(taken, provenance.NFTable) {
		found.InRules, found.Mode = false, ""
	}
	if left, some := provenance.Leftovers(s, found); some {
		note = fmt.Sprintf("%s runs %s (%s), and has rules of mode %s as well (%s): packets are walked through both", taken.Hostname, found.Name,
			found.Seen, left.Mode, left.Seen)
	}
	return found, note, nil
}

// hasRead says whether the rules of a table of nftables were read, of a family that has it.
func hasRead(taken *snapshot.NodeSnapshot, table string) bool {
	return slices.ContainsFunc(taken.NFTables, func(t snapshot.NFTable) bool { return t.Name == table && t.Rules != "" })
}

// signsOf are what of a node shows which service proxy it runs.
func signsOf(taken *snapshot.NodeSnapshot) (provenance.Signs, error) {
	rulesets, err := taken.Rulesets()
	if err != nil {
		return provenance.Signs{}, err
	}
	s := provenance.Signs{Chains: chainsWithRules(rulesets)}
	for i := range taken.NFTables {
		s.Tables = append(s.Tables, taken.NFTables[i].Family+" "+taken.NFTables[i].Name)
	}
	for i := range taken.Devices {
		s.Devices = append(s.Devices, taken.Devices[i].Name)
	}
	for line := range strings.Lines(taken.IPSets) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "create" {
			s.Sets = append(s.Sets, words[1])
		}
	}
	return s, nil
}

// findProxies finds the service proxies of the nodes. What is judged of a node is the mode that it runs, whatever its configuration says.
func (e *exam) findProxies() error {
	known, err := e.cluster.config()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(e.nodes)) {
		configured := ""
		if own := cmp.Or(e.cluster.NodeConfigs[name], known); own != nil {
			configured = modeOf(own)
		}
		found, note, err := proxyOf(e.nodes[name].NodeSnapshot, configured)
		if err != nil {
			return err
		}
		if note != "" {
			e.report.Notes = append(e.report.Notes, note)
		}
		e.proxies[name] = found
		if !found.InRules {
			e.others[name] = found.Name
		}
		if config := e.topology.Configs[name]; found.Mode != "" && modeOf(config) != found.Mode {
			own := config.DeepCopy()
			own.Mode = kubeproxyconfig.ProxyMode(found.Mode)
			e.topology.Configs[name] = own
		}
	}
	return nil
}

// modeOf is the mode that a configuration says.
func modeOf(c *kubeproxyconfig.KubeProxyConfiguration) string {
	return cmp.Or(string(c.Mode), provenance.ModeIPTables)
}

func chainsWithRules(rulesets []netfilter.RulesetView) []string {
	var out []string
	for _, rules := range rulesets {
		for _, table := range rules.Tables {
			for chain := range table.Chains() {
				if chain.Len() > 0 {
					out = append(out, chain.Name)
				}
			}
		}
	}
	return out
}

// noteModes notes the nodes that do not run kube-proxy in the mode that its configuration says.
func (e *exam) noteModes() error {
	config, err := e.cluster.config()
	if err != nil || config == nil {
		return err
	}
	for i := range e.report.Nodes {
		n := &e.report.Nodes[i]
		own := config
		if one := e.cluster.NodeConfigs[n.Name]; one != nil {
			own = one
		}
		mode := modeOf(own)
		if n.Judged && n.Proxy.Name != "" && !strings.HasSuffix(n.Proxy.Name, "in mode "+mode) {
			e.report.Notes = append(e.report.Notes, fmt.Sprintf("kube-proxy is configured for mode %s, and %s runs %s (%s)",
				mode, n.Name, n.Proxy.Name, n.Proxy.Seen))
		}
	}
	return nil
}

// walked says whether packets are walked through what the service proxy of a node does.
func (e *premises) walked(node string) bool { return e.others[node] == "" }

// decidedByOther is the node with another service proxy that decides about an attempt; empty if none does. What pods send one another it
// leaves alone.
func (e *premises) decidedByOther(a oracle.Attempt) string {
	if len(e.others) == 0 || e.pods[a.From] != nil && e.betweenPods(a) {
		return ""
	}
	for _, node := range []string{e.clientNode(a), a.Via, e.hostOf(a.To.Addr())} {
		if !e.walked(node) {
			return node
		}
	}
	return ""
}

// DoubtOfProxy is the doubt about a packet that comes to a node whose service proxy is not walked; false where that proxy leaves the packet
// alone. Without objects nobody knows the addresses of services: they are those to which the node has no route but the default one, and
// those of its own, for node ports.
func DoubtOfProxy(taken *snapshot.NodeSnapshot, to netip.Addr) (packetsim.Doubt, bool) {
	found, _, err := proxyOf(taken, "")
	if err != nil || found.InRules {
		return packetsim.Doubt{}, false
	}
	gateways := gatewaysOf(taken)
	gateways.lengths = slices.DeleteFunc(gateways.lengths, func(bits int) bool { return bits == 0 })
	return proxyDoubt(taken.Hostname, found), hasAddress(taken, to) || !gateways.leadTo(to)
}

func hasAddress(taken *snapshot.NodeSnapshot, a netip.Addr) bool {
	return slices.ContainsFunc(taken.Devices, func(d snapshot.Device) bool {
		return slices.ContainsFunc(d.Addresses, func(own snapshot.Address) bool { return own.Prefix.Addr() == a })
	})
}

func proxyDoubt(node string, of provenance.ServiceProxy) packetsim.Doubt {
	d := packetsim.Doubt{Kind: packetsim.DoubtProxy, Unless: fmt.Sprintf("%s takes it on %s (%s)", of.Name, node, of.Seen)}
	if strings.HasSuffix(of.Name, " ipvs") {
		d.See = "ipvsadm -Ln"
	}
	return d
}

// doubtOfProxy is DoubtOfProxy for an attempt, by the objects.
func (e *premises) doubtOfProxy(a oracle.Attempt) (packetsim.Doubt, bool) {
	node := e.decidedByOther(a)
	if node == "" {
		return packetsim.Doubt{}, false
	}
	return proxyDoubt(node, e.proxies[node]), true
}

// betweenPods says whether an attempt goes to a pod's own address.
func (e *premises) betweenPods(a oracle.Attempt) bool {
	answer := e.spec.Expect(a)
	return answer.Service.Name == "" && answer.Fate == oracle.Untouched && e.pods[answer.Host] != nil
}

// clientNode is the node that an attempt begins at; empty if it comes from outside.
func (e *premises) clientNode(a oracle.Attempt) string {
	if pod := e.pods[a.From]; pod != nil {
		return pod.Node
	}
	if e.directory.nodes[a.From] != nil {
		return a.From
	}
	return ""
}

// Silent says that nothing can be said of the services, since every node that is known runs a proxy whose work is not walked, and that
// nothing else is wrong there; or since no node that was asked has given a snapshot.
func (r *Report) Silent() bool {
	known, walked := 0, 0
	for i := range r.Nodes {
		if r.Nodes[i].Judged {
			known++
			if r.Nodes[i].Proxy.Walked {
				walked++
			}
		}
	}
	return known > 0 && walked == 0 && len(r.Findings) == 0 || known == 0 && r.LacksSnapshot()
}
