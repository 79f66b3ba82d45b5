package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func addressType(family uint8) *syntax.Datatype {
	switch nftables.Family(family) {
	case nftables.IPv4:
		return syntax.TypeIPv4Addr
	case nftables.IPv6:
		return syntax.TypeIPv6Addr
	}
	return syntax.TypeInvalid
}

func (c *stmtChecker) evalNAT(s *syntax.NAT) bool {
	if !c.natFamily(s) {
		return false
	}
	if s.Prefix {
		s.Flags |= expr.NATNetmap
	}
	if s.Addr != nil {
		if !c.networkFits(s, s.Family, "nat") {
			return false
		}
		if c.natConcat(s) || s.Concat {
			return c.evalNATMap(s)
		}
		if !c.evalAddr(s, s.Family, &s.Addr) {
			return false
		}
	}
	if s.Port != nil {
		if !c.evalPort(s, s.Addr, &s.Port) {
			return false
		}
		s.Flags |= expr.NATProtoSpecified
	}
	return true
}

func (c *stmtChecker) natFamily(s *syntax.NAT) bool {
	switch c.family {
	case nftables.IPv4, nftables.IPv6:
		if s.Family == 0 {
			s.Family = uint8(c.family)
		}
	case nftables.Inet:
		switch {
		case s.Addr == nil:
			s.Family = uint8(nftables.Inet)
		case s.Family != 0:
		case c.desc[expr.NetworkHeader] == syntax.HeaderIP:
			s.Family = uint8(nftables.IPv4)
		case c.desc[expr.NetworkHeader] == syntax.HeaderIP6:
			s.Family = uint8(nftables.IPv6)
		}
	default:
		return c.wrong("NAT is only supported for IPv4/IPv6", s.Loc)
	}
	return true
}

// networkFits says whether the network protocol that the rule has named is that of a statement's address.
func (c *stmtChecker) networkFits(s syntax.Stmt, family uint8, name string) bool {
	h := c.desc[expr.NetworkHeader]
	if h == syntax.HeaderIP && family != uint8(nftables.IPv4) || h == syntax.HeaderIP6 && family != uint8(nftables.IPv6) {
		word := nftables.Family(family).String()
		if family == 0 {
			word = "unknown"
		}
		return c.wrong(conflictOfNames(h.Name, word)+fmt.Sprintf(". You must specify ip or ip6 family in %s statement", name),
			s.Place(), c.said[expr.NetworkHeader])
	}
	return true
}

func (c *stmtChecker) evalAddr(s syntax.Stmt, family uint8, at *syntax.Expr) bool {
	if c.family != nftables.Inet {
		family = uint8(c.family)
	}
	t := addressType(family)
	if t.Bits == 0 && c.family == nftables.Inet {
		return c.wrong("ip or ip6 must be specified with address for inet tables.", s.Place())
	}
	return c.evalArg(s, t, t.Bits, syntax.BigEndian, at)
}

const needsTransport = "transport protocol mapping is only valid after transport protocol match"

func (c *stmtChecker) evalPort(s syntax.Stmt, addr syntax.Expr, at *syntax.Expr) bool {
	if c.desc[expr.TransportHeader] == nil && !namesTransport(addr) {
		return c.wrong(needsTransport, loc(*at), s.Place())
	}
	return c.evalArg(s, syntax.TypeInetService, 16, syntax.BigEndian, at)
}

// namesTransport says whether the key of a map holds the transport protocol, or a port of one.
func namesTransport(addr syntax.Expr) bool {
	m, ok := addr.(*syntax.Map)
	if !ok {
		return false
	}
	concat, ok := m.Key.(*syntax.Concat)
	if !ok {
		return false
	}
	for _, part := range concat.Parts {
		switch e := part.(type) {
		case *syntax.Payload:
			if e.Base == expr.TransportHeader && e.Header != syntax.HeaderTH && e.Header != nil || e.Base == expr.NetworkHeader && isProtocol(e) {
				return true
			}
		case *syntax.Meta:
			if e.Key == expr.MetaL4proto {
				return true
			}
		}
	}
	return false
}

// natConcat says whether addresses come from a map together with ports.
func (c *stmtChecker) natConcat(s *syntax.NAT) bool {
	m, ok := s.Addr.(*syntax.Map)
	if !ok {
		return false
	}
	switch mappings := m.Mappings.(type) {
	case *syntax.Set:
		for _, item := range mappings.Items {
			if mapping, ok := item.(*syntax.Mapping); ok {
				if _, ok := mapping.Data.(*syntax.Concat); ok {
					s.Concat = true
					return true
				}
			}
		}
	case *syntax.SetRef:
		if !c.exprs.eval(&m.Mappings) {
			return false
		}
		set := m.Mappings.(*syntax.SetRef).Set
		if set.Data != nil && set.Data.Info().Type != nil && len(set.Data.Info().Type.Parts) > 0 {
			s.Concat = true
			return true
		}
	}
	return false
}

// evalNATMap evaluates an address and a port that come together.
func (c *stmtChecker) evalNATMap(s *syntax.NAT) bool {
	address := addressType(s.Family)
	if address.Bits == 0 {
		return c.wrong("chainwalk does not support a map of addresses and ports without ip or ip6 before it, where nft 1.0.6 fails "+
			"without a word", s.Loc)
	}
	t := syntax.ConcatType(address, syntax.TypeInetService)
	c.expectType(t, t.Bits)
	if !c.exprs.eval(&s.Addr) {
		return false
	}
	if c.desc[expr.TransportHeader] == nil && !namesTransport(s.Addr) {
		return c.wrong(needsTransport, loc(s.Addr), s.Loc)
	}
	m, ok := s.Addr.(*syntax.Map)
	if !ok {
		return true
	}
	set := m.Mappings.(*syntax.SetRef).Set
	if set.IntervalData {
		s.Interval = true
	}
	if set.Data == nil {
		return c.wrong("Expression is not a map", loc(m.Mappings))
	}
	return c.fits(s, t, t.Bits, syntax.BigEndian, &s.Addr)
}

func (c *stmtChecker) evalTproxy(s *syntax.TproxyStmt) bool {
	switch c.family {
	case nftables.IPv4, nftables.IPv6:
		if s.Family == 0 {
			s.Family = uint8(c.family)
		}
	case nftables.Inet:
	default:
		return c.wrong("tproxy is only supported for IPv4/IPv6/INET", s.Loc)
	}
	if c.desc[expr.TransportHeader] == nil {
		return c.wrong("Transparent proxy support requires transport protocol match", s.Loc)
	}
	if s.Addr == nil && s.Port == nil {
		return c.wrong("Either address or port must be specified!", s.Loc)
	}
	if !c.networkFits(s, s.Family, "tproxy") {
		return false
	}
	if s.Addr != nil {
		if _, ok := s.Addr.(*syntax.Range); ok {
			return c.wrong("Address ranges are not supported for tproxy.", s.Loc)
		}
		if !c.evalAddr(s, s.Family, &s.Addr) {
			return false
		}
	}
	if s.Port == nil {
		return true
	}
	if _, ok := s.Port.(*syntax.Range); ok {
		return c.wrong("Port ranges are not supported for tproxy.", s.Loc)
	}
	return c.evalPort(s, nil, &s.Port)
}

func (c *stmtChecker) evalDevice(s syntax.Stmt, at *syntax.Expr) bool {
	return c.evalArg(s, syntax.TypeIfindex, 32, syntax.HostOrder, at)
}

func (c *stmtChecker) evalDup(s *syntax.DupStmt) bool {
	switch c.family {
	case nftables.IPv4, nftables.IPv6:
		if s.Addr == nil {
			return c.wrong("missing destination address", s.Loc)
		}
		return c.evalAddr(s, uint8(c.family), &s.Addr) && (s.Dev == nil || c.evalDevice(s, &s.Dev))
	case nftables.Netdev:
		switch {
		case s.Addr == nil:
			return c.wrong("missing destination interface", s.Loc)
		case s.Dev != nil:
			return c.wrong("cannot specify device", s.Loc)
		}
		if !c.evalDevice(s, &s.Addr) {
			return false
		}
		s.Dev, s.Addr = s.Addr, nil
		return true
	}
	return c.wrong("unsupported family", s.Loc)
}

func (c *stmtChecker) evalFwd(s *syntax.FwdStmt) bool {
	if c.family != nftables.Netdev {
		return c.wrong("unsupported family", s.Loc)
	}
	if s.Dev == nil {
		return c.wrong("missing destination interface", s.Loc)
	}
	if !c.evalDevice(s, &s.Dev) {
		return false
	}
	if s.Addr == nil {
		return true
	}
	t := addressType(s.Family)
	if t.Bits == 0 {
		return c.wrong("missing family", s.Loc)
	}
	return c.evalArg(s, t, t.Bits, syntax.BigEndian, &s.Addr)
}

func (c *stmtChecker) evalQueue(s *syntax.QueueStmt) bool {
	const fanout = 2
	if s.To == nil {
		return true
	}
	if !c.evalArg(s, syntax.TypeInteger, 16, syntax.HostOrder, &s.To) {
		return false
	}
	if _, ok := s.To.(*syntax.Range); !ok && s.Flags&fanout != 0 {
		return c.wrong("fanout requires a range to be specified", loc(s.To))
	}
	if c.want.max > 0xffff {
		return c.wrong(fmt.Sprintf("queue expression max value exceeds %d", 0xffff), loc(s.To))
	}
	return true
}
