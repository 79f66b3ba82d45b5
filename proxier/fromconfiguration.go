package proxier

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/proxier/gates"
	"github.com/chainwalk/chainwalk/proxier/node"
)

// Settings is a kube-proxy configuration as it applies to one node.
type Settings struct {
	// NodeName is the name that the node has for its proxier.
	NodeName string
	// Mode is ModeIPTables or ModeNFTables, and says which Rules to give.
	Mode kubeproxy.ProxyMode
	// PrimaryFamily is the family of the node's first address.
	PrimaryFamily v1.IPFamily
	// IPv4 and IPv6 lack what the configuration cannot say: Rules, Sysctls,
	// Network, and what is optional below these.
	IPv4, IPv6 Config
	// SyncPeriod and MinSyncPeriod are for whoever calls Sync: try again at
	// the latest, and not sooner than, so long after the last time.
	SyncPeriod, MinSyncPeriod time.Duration
	// ConfigSyncPeriod is for the informers.
	ConfigSyncPeriod time.Duration
	// Warnings say what is likely to be a mistake but is not refused.
	Warnings []string
}

// FromConfiguration applies kube-proxy's defaults to a configuration, checks
// it as kube-proxy does, and works out what it means on a node. The given
// configuration is not modified.
//
// nodeName is the host's name; hostnameOverride comes before it. The node may
// be nil if its object is not known: its addresses are then taken to be
// loopback, and mode NodeCIDR is an error. Fields that say nothing about rules,
// such as the addresses of the health check, are checked and otherwise left
// to others.
func FromConfiguration(configuration *kubeproxy.KubeProxyConfiguration, nodeName string, object *v1.Node) (*Settings, error) {
	c := WithDefaults(configuration)
	if err := Validate(c); err != nil {
		return nil, err
	}
	name, err := node.Name(c.HostnameOverride, nodeName)
	if err != nil {
		return nil, fmt.Errorf("KubeProxyConfiguration: hostnameOverride: %w", err)
	}
	on, err := gates.New(c.FeatureGates)
	if err != nil {
		return nil, fmt.Errorf("KubeProxyConfiguration: featureGates: %w", err)
	}
	reader := settingsReader{configuration: c, gates: on, settings: &Settings{
		NodeName:         name,
		Mode:             c.Mode,
		SyncPeriod:       rulesOf(c).syncPeriod,
		MinSyncPeriod:    rulesOf(c).minSyncPeriod,
		ConfigSyncPeriod: c.ConfigSyncPeriod.Duration,
	}}
	if err := reader.read(object); err != nil {
		return nil, fmt.Errorf("KubeProxyConfiguration: %w", err)
	}
	return reader.settings, nil
}

// settingsReader fills in Settings.
type settingsReader struct {
	configuration *kubeproxy.KubeProxyConfiguration
	gates         *gates.Gates
	settings      *Settings
	addresses     node.Addresses
}

func (r *settingsReader) read(object *v1.Node) error {
	if object != nil && object.Name != r.settings.NodeName {
		return fmt.Errorf("hostnameOverride: this is node %q, but the Node object is of %q", r.settings.NodeName, object.Name)
	}
	r.addresses = node.DetectAddresses(node.HostIPs(object), parseAddr(r.configuration.BindAddress))
	r.settings.PrimaryFamily = r.addresses.Primary
	if r.addresses.Of(r.addresses.Primary).IsLoopback() {
		r.warn("the node's address is not known and taken to be loopback; bindAddress can give it")
	}
	detectors, err := r.localDetectors(object)
	if err != nil {
		return err
	}
	ranges := r.nodePortRanges()
	r.settings.IPv4 = r.config(v1.IPv4Protocol, detectors[v1.IPv4Protocol], ranges)
	r.settings.IPv6 = r.config(v1.IPv6Protocol, detectors[v1.IPv6Protocol], ranges)
	r.warnOfOpenNodePorts(ranges, object)
	if without := r.gates.WithoutMeaning(); len(without) > 0 {
		r.warn("these feature gates change nothing here: %s", strings.Join(without, ", "))
	}
	return nil
}

func (r *settingsReader) config(family v1.IPFamily, detector LocalDetector, ranges []netip.Prefix) Config {
	rules := rulesOf(r.configuration)
	return Config{
		Family:                family,
		NodeName:              r.settings.NodeName,
		NodeIP:                r.addresses.Of(family),
		LocalDetector:         detector,
		MasqueradeAll:         rules.masqueradeAll,
		MasqueradeBit:         int(rules.masqueradeBit),
		NodePortAddresses:     ranges,
		LocalhostNodePorts:    r.localhostNodePorts() && family == v1.IPv4Protocol,
		ConntrackTCPBeLiberal: r.configuration.Conntrack.TCPBeLiberal,
		IgnoreExternalIPs:     !r.gates.Enabled(gates.AllowServiceExternalIPs),
	}
}

// localhostNodePorts says whether node ports may be served at loopback addresses. Mode nftables never does that.
func (r *settingsReader) localhostNodePorts() bool {
	return r.configuration.Mode == ModeIPTables && *r.configuration.IPTables.LocalhostNodePorts
}

func (r *settingsReader) warn(format string, args ...any) {
	r.settings.Warnings = append(r.settings.Warnings, fmt.Sprintf(format, args...))
}

// localDetectors returns nothing for a family whose pods are not recognised.
func (r *settingsReader) localDetectors(object *v1.Node) (map[v1.IPFamily]LocalDetector, error) {
	c := r.configuration
	switch c.DetectLocalMode {
	case localByClusterCIDR:
		return r.detectByCIDR("clusterCIDR", clusterCIDRs(c)), nil
	case LocalModeNodeCIDR:
		if object == nil || len(object.Spec.PodCIDRs) == 0 {
			return nil, fmt.Errorf("detectLocalMode: NodeCIDR needs spec.podCIDRs of Node %q", r.settings.NodeName)
		}
		detectors := r.detectByCIDR("spec.podCIDRs of the Node", object.Spec.PodCIDRs)
		if _, ok := detectors[r.addresses.Primary]; !ok {
			return nil, fmt.Errorf("detectLocalMode: NodeCIDR needs a range of family %s in spec.podCIDRs of Node %q",
				r.addresses.Primary, r.settings.NodeName)
		}
		return detectors, nil
	case localByBridgeInterface:
		return bothFamilies(DetectLocalByBridgeInterface(c.DetectLocal.BridgeInterface)), nil
	default:
		return bothFamilies(DetectLocalByInterfaceNamePrefix(c.DetectLocal.InterfaceNamePrefix)), nil
	}
}

// detectByCIDR takes the first range of each family.
func (r *settingsReader) detectByCIDR(source string, texts []string) map[v1.IPFamily]LocalDetector {
	detectors := map[v1.IPFamily]LocalDetector{}
	for _, text := range texts {
		prefix, err := parsePrefix(text)
		if err != nil {
			r.warn("%s: %v", source, err)
			continue
		}
		family := familyOf(prefix.Addr())
		if _, ok := detectors[family]; !ok {
			detectors[family] = DetectLocalByCIDR(prefix)
		}
	}
	if _, ok := detectors[r.addresses.Primary]; !ok {
		r.warn("detectLocalMode %s: no range of family %s in %s; pods of that family are not recognised",
			r.configuration.DetectLocalMode, r.addresses.Primary, source)
	}
	return detectors
}

func bothFamilies(detector LocalDetector) map[v1.IPFamily]LocalDetector {
	return map[v1.IPFamily]LocalDetector{v1.IPv4Protocol: detector, v1.IPv6Protocol: detector}
}

// nodePortRanges returns the ranges of both families. "primary" is the node's
// own address in each family where it is known.
func (r *settingsReader) nodePortRanges() []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range r.configuration.NodePortAddresses {
		switch text {
		case primaryAddresses:
			for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
				if ip := r.addresses.Of(family); !ip.IsLoopback() {
					ranges = append(ranges, netip.PrefixFrom(ip, ip.BitLen()))
				}
			}
		case localhostAddresses:
			ranges = append(ranges, loopback4, loopback6)
		case allAddresses:
			ranges = append(ranges, every4, every6)
		default:
			prefix, _ := parsePrefix(text) // checked by Validate
			ranges = append(ranges, prefix)
		}
	}
	return ranges
}

// The ranges that words of nodePortAddresses stand for.
var (
	loopback4, loopback6 = netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")
	every4, every6       = netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")
)

// warnOfOpenNodePorts tells of families whose node ports are served at every
// address: the primary one, and the other one where the cluster looks dual-stack.
func (r *settingsReader) warnOfOpenNodePorts(ranges []netip.Prefix, object *v1.Node) {
	if len(ranges) == 0 {
		r.warn("nodePortAddresses is not set: node ports are served at every address of the node; consider \"primary\"")
		return
	}
	families := []v1.IPFamily{r.addresses.Primary}
	if r.looksDualStack(object) {
		families = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	}
	limited := familiesOf(ranges)
	for _, family := range families {
		if !limited[family] {
			r.warn("nodePortAddresses has no range of family %s: its node ports are served at every address of the node", family)
		}
	}
}

// looksDualStack says whether pods have addresses of both families, by what is
// known before the first Service.
func (r *settingsReader) looksDualStack(object *v1.Node) bool {
	texts := clusterCIDRs(r.configuration)
	if object != nil {
		texts = append(texts, object.Spec.PodCIDRs...)
	}
	var pods []netip.Prefix
	for _, text := range texts {
		if prefix, err := parsePrefix(text); err == nil {
			pods = append(pods, prefix)
		}
	}
	return len(familiesOf(pods)) > 1
}

func familiesOf(prefixes []netip.Prefix) map[v1.IPFamily]bool {
	families := map[v1.IPFamily]bool{}
	for _, prefix := range prefixes {
		families[familyOf(prefix.Addr())] = true
	}
	return families
}

// parseAddr reads an address as the Kubernetes API does, leading zeros
// included. It returns an invalid one for bad input.
func parseAddr(text string) netip.Addr {
	address, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return address.Unmap()
}

// parsePrefix reads a range as the Kubernetes API does, leading zeros included,
// and clears the host bits.
func parsePrefix(text string) (netip.Prefix, error) {
	_, cidr, err := netutils.ParseCIDRSloppy(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not an address range such as 10.0.0.0/8 or fd00::/64", text)
	}
	address, _ := netip.AddrFromSlice(cidr.IP)
	bits, _ := cidr.Mask.Size()
	if address.Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is an IPv4 range written as IPv6: write it as IPv4", text)
	}
	return netip.PrefixFrom(address, bits), nil
}

func familyOf(address netip.Addr) v1.IPFamily {
	if address.Is6() {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}
