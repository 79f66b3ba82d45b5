package kind

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios"
)

const (
	modeIPTables, modeNFTables = "iptables", "nftables"
	// primaryAddresses is the word of nodePortAddresses for the node's own main addresses.
	primaryAddresses = "primary"
)

// leftAsItIs is why a scenario is not run for which a kube-proxy of the cluster's own would have to be started anew.
const leftAsItIs = "the cluster's own kube-proxy stays as it is, and is neither stopped nor restarted"

// foreign says why a scenario cannot be held against the kube-proxy that came with the cluster: it has the one configuration that it has,
// and goes on.
func (v *visit) foreign(s *scenarios.Scenario) string {
	if v.facts.Foreign == nil {
		return ""
	}
	for i := range v.cluster.Nodes {
		n := &v.cluster.Nodes[i]
		if len(n.Sysctls) > 0 {
			return "sysctls: a proxy looks at them when it starts, and " + leftAsItIs
		}
		if why := v.foreignConfig(s, n.Name, v.cluster.Configs[n.Name]); why != "" {
			return why
		}
	}
	if len(v.cluster.Preload) > 0 {
		return "preload: " + leftAsItIs
	}
	for i := range s.Steps {
		switch step := &s.Steps[i]; {
		case step.Restart != nil:
			return "restart: " + leftAsItIs
		case step.Hold != nil && len(step.Hold.Names) > 0, step.Sync != nil && !step.Sync.All &&
			(step.Apply != nil || step.Delete != nil || step.Node != nil):
			return "sync: a change that waits for one needs a proxy that is stopped, and " + leftAsItIs
		case step.Fault != nil:
			return "fault: the rules of a node are put back under a proxy that starts again, and " + leftAsItIs
		}
	}
	return ""
}

// foreignConfig names the first field in which the cluster's kube-proxy is told another thing than a scenario wants.
func (v *visit) foreignConfig(s *scenarios.Scenario, node string, given *kubeproxyconfig.KubeProxyConfiguration) string {
	mapped, err := v.mapping.config(node, given, "")
	if err != nil {
		return err.Error()
	}
	mapped.IPTables.MinSyncPeriod = given.IPTables.MinSyncPeriod
	want, has := proxier.WithDefaults(mapped), proxier.WithDefaults(inWordsOfIPTables(v.facts.Foreign))
	for _, f := range v.decisive(s, given) {
		if wanted, is := f.of(want), f.of(has); wanted != is {
			return fmt.Sprintf("kubeProxy: the scenario wants %s %q, the cluster's own kube-proxy has %q and cannot be given another configuration",
				f.name, wanted, is)
		}
	}
	if !v.samePods(want.ClusterCIDR, has.ClusterCIDR) {
		return fmt.Sprintf("kubeProxy: the scenario wants clusterCIDR %q, the cluster's own kube-proxy has %q, which holds other pods",
			want.ClusterCIDR, has.ClusterCIDR)
	}
	return ""
}

// setting is one field of a configuration, as a text that is the same where the field means the same.
type setting struct {
	name string
	of   func(*kubeproxyconfig.KubeProxyConfiguration) string
}

// decisive are the fields that decide what becomes of the packets of a scenario.
func (v *visit) decisive(s *scenarios.Scenario, given *kubeproxyconfig.KubeProxyConfiguration) []setting {
	type config = *kubeproxyconfig.KubeProxyConfiguration
	fields := []setting{
		{"nodePortAddresses", v.nodePorts},
		{"detectLocalMode", func(c config) string { return string(c.DetectLocalMode) }},
		{"detectLocal.bridgeInterface", func(c config) string { return c.DetectLocal.BridgeInterface }},
		{"detectLocal.interfaceNamePrefix", func(c config) string { return c.DetectLocal.InterfaceNamePrefix }},
		{"masqueradeAll", func(c config) string { return fmt.Sprint(c.IPTables.MasqueradeAll) }},
		{"masqueradeBit", func(c config) string { return fmt.Sprint(*c.IPTables.MasqueradeBit) }},
		{"syncPeriod", func(c config) string { return c.IPTables.SyncPeriod.Duration.String() }},
		{"conntrack.udpTimeout", func(c config) string { return c.Conntrack.UDPTimeout.Duration.String() }},
		{"conntrack.udpStreamTimeout", func(c config) string { return c.Conntrack.UDPStreamTimeout.Duration.String() }},
	}
	if v.facts.Mode != modeNFTables { // which has no such node ports, whatever it is told
		fields = append(fields,
			setting{"iptables.localhostNodePorts", func(c config) string { return fmt.Sprint(*c.IPTables.LocalhostNodePorts) }})
	}
	if given.Conntrack.TCPBeLiberal || sendsOutOfWindow(s) { // nothing else tells
		fields = append(fields, setting{"conntrack.tcpBeLiberal", func(c config) string { return fmt.Sprint(c.Conntrack.TCPBeLiberal) }})
	}
	for _, timeout := range []struct {
		given bool
		setting
	}{
		{given.Conntrack.TCPEstablishedTimeout != nil, setting{"conntrack.tcpEstablishedTimeout", func(c config) string {
			return c.Conntrack.TCPEstablishedTimeout.Duration.String()
		}}},
		{given.Conntrack.TCPCloseWaitTimeout != nil, setting{"conntrack.tcpCloseWaitTimeout", func(c config) string {
			return c.Conntrack.TCPCloseWaitTimeout.Duration.String()
		}}},
		{given.IPTables.MinSyncPeriod.Duration > 0, setting{"minSyncPeriod", func(c config) string {
			return c.IPTables.MinSyncPeriod.Duration.String()
		}}},
	} {
		if timeout.given {
			fields = append(fields, timeout.setting)
		}
	}
	return fields
}

// nodePorts are the nodePortAddresses; none of them means every address in mode iptables, and the primary ones in mode nftables.
func (v *visit) nodePorts(c *kubeproxyconfig.KubeProxyConfiguration) string {
	if len(c.NodePortAddresses) == 0 && v.facts.Mode == modeNFTables {
		return primaryAddresses
	}
	return strings.Join(slices.Sorted(slices.Values(c.NodePortAddresses)), ",")
}

func sendsOutOfWindow(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Steps, func(step scenarios.Step) bool {
		return step.Flow != nil && step.Flow.Send == scenarios.PacketOutOfWindow
	})
}

// inWordsOfIPTables is a configuration with what mode nftables has in a section of its own where scenarios have it.
func inWordsOfIPTables(c *kubeproxyconfig.KubeProxyConfiguration) *kubeproxyconfig.KubeProxyConfiguration {
	out := c.DeepCopy()
	if out.Mode != modeNFTables {
		return out
	}
	out.IPTables.MasqueradeAll, out.IPTables.MasqueradeBit = c.NFTables.MasqueradeAll, c.NFTables.MasqueradeBit
	out.IPTables.SyncPeriod, out.IPTables.MinSyncPeriod = c.NFTables.SyncPeriod, c.NFTables.MinSyncPeriod
	return out
}

// samePods reports whether two lists of ranges hold the same addresses of pods, nodes and machines, of those that the scenario and the
// cluster have.
func (v *visit) samePods(a, b string) bool {
	var addresses []netip.Addr
	for _, known := range v.mapping.known() {
		addresses = append(addresses, v.mapping.To(known))
	}
	for i := range v.facts.Nodes {
		n := &v.facts.Nodes[i]
		addresses = append(addresses, n.Addresses...)
		for _, cidr := range n.PodCIDRs {
			addresses = append(addresses, cidr.Masked().Addr(), lastOf(cidr))
		}
	}
	wanted := families(v.cluster.IPFamily)
	first, second := prefixesOf(a), prefixesOf(b)
	return !slices.ContainsFunc(addresses, func(at netip.Addr) bool {
		return slices.Contains(wanted, at.Is6()) && holds(first, at) != holds(second, at)
	})
}

// prefixesOf are the ranges of a list with commas; it leaves out words that are no range.
func prefixesOf(text string) []netip.Prefix {
	var out []netip.Prefix
	for one := range strings.SplitSeq(text, ",") {
		if p, err := netip.ParsePrefix(strings.TrimSpace(one)); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func holds(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
