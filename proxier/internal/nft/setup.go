package nft

import (
	"strings"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// baseChain is a chain at a hook.
type baseChain struct {
	name, kind, hook string
	priority         int
	spec             string // kind, hook and priority in nft's words
}

// baseChains are at the priorities of kube-proxy since v1.34: source ranges are checked before addresses are translated, and what has no
// endpoint is refused after that, so that pods may be served where others are not (https://issue.k8s.io/131765). Hooks before the routing
// decision cannot refuse a packet with an answer before Linux 5.9, so those checks are made in three hooks behind it.
var baseChains = [...]baseChain{
	{filterPreroutingPreDNAT, "filter", "prerouting", -110, "{ type filter hook prerouting priority -110 ; }"},
	{filterOutputPreDNAT, "filter", "output", -110, "{ type filter hook output priority -110 ; }"},
	{filterInput, "filter", "input", 0, "{ type filter hook input priority 0 ; }"},
	{filterForward, "filter", "forward", 0, "{ type filter hook forward priority 0 ; }"},
	{filterOutput, "filter", "output", 0, "{ type filter hook output priority 0 ; }"},
	{natPrerouting, "nat", "prerouting", -100, "{ type nat hook prerouting priority -100 ; }"},
	{natOutput, "nat", "output", -100, "{ type nat hook output priority -100 ; }"},
	{natPostrouting, "nat", "postrouting", 100, "{ type nat hook postrouting priority 100 ; }"},
}

// jumps lead from the chains at hooks to the others.
var jumps = [...]struct{ from, rule string }{
	{filterInput, "ct state new jump " + nodePortEndpointsCheckChain},
	{filterInput, "ct state new jump " + serviceEndpointsCheckChain},
	{filterForward, "ct state new jump " + serviceEndpointsCheckChain},
	{filterOutput, "ct state new jump " + serviceEndpointsCheckChain},
	{filterPreroutingPreDNAT, "ct state new jump " + firewallCheckChain},
	{filterOutputPreDNAT, "ct state new jump " + firewallCheckChain},
	{natOutput, "jump " + servicesChain},
	{natPrerouting, "jump " + servicesChain},
	{natPostrouting, "jump " + masqueradingChain},
	{filterForward, "ct state new jump " + clusterIPsCheckChain},
	{filterOutput, "ct state new jump " + clusterIPsCheckChain},
}

// sharedChains are the chains that all services share, apart from those at hooks.
var sharedChains = [...]string{
	nodePortEndpointsCheckChain, serviceEndpointsCheckChain, firewallCheckChain, servicesChain, masqueradingChain, clusterIPsCheckChain,
	rejectChain,
}

// setup writes what does not depend on services.
type setup struct {
	*speller
	model *model.Model
}

// append appends the whole of it. Chains are emptied, for what others wrote into them, and containers too: both are filled again in the
// same transaction, so packets meet the old state or the new one.
func (s *setup) append(dst []byte) []byte {
	dst = s.appendTable(dst)
	for i := range baseChains {
		dst = s.line(dst, "add chain ", baseChains[i].name, baseChains[i].spec)
		dst = s.line(dst, "flush chain ", baseChains[i].name, "")
	}
	for _, chain := range sharedChains {
		rest := ""
		if chain == rejectChain {
			rest = braces(s.comment("helper for @no-endpoint-services / @no-endpoint-nodeports"))
		}
		dst = s.line(dst, "add chain ", chain, rest)
		dst = s.line(dst, "flush chain ", chain, "")
	}
	for c := range containers {
		dst = s.appendContainer(dst, c)
	}
	dst = s.appendLoopbackGuard(dst)
	for _, jump := range jumps {
		dst = s.line(dst, "add rule ", jump.from, jump.rule)
	}
	dst = s.appendMasquerading(dst)
	dst = s.appendClusterIPsCheck(dst)
	dst = s.appendNodePortIPs(dst)
	return s.appendDispatch(dst)
}

// appendLoopbackGuard keeps others away from loopback addresses while the kernel routes them, as it does where mode iptables has served
// node ports there (https://issue.k8s.io/90259).
func (s *setup) appendLoopbackGuard(dst []byte) []byte {
	if !s.model.GuardLoopback {
		return dst
	}
	return s.line(dst, "add rule ", filterInput, "ip saddr != 127.0.0.0/8 ip daddr 127.0.0.0/8 "+
		`ct state ! established,related ct status ! dnat drop comment "block incoming localnet connections"`)
}

func (s *setup) appendTable(dst []byte) []byte {
	rest := braces(s.comment("rules for kube-proxy"))
	dst = append(append(dst, "add table "...), strings.TrimSuffix(s.here, " ")...)
	if rest != "" {
		dst = append(append(dst, ' '), rest...)
	}
	return append(dst, '\n')
}

func (s *setup) appendContainer(dst []byte, c container) []byte {
	text := "type " + s.keysOf(c)
	if containerTexts[c].isMap {
		text += " : verdict"
	}
	dst = s.line(dst, "add "+c.kind(), c.name(), braces(text+" ; "+s.comment(containerTexts[c].comment)))
	return s.line(dst, "flush "+c.kind(), c.name(), "")
}

// keysOf is the type of the container's keys.
func (s *speller) keysOf(c container) string {
	return strings.ReplaceAll(containerTexts[c].keys, "ADDR", s.addressType)
}

// appendMasquerading acts on the mark, and masquerades endpoints that reach themselves through a service, whose replies would not come
// back through the translation. The mark is cleared first, so that a packet that is encapsulated and passes postrouting again is not
// masqueraded twice (https://issue.k8s.io/78948).
func (s *setup) appendMasquerading(dst []byte) []byte {
	dst = s.line(dst, "add rule ", masqueradingChain,
		"mark and "+s.mark+" != 0 mark set mark xor "+s.mark+" masquerade fully-random")
	return s.line(dst, "add rule ", masqueradingChain,
		"ct status dnat "+s.source+". "+s.destination+". meta l4proto . th dport @hairpin-connections masquerade fully-random")
}

// appendClusterIPsCheck refuses ports of cluster IPs that no service has, and drops packets to addresses that could be cluster IPs and
// are none. A protocol without ports asks for none, so echo requests, for example, pass on.
func (s *setup) appendClusterIPsCheck(dst []byte) []byte {
	dst = s.line(dst, "add rule ", clusterIPsCheckChain,
		s.destination+`@cluster-ips meta l4proto { tcp, udp, sctp } reject comment "Reject traffic to invalid ports of ClusterIPs"`)
	if len(s.model.ServiceCIDRs) == 0 {
		return dst
	}
	ranges := appendPrefixes([]byte(s.destination+"!= @cluster-ips "+s.destination+"{ "), s.model.ServiceCIDRs)
	return s.line(dst, "add rule ", clusterIPsCheckChain, string(ranges)+` } drop comment "Drop traffic to unallocated ClusterIPs"`)
}

// appendNodePortIPs says which addresses serve node ports, if not all do.
func (s *setup) appendNodePortIPs(dst []byte) []byte {
	dst = s.line(dst, "add set ", nodePortIPsSet, "{ type "+s.addressType+" ; "+s.comment("IPs that accept NodePort traffic")+"}")
	if s.model.NodePorts.All { // none may be left of another configuration
		return s.line(dst, "delete set ", nodePortIPsSet, "")
	}
	return s.appendNodePortAddresses(dst)
}

// appendNodePortAddresses fills the set of addresses that serve node ports.
func (s *setup) appendNodePortAddresses(dst []byte) []byte {
	dst = s.line(dst, "flush set ", nodePortIPsSet, "")
	if len(s.model.NodePorts.Addresses) == 0 {
		return dst
	}
	dst = append(append(append(dst, "add element "...), s.here...), nodePortIPsSet+" { "...)
	for i, address := range s.model.NodePorts.Addresses {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = address.AppendTo(dst)
	}
	return append(dst, " }\n"...)
}

// atNodePorts matches the addresses that serve node ports. Packets in chain services may be for any address.
func (s *setup) atNodePorts(onlyLocal string) string {
	ports := &s.model.NodePorts
	if !ports.All {
		return s.destination + "@" + nodePortIPsSet + " "
	}
	if !ports.Except.IsValid() {
		return onlyLocal
	}
	if ports.Except.IsSingleIP() {
		return onlyLocal + s.destination + "!= " + ports.Except.Addr().String() + " "
	}
	return onlyLocal + s.destination + "!= " + ports.Except.String() + " "
}

// appendDispatch leads packets to the chains of service ports by their addresses and ports. Cluster IPs and external addresses come
// first, since one of them may be an address of the node.
func (s *setup) appendDispatch(dst []byte) []byte {
	byAddress := s.destination + ". meta l4proto . th dport vmap @"
	const byPort = "meta l4proto . th dport vmap @"
	dst = s.line(dst, "add rule ", rejectChain, "reject")
	dst = s.line(dst, "add rule ", serviceEndpointsCheckChain, byAddress+"no-endpoint-services")
	dst = s.line(dst, "add rule ", nodePortEndpointsCheckChain, s.atNodePorts("")+byPort+"no-endpoint-nodeports")
	dst = s.line(dst, "add rule ", firewallCheckChain, byAddress+"firewall-ips")
	dst = s.appendClusterIPMasquerade(dst)
	dst = s.line(dst, "add rule ", servicesChain, byAddress+"service-ips")
	return s.line(dst, "add rule ", servicesChain, s.atNodePorts("fib daddr type local ")+byPort+"service-nodeports")
}

// appendClusterIPMasquerade marks traffic to cluster IPs that has to be masqueraded.
func (s *setup) appendClusterIPMasquerade(dst []byte) []byte {
	head := s.destination + "@cluster-ips "
	switch s.model.ClusterIPs {
	case model.MasqueradeEverything:
		return s.line(dst, "add rule ", servicesChain, head+s.setMark+` comment "masquerade all clusterIP traffic"`)
	case model.MasqueradeNotLocal:
		match := append(s.appendLocal([]byte(head), s.model.LocalTraffic, true), ' ')
		return s.line(dst, "add rule ", servicesChain,
			string(match)+s.setMark+` comment "masquerade clusterIP traffic from outside cluster"`)
	default:
		return dst
	}
}
