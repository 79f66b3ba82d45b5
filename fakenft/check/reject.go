package check

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

const (
	icmpPortUnreachable   = 3
	icmpv6PortUnreachable = 4
	icmpxPortUnreachable  = 1
)

// evalReject finds out how a packet is rejected, by what is written, by the family, and by the protocols that the rule has named.
func (c *stmtChecker) evalReject(s *syntax.Reject) bool {
	switch {
	case s.Kind < 0:
		c.defaultReject(s)
	case s.Code != nil:
		if !c.rejectCode(s) {
			return false
		}
	default:
		s.ICMP = 0
		if h := c.desc[expr.TransportHeader]; h != nil && h != syntax.HeaderTCP && s.Kind == int(expr.RejectTCPReset) {
			return c.wrong("you cannot use tcp reset with this protocol", s.Loc, c.said[expr.TransportHeader])
		}
	}
	return c.rejectFamily(s)
}

// rejectCode is the number of a code that is written.
func (c *stmtChecker) rejectCode(s *syntax.Reject) bool {
	t := syntax.TypeICMPXCode
	if s.Kind == int(expr.RejectICMP) {
		t = syntax.TypeICMPCode
		if s.Family == uint8(nftables.IPv6) {
			t = syntax.TypeICMPv6Code
		}
	}
	code := s.Code
	if v, ok := code.(*syntax.Variable); ok {
		code = v.To
	}
	switch e := code.(type) {
	case *syntax.Symbol:
		v, text := parseWord(c.exprs.world, e.Text, t)
		if text != "" {
			return c.wrong(text, loc(s.Code))
		}
		s.ICMP = int(v.Num.Lo & 0xff)
	case *syntax.Value:
		s.ICMP = int(e.Num.Lo & 0xff)
	}
	return true
}

func (c *stmtChecker) defaultReject(s *syntax.Reject) {
	network := c.desc[expr.NetworkHeader]
	if c.family == nftables.IPv4 || c.family == nftables.IPv6 {
		_, network = beginning(c.family)
	}
	s.Kind = int(expr.RejectICMP)
	switch network {
	case syntax.HeaderIP:
		s.Family, s.ICMP = uint8(nftables.IPv4), icmpPortUnreachable
	case syntax.HeaderIP6:
		s.Family, s.ICMP = uint8(nftables.IPv6), icmpv6PortUnreachable
	case nil:
		s.Kind, s.ICMP = int(expr.RejectICMPX), icmpxPortUnreachable
	default:
		s.ICMP = -1
	}
}

const mixedFamilies = "conflicting protocols specified: ip vs ip6"

func (c *stmtChecker) rejectFamily(s *syntax.Reject) bool {
	switch c.family {
	case nftables.ARP:
		return c.wrong("cannot use reject with arp", s.Loc)
	case nftables.IPv4, nftables.IPv6:
		switch expr.RejectKind(s.Kind) {
		case expr.RejectTCPReset:
			return c.rejectNeed(s)
		case expr.RejectICMPX:
			return c.wrong("abstracted ICMP unreachable not supported", c.codeLoc(s), s.Loc)
		}
		if s.Family != uint8(c.family) {
			return c.wrong(mixedFamilies, c.codeLoc(s), s.Loc)
		}
		return true
	}
	link := c.desc[expr.LinkHeader]
	if c.family != nftables.Inet && link != syntax.HeaderEther && link != syntax.HeaderVLAN && link != syntax.HeaderNetdev {
		return c.wrong("cannot reject from this link layer protocol", s.Loc)
	}
	if network := c.desc[expr.NetworkHeader]; network != nil && !c.rejectsFamily(s, network) {
		return false
	}
	if s.Kind == int(expr.RejectICMPX) {
		return true
	}
	return c.rejectNeed(s)
}

func (c *stmtChecker) codeLoc(s *syntax.Reject) syntax.Loc {
	if s.Code != nil {
		return loc(s.Code)
	}
	return s.Loc
}

// rejectsFamily says whether a packet of the network protocol that the rule has named can be rejected so.
func (c *stmtChecker) rejectsFamily(s *syntax.Reject, network *syntax.Header) bool {
	said := c.said[expr.NetworkHeader]
	var family nftables.Family
	switch network {
	case syntax.HeaderIP:
		family = nftables.IPv4
	case syntax.HeaderIP6:
		family = nftables.IPv6
	}
	if c.family == nftables.Inet {
		switch {
		case s.Kind != int(expr.RejectICMP):
			return true
		case family == 0 || !c.follows(network):
			return c.wrong("cannot infer ICMP reject variant to use: explicit value required.\n", s.Loc)
		}
	} else if family == 0 {
		return c.wrong("cannot reject this network family", s.Loc, said)
	}
	if s.Kind == int(expr.RejectICMP) && s.Family != uint8(family) {
		return c.wrong(mixedFamilies, c.codeLoc(s), said)
	}
	return true
}

// follows says whether a network protocol may stand behind the link layer that the rule has named.
func (c *stmtChecker) follows(network *syntax.Header) bool {
	link := c.desc[expr.LinkHeader]
	if link == nil {
		return false
	}
	_, known := link.Number(network)
	return known
}

// rejectNeed puts the match that a way of rejecting needs at the beginning of the rule.
func (c *stmtChecker) rejectNeed(s *syntax.Reject) bool {
	var field *syntax.Payload
	if s.Kind == int(expr.RejectTCPReset) {
		if c.desc[expr.TransportHeader] != nil {
			return true
		}
		field = payloadOf(s.Loc, syntax.HeaderTCP, syntax.HeaderTCP.Field("sport"))
	} else {
		if c.desc[expr.NetworkHeader] != nil {
			return true
		}
		h := syntax.HeaderIP
		if s.Family == uint8(nftables.IPv6) {
			h = syntax.HeaderIP6
		}
		field = payloadOf(s.Loc, h, h.Next)
	}
	need, ok := c.keys.headerNeed(field)
	if !ok {
		return false
	}
	c.first(need)
	return true
}
