package decompile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Numbers of families in headers (NFPROTO_*).
const (
	nfprotoIPv4 = 2
	nfprotoIPv6 = 10
)

// Types in the header of a frame (ETH_P_*).
const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
)

// layer is a place for a header: those of expr.PayloadBase behind one that is none.
type layer int

const (
	noLayer layer = iota
	linkLayer
	networkLayer
	transportLayer
	innerLayer
	layers
)

func layerOf(base expr.PayloadBase) layer { return layer(base) + 1 }

// context is what a rule knows of the packet by the matches before.
type context struct {
	family nftables.Family
	// headers are those of each layer as far as they are known, and offsets where they begin within it, in bits.
	headers [layers]*syntax.Header
	offsets [layers]int
	// icmpType is the type of ICMP that was asked for.
	icmpType    uint64
	hasICMPType bool
	// needs are the statements, counted from 1, that a match of a layer implies; 0 for none.
	needs [layers + 1]int
	// icmpNeed is the match of a type of ICMP, counted from 1, that one of a field implies that messages of no other type have.
	icmpNeed int
	// icmpLast: no other bytes of the packet were compared since.
	icmpLast bool
	// last is the last match, counted from 1.
	last int
}

// reset begins a rule: of a family's packets one header is known.
func (c *context) reset(f nftables.Family) {
	*c = context{family: f}
	switch f {
	case nftables.IPv4:
		c.headers[networkLayer] = syntax.HeaderIP
	case nftables.IPv6:
		c.headers[networkLayer] = syntax.HeaderIP6
	case nftables.ARP:
		c.headers[networkLayer] = syntax.HeaderARP
	case nftables.Bridge:
		c.headers[linkLayer] = syntax.HeaderEther
	case nftables.Netdev:
		c.headers[linkLayer] = syntax.HeaderNetdev
	case nftables.Inet:
		c.headers[linkLayer] = syntax.HeaderInet
	}
}

// anyFamily says whether the family's packets are of more than one protocol.
func (c *context) anyFamily() bool {
	return c.family == nftables.Inet || c.family == nftables.Bridge || c.family == nftables.Netdev
}

// learn takes in that an expression has a value. It says whether that tells which header comes next.
func (c *context) learn(left syntax.Expr, value syntax.Num) {
	switch left := left.(type) {
	case *syntax.Meta:
		c.learnMeta(left.Key, value.Lo)
	case *syntax.CT:
		if l, says := ctLayer(left.Key); says && c.headers[l] != nil {
			if next := c.headers[l].Following(value.Lo); next != nil {
				c.headers[l+1] = next
			}
		}
	case *syntax.Payload:
		if left.Header == nil || left.Field == nil {
			return
		}
		if isICMP(left.Header) && left.Field.Name == "type" {
			c.icmpType, c.hasICMPType = value.Lo, true
		}
		if left.Header.Next != left.Field {
			return
		}
		next := left.Header.Following(value.Lo)
		if next == nil {
			return
		}
		l := layerOf(next.Base)
		if l == layerOf(left.Base) {
			size := 0
			for i := range left.Header.Fields {
				size = max(size, left.Header.Fields[i].Offset+left.Header.Fields[i].Bits)
			}
			c.offsets[l] += size
		}
		c.headers[l] = next
	}
}

func isICMP(h *syntax.Header) bool { return h == syntax.HeaderICMP || h == syntax.HeaderICMPv6 }

// etherIIF is the number of a device of Ethernet (ARPHRD_ETHER).
const etherIIF = 1

func (c *context) learnMeta(key expr.MetaKey, value uint64) {
	switch key {
	case expr.MetaIiftype:
		if !c.anyFamily() || c.headers[linkLayer] == syntax.HeaderInet || c.headers[linkLayer] == syntax.HeaderNetdev {
			c.headers[linkLayer] = nil
			if value == etherIIF {
				c.headers[linkLayer] = syntax.HeaderEther
			}
		}
	case expr.MetaNfproto:
		switch {
		case value == nfprotoIPv4:
			c.headers[networkLayer] = syntax.HeaderIP
		case value == nfprotoIPv6:
			c.headers[networkLayer] = syntax.HeaderIP6
		default:
			c.headers[networkLayer] = nil
		}
	case expr.MetaL4proto:
		c.headers[transportLayer] = syntax.HeaderInetService.Following(value)
	case expr.MetaProtocol:
		if h := c.headers[linkLayer]; h != nil && (c.family == nftables.Netdev || c.family == nftables.Bridge) {
			c.headers[networkLayer] = h.Following(value)
		}
	}
}

// metaLayer is the layer of which a key of meta says what comes above it; ok for keys that do.
func metaLayer(key expr.MetaKey) (l layer, ok bool) {
	switch key {
	case expr.MetaIiftype:
		return noLayer, true
	case expr.MetaNfproto, expr.MetaProtocol:
		return linkLayer, true
	case expr.MetaL4proto:
		return networkLayer, true
	}
	return noLayer, false
}

// ctLayer is the layer of which a key of connections says what comes above it; says for keys that do.
func ctLayer(key expr.CTKey) (l layer, says bool) {
	switch key {
	case expr.CTL3Protocol:
		return linkLayer, true
	case expr.CTProtocol:
		return networkLayer, true
	}
	return noLayer, false
}

// drop leaves out the statement that a match of a layer implies.
func (r *rule) drop(l layer) {
	at := r.needs[l]
	if at == 0 {
		return
	}
	r.needs[l] = 0
	r.leaveOut(at)
}

// leaveOut leaves out a statement, counted from 1.
func (r *rule) leaveOut(at int) {
	r.stmts[at-1] = nil
	if r.last == at {
		r.last = 0
	}
}

// need notes the statement that matches of the layer above l imply.
func (r *rule) need(l layer, at int) { r.needs[l+1] = at + 1 }

// needed is the comparison that matches of a layer imply; nil for none.
func (r *rule) needed(l layer) *syntax.Relational {
	at := r.needs[l]
	if at == 0 {
		return nil
	}
	m, isMatch := r.stmts[at-1].(*syntax.Match)
	if !isMatch {
		return nil
	}
	rel, _ := m.Expr.(*syntax.Relational)
	return rel
}

// dropNeeded leaves out what a match of a header's bytes implies, as payload_dependency_kill in nft's src/payload.c does.
func (r *rule) dropNeeded(p *syntax.Payload) {
	r.icmpLast = false
	if p.Field == nil {
		return
	}
	l := layerOf(p.Base)
	rel := r.needed(l)
	if rel == nil {
		r.dropICMPType(p)
		return
	}
	of, isPayload := rel.Left.(*syntax.Payload)
	switch {
	case !isPayload:
	case r.anyFamily() && of.Base == expr.NetworkHeader && (of.Header == syntax.HeaderIP || of.Header == syntax.HeaderIP6) &&
		p.Base == expr.TransportHeader:
		return
	case p.Base != expr.LinkHeader || !r.anyFamily():
	case of.Header == syntax.HeaderVLAN, p.Header == syntax.HeaderVLAN && p.Field == p.Header.Next:
		return
	case of.Header == syntax.HeaderEther:
		if v, isValue := rel.Right.(*syntax.Value); isValue && v.Num.Lo != 0x8100 {
			return
		}
	}
	r.drop(l)
}

// dropByOption leaves out the protocol that an optional header implies.
func (r *rule) dropByOption(x *syntax.Exthdr) {
	switch x.Op {
	case expr.ExthdrTCPOption:
		r.drop(transportLayer)
		if r.icmpLast {
			r.leaveOut(r.icmpNeed)
			r.icmpNeed, r.icmpLast = 0, false
		}
	case expr.ExthdrIPv6:
		r.dropProtocol(nfprotoIPv6)
	case expr.ExthdrIPv4:
		r.dropProtocol(nfprotoIPv4)
	}
}

func (r *rule) dropProtocol(family uint64) {
	rel := r.needed(networkLayer)
	if rel == nil {
		return
	}
	m, isMeta := rel.Left.(*syntax.Meta)
	asked, asks := familyAsked(rel)
	if isMeta && m.Key == expr.MetaProtocol || asks && asked == family {
		r.drop(networkLayer)
	}
}

// familyAsked is the family that a comparison of the packet's family, its protocol, or the type in a frame's header asks for; another
// number for protocols of no family.
func familyAsked(rel *syntax.Relational) (family uint64, is bool) {
	v, isValue := rel.Right.(*syntax.Value)
	if !isValue {
		return 0, false
	}
	switch left := rel.Left.(type) {
	case *syntax.Meta:
		if left.Key == expr.MetaNfproto {
			return v.Num.Lo, true
		}
		if left.Key != expr.MetaProtocol {
			return 0, false
		}
	case *syntax.Payload:
		if left.Base != expr.LinkHeader {
			return 0, false
		}
	default:
		return 0, false
	}
	switch v.Num.Lo {
	case etherIPv4:
		return nfprotoIPv4, true
	case etherIPv6:
		return nfprotoIPv6, true
	}
	return v.Num.Lo, true
}

// dropICMPType leaves out the type of messages of ICMP that alone have a field.
func (r *rule) dropICMPType(p *syntax.Payload) {
	if r.icmpNeed == 0 || !isICMP(p.Header) {
		return
	}
	if types := icmpFields[p.Header][p.Field.Name]; len(types) == 1 && types[0] == r.icmpType {
		r.leaveOut(r.icmpNeed)
		r.icmpNeed = 0
	}
}

// dropFamily leaves out the family that "meta l4proto icmp" implies, or another comparison of what comes above a layer.
func (r *rule) dropFamily(l layer, left syntax.Expr, value uint64) {
	rel := r.needed(l)
	if rel == nil {
		return
	}
	family, asks := familyAsked(rel)
	m, isMeta := left.(*syntax.Meta)
	switch {
	case !asks:
	case r.family == nftables.IPv4 || r.family == nftables.IPv6:
		if family != uint64(r.family) {
			return
		}
	case r.anyFamily() && isMeta && m.Key == expr.MetaL4proto && !impliesFamily(family, value):
		return
	}
	r.drop(l)
}

// impliesFamily says whether a protocol is not one of all families, nor of the other family alone.
func impliesFamily(family, protocol uint64) bool {
	const icmp, icmpv6 = 1, 58
	switch protocol {
	case icmp:
		return family != nfprotoIPv6
	case icmpv6:
		return family != nfprotoIPv4
	}
	return false
}
