package oracle

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
)

// view is a node's service proxy: what it is told to do, and what it knows of its node.
type view struct {
	name          string
	mode          Mode
	zone          string
	masqueradeAll bool
	masqueradeBit int32 // of the mark on what is masqueraded
	nodeHints     bool  // hints for nodes count
	primary       [2]netip.Addr
	detect        detector
	nodePorts     [2]nodePorts
	liberal       bool
	filters       bool
	filter        filters
	device        string
	// externalIPsOff says that the node's proxy is told to leave the externalIPs of services alone (KEP-5707).
	externalIPsOff bool
}

// family is the place of an address' family in a pair: 0 is IPv4.
func family(a netip.Addr) int { return familyOf(a.Is6()) }

func familyOf(v6 bool) int {
	if v6 {
		return 1
	}
	return 0
}

// defaultMasqueradeBit is kube-proxy's.
const defaultMasqueradeBit = 14

func newView(n *Node) view {
	config := n.Config
	if config == nil {
		config = &kubeproxyconfig.KubeProxyConfiguration{}
	}
	v := view{
		name: n.Name, mode: ModeOf(config), masqueradeAll: config.IPTables.MasqueradeAll, masqueradeBit: defaultMasqueradeBit, nodeHints: true,
		liberal: n.Liberal, filters: n.Filters, device: n.device,
	}
	bit := config.IPTables.MasqueradeBit
	if v.mode == NFTables {
		v.masqueradeAll, bit = config.NFTables.MasqueradeAll, config.NFTables.MasqueradeBit
	}
	if bit != nil {
		v.masqueradeBit = *bit
	}
	if !n.Filters {
		v.filter = n.Filter
	}
	if on, given := config.FeatureGates["PreferSameTrafficDistribution"]; given {
		v.nodeHints = on
	}
	if on, given := config.FeatureGates["AllowServiceExternalIPs"]; given {
		v.externalIPsOff = !on
	}
	cidrs := n.PodCIDRs
	if n.Object != nil {
		v.zone = n.Object.Labels[corev1.LabelTopologyZone]
	}
	if started := n.started(); started != nil && len(started.Spec.PodCIDRs) > 0 {
		cidrs = prefixes(started.Spec.PodCIDRs)
	}
	v.primary = primaryAddresses(n)
	v.detect = newDetector(config, cidrs)
	localhost := config.IPTables.LocalhostNodePorts == nil || *config.IPTables.LocalhostNodePorts
	for f := range v.nodePorts {
		v.nodePorts[f] = newNodePorts(config.NodePortAddresses, f == 1, localhost, v.primary[f])
		if v.mode == NFTables {
			v.nodePorts[f] = newNodePortsOfNFTables(config.NodePortAddresses, f == 1, v.primary[f])
		}
		v.nodePorts[f].found = n.Found
	}
	return v
}

// started is the Node object as the proxier found it: what it says of addresses later is not noticed.
func (n *Node) started() *corev1.Node {
	if n.Started != nil {
		return n.Started
	}
	return n.Object
}

// primaryAddresses are the addresses that the Node object names: an internal one before an external one.
func primaryAddresses(n *Node) (out [2]netip.Addr) {
	if started := n.started(); started != nil {
		for _, wanted := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
			for _, given := range started.Status.Addresses {
				if a := address(given.Address); given.Type == wanted && a.IsValid() && !out[family(a)].IsValid() {
					out[family(a)] = a
				}
			}
		}
	}
	if out[0].IsValid() || out[1].IsValid() {
		return out
	}
	for _, a := range n.Addresses {
		if !out[family(a)].IsValid() {
			out[family(a)] = a
		}
	}
	return out
}

// detector tells a client that is a pod of the cluster from others.
type detector struct {
	byDevice bool
	prefixes [2][]netip.Prefix
	device   string // its name, or the beginning of it
	prefix   bool
}

func newDetector(config *kubeproxyconfig.KubeProxyConfiguration, nodeCIDRs []netip.Prefix) (d detector) {
	var cidrs []netip.Prefix
	switch string(config.DetectLocalMode) {
	case "BridgeInterface":
		d.byDevice, d.device = true, config.DetectLocal.BridgeInterface
	case "InterfaceNamePrefix":
		d.byDevice, d.prefix, d.device = true, true, config.DetectLocal.InterfaceNamePrefix
	case "NodeCIDR":
		cidrs = nodeCIDRs
	default:
		cidrs = prefixes(strings.Split(config.ClusterCIDR, ","))
	}
	for _, p := range cidrs {
		d.prefixes[family(p.Addr())] = append(d.prefixes[family(p.Addr())], p)
	}
	return d
}

// works says whether there is anything to detect with.
func (d *detector) works(v6 bool) bool {
	if d.byDevice {
		return d.device != ""
	}
	return v6 && len(d.prefixes[1]) > 0 || !v6 && len(d.prefixes[0]) > 0
}

// local says whether a packet comes from a pod: by its source, or by the device that it comes in by, empty if the node sends it itself.
func (d *detector) local(source netip.Addr, device string) bool {
	if d.byDevice {
		return device != "" && (device == d.device || d.prefix && strings.HasPrefix(device, d.device))
	}
	return contains(d.prefixes[family(source)], source)
}

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// nodePorts are the addresses of a node that serve node ports, of one family.
type nodePorts struct {
	all       bool
	doubtful  bool // only ranges of the other family are given
	localhost bool
	prefixes  []netip.Prefix
	found     []netip.Addr // nil: all
	// The clauses by which they are served at no loopback address, and not at an address of the node; nil: the ones of mode iptables.
	notAtLoopback, notThere *Clause
}

func loopbackRange(v6 bool) netip.Prefix {
	if v6 {
		return netip.MustParsePrefix("::1/128")
	}
	return netip.MustParsePrefix("127.0.0.0/8")
}

func newNodePorts(given []string, v6, localhost bool, primary netip.Addr) (p nodePorts) {
	p.localhost = localhost && !v6
	if len(given) == 1 && given[0] == "primary" {
		if primary.IsValid() {
			p.prefixes = []netip.Prefix{netip.PrefixFrom(primary, primary.BitLen())}
		}
		p.localhost = false
		return p
	}
	for _, word := range given {
		switch word { // beside ranges since kubernetes#138427
		case "primary":
			if primary.IsValid() {
				p.prefixes = append(p.prefixes, netip.PrefixFrom(primary, primary.BitLen()))
			}
		case "localhost":
			p.prefixes = append(p.prefixes, loopbackRange(v6))
		case "all":
			p.all = true
		}
	}
	for _, cidr := range prefixes(given) {
		if cidr.Addr().Is6() == v6 {
			p.prefixes = append(p.prefixes, cidr)
			p.all = p.all || cidr.Bits() == 0
		}
	}
	if len(p.prefixes) == 0 && !p.all {
		p.all, p.doubtful = true, len(given) > 0
	}
	return p
}

// newNodePortsOfNFTables are those of a node in mode nftables.
func newNodePortsOfNFTables(given []string, v6 bool, primary netip.Addr) nodePorts {
	if len(given) > 0 {
		p := newNodePorts(given, v6, false, primary)
		p.notAtLoopback = nodePortNotAtLoopback
		return p
	}
	p := newNodePorts([]string{"primary"}, v6, false, primary)
	p.notAtLoopback, p.notThere = nodePortNotAtLoopback, nodePortAtPrimary
	return p
}

// serves says whether node ports are served at an address of the node, loopback among them, and the clause that says so. What
// is neither sure to be served nor sure not to be is unsure.
func (p *nodePorts) serves(a netip.Addr) (serves, unsure bool, why *Clause) {
	if a.IsLoopback() {
		switch {
		case p.notAtLoopback != nil:
			return false, false, p.notAtLoopback
		case !p.localhost || !p.all && !contains(p.prefixes, a):
			return false, false, localhostNodePortOff
		case !p.all && a != loopback4:
			return true, true, otherLoopbackNodePort
		}
		return true, p.doubtful, localhostNodePort
	}
	if p.doubtful {
		return true, true, nodePortRangesOfOtherFamily
	}
	if p.all || contains(p.prefixes, a) {
		// What is new since the last sync is served once that is over.
		return true, !p.all && p.found != nil && !slices.Contains(p.found, a), nodePortServed
	}
	if p.notThere != nil {
		return false, false, p.notThere
	}
	return false, false, nodePortAddresses
}
