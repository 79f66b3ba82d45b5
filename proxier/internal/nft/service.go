package nft

import (
	"strconv"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// portText writes the chains of one service port, and the sets of its clients. What it writes depends on the service port and the
// Model's common decisions only, never on another service port.
type portText struct {
	*speller
	// local is how traffic of this node's pods is recognised.
	local model.LocalTraffic
	// marks counts what is written. Nil: nobody counts.
	marks *mark.Recorder

	service  *model.Service
	protocol string
	// base ends the names of the chains of the service port.
	base []byte
	// names are the ends of the names of what its endpoints have, in the order of service.Endpoints.Reachable, each up to the place in ends.
	// They are there only if clients stick to endpoints.
	names []byte
	ends  []int
}

// set chooses the service port that the other methods write.
func (t *portText) set(service *model.Service) {
	name := &service.Port.Name
	t.service = service
	t.protocol = protocolOf(name.Protocol).String()
	t.base = appendBase(t.base[:0], name)
	t.names, t.ends = t.names[:0], t.ends[:0]
	if !service.Port.SessionAffinityClientIP {
		return
	}
	for i := range service.Endpoints.Reachable {
		t.names = appendEndpointBase(t.names, name, &service.Endpoints.Reachable[i])
		t.ends = append(t.ends, len(t.names))
	}
}

// endpointBase ends the names of what a reachable endpoint has.
func (t *portText) endpointBase(i int) []byte {
	start := 0
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.names[start:t.ends[i]]
}

// chainSet is a set of the chains that a service port may have once.
type chainSet uint8

func (c chainSet) has(kind chainKind) bool { return c&(1<<kind) != 0 }

func (c *chainSet) add(kind chainKind, wanted bool) {
	if wanted {
		*c |= 1 << kind
	}
}

// chainsOf returns the chains that the service port has. nil has none.
func chainsOf(service *model.Service) chainSet {
	var set chainSet
	if service == nil {
		return set
	}
	set.add(externalChain, service.EntersExternal)
	set.add(firewallChain, service.Firewall != nil)
	set.add(clusterChain, len(service.Endpoints.Cluster) > 0)
	set.add(localChain, len(service.Endpoints.Local) > 0)
	return set
}

// appendRules appends the rules of one of the service port's chains.
func (t *portText) appendRules(dst []byte, kind chainKind) []byte {
	switch kind {
	case externalChain:
		return t.appendExternalRules(dst)
	case firewallChain:
		return t.appendFirewallRule(dst)
	case clusterChain:
		return t.appendPolicyRules(dst, kind, t.service.Endpoints.Cluster)
	default:
		return t.appendPolicyRules(dst, kind, t.service.Endpoints.Local)
	}
}

// rule begins a rule of one of the service port's chains.
func (t *portText) rule(dst []byte, kind chainKind) []byte {
	return append(t.command(dst, "add rule ", kind.prefix(), t.base), ' ')
}

func (t *portText) appendGoto(dst []byte, kind chainKind) []byte {
	return append(append(append(dst, "goto "...), kind.prefix()...), t.base...)
}

// appendExternalRules writes the chain for all external destinations. Under policy Local, pods and the node itself are routed by policy
// Cluster, as if their traffic had gone to the load balancer and come back.
func (t *portText) appendExternalRules(dst []byte) []byte {
	if t.service.External.Local {
		t.marks.HitIf(mark.RenderShortCircuitPods, t.local.Known())
		t.marks.HitIf(mark.RenderShortCircuitNode, !t.local.Known())
		if t.local.Known() {
			dst = append(t.appendLocal(t.rule(dst, externalChain), t.local, false), ' ')
			dst = append(t.appendGoto(dst, clusterChain), ` comment "short-circuit pod traffic"`+"\n"...)
		}
		dst = append(t.rule(dst, externalChain), "fib saddr type local "...)
		dst = append(append(dst, t.setMark...), ` comment "masquerade local traffic"`+"\n"...)
		dst = append(t.rule(dst, externalChain), "fib saddr type local "...)
		dst = append(t.appendGoto(dst, clusterChain), ` comment "short-circuit local traffic"`+"\n"...)
	} else {
		dst = append(append(t.rule(dst, externalChain), t.setMark...), ` comment "masquerade"`+"\n"...)
	}
	if t.service.External.Handling != model.Route {
		return dst
	}
	target := clusterChain
	if t.service.External.Local {
		target = localChain
	}
	return append(t.appendGoto(t.rule(dst, externalChain), target), '\n')
}

// appendFirewallRule drops the clients that may not use the load balancer's addresses.
func (t *portText) appendFirewallRule(dst []byte) []byte {
	dst = append(append(t.rule(dst, firewallChain), t.source...), "!= { "...)
	dst = appendPrefixes(dst, t.service.Firewall.Sources)
	for _, vip := range t.service.Firewall.VIPs {
		dst = vip.AppendTo(append(dst, " , "...))
	}
	return append(dst, " } drop\n"...)
}

// appendPolicyRules writes the chain that spreads traffic over the endpoints of one policy.
func (t *portText) appendPolicyRules(dst []byte, kind chainKind, set []changes.Endpoint) []byte {
	t.marks.HitIf(mark.RenderShare, len(set) > 1)
	t.marks.HitIf(mark.RenderOneEndpoint, len(set) == 1)
	if t.service.Port.SessionAffinityClientIP {
		t.marks.Hit(mark.RenderAffinity)
		return t.appendStickyRules(dst, kind, set)
	}
	dst = t.appendProtocol(t.rule(dst, kind))
	if len(set) == 1 { // a map costs the kernel more (https://issue.k8s.io/135639)
		return append(appendAddrPort(append(dst, "dnat to "...), &set[0]), '\n')
	}
	dst = append(append(append(dst, "dnat "...), t.family...), " addr . port to "...)
	dst = append(appendNumgen(dst, len(set)), " map { "...)
	for i := range set {
		dst = appendPlace(dst, i)
		dst = append(set[i].IP.AppendTo(dst), " . "...)
		dst = appendUint(dst, set[i].Port)
	}
	return append(dst, " }\n"...)
}

// appendStickyRules sends clients that stick to an endpoint there, and the rest by chance.
func (t *portText) appendStickyRules(dst []byte, kind chainKind, set []changes.Endpoint) []byte {
	t.eachOf(set, func(_ int, base []byte) {
		dst = append(append(t.rule(dst, kind), t.source...), "@"+affinityPrefix...)
		dst = append(append(append(dst, base...), " goto "+endpointPrefix...), base...)
		dst = append(dst, '\n')
	})
	dst = append(appendNumgen(t.rule(dst, kind), len(set)), " vmap { "...)
	t.eachOf(set, func(i int, base []byte) {
		dst = append(appendPlace(dst, i), "goto "+endpointPrefix...)
		dst = append(dst, base...)
	})
	return append(dst, " }\n"...)
}

// eachOf calls visit for each endpoint of set, a part of the reachable endpoints in the same order, with the end of its names.
func (t *portText) eachOf(set []changes.Endpoint, visit func(i int, base []byte)) {
	next := 0
	for i := range set {
		for t.service.Endpoints.Reachable[next].AddrPort() != set[i].AddrPort() {
			next++
		}
		visit(i, t.endpointBase(next))
		next++
	}
}

// appendEndpointRules writes the chain that remembers a client and translates to one endpoint.
func (t *portText) appendEndpointRules(dst []byte, i int) []byte {
	base := t.endpointBase(i)
	dst = append(t.command(dst, "add rule ", endpointPrefix, base), " update @"+affinityPrefix...)
	dst = append(append(append(dst, base...), " { "...), t.source...)
	dst = append(dst, "}\n"...)
	dst = t.appendProtocol(append(t.command(dst, "add rule ", endpointPrefix, base), ' '))
	return append(appendAddrPort(append(dst, "dnat to "...), &t.service.Endpoints.Reachable[i]), '\n')
}

// appendAffinitySet declares the set that remembers the clients of an endpoint. The kernel sets the flag dynamic itself once a rule adds
// to the set, after which a declaration without it is refused.
func (t *portText) appendAffinitySet(dst []byte, i int) []byte {
	dst = t.command(dst, "add set ", affinityPrefix, t.endpointBase(i))
	dst = append(append(dst, " { type "...), t.addressType...)
	dst = append(dst, " ; flags dynamic,timeout ; timeout "...)
	dst = strconv.AppendInt(dst, int64(t.service.Port.StickyMaxAgeSeconds), 10)
	return append(dst, "s ; }\n"...)
}

func (t *portText) appendProtocol(dst []byte) []byte {
	return append(append(append(dst, "meta l4proto "...), t.protocol...), ' ')
}

// appendNumgen appends an expression that is each number below n with the same chance.
func appendNumgen(dst []byte, n int) []byte {
	return strconv.AppendInt(append(dst, "numgen random mod "...), int64(n), 10)
}

// appendPlace begins an element of an anonymous map of numbers.
func appendPlace(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, " , "...)
	}
	return append(strconv.AppendInt(dst, int64(i), 10), " : "...)
}

// appendAddrPort appends "ip:port", with the address of IPv6 in brackets.
func appendAddrPort(dst []byte, e *changes.Endpoint) []byte {
	return e.AddrPort().AppendTo(dst)
}
