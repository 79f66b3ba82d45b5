package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// steerParser takes the statements that change where a packet goes: NAT, tproxy, queue, dup and fwd.
type steerParser struct {
	*stream
	*nodes
	vars  *definitions
	keys  *keyParser
	exprs *exprParser
}

func (p *steerParser) nat(t token) syntax.Stmt {
	p.take()
	n := &syntax.NAT{At: syntax.At{Loc: p.last}, Kind: syntax.SNAT}
	if t == tokDnat {
		n.Kind = syntax.DNAT
	}
	p.natTarget(n)
	for p.natFlags(n) {
		p.peek()
	}
	p.close(scopeNAT)
	return n
}

// natTarget takes what addresses and ports become.
func (p *steerParser) natTarget(n *syntax.NAT) {
	switch t := p.peek(); t {
	case tokColon:
		p.take()
		n.Port = p.exprs.stmtExpr()
	case tokTo:
		p.take()
		p.natTo(n)
	case tokInterval:
		p.take()
		p.expect(tokTo)
		n.Addr, n.Interval = p.exprs.stmtExpr(), true
	case tokPrefix:
		p.take()
		p.expect(tokTo)
		n.Addr, n.Prefix = p.exprs.stmtExpr(), true
	case tokIp, tokIp6:
		p.natFamily(n, t)
	default:
		n.Addr = p.exprs.stmtExpr()
		p.natPort(n)
	}
}

// natTo takes what follows "to".
func (p *steerParser) natTo(n *syntax.NAT) {
	if p.accept(tokColon) {
		n.Port = p.exprs.stmtExpr()
		return
	}
	n.Addr = p.exprs.stmtExpr()
	p.natPort(n)
}

func (p *steerParser) natPort(n *syntax.NAT) {
	if p.accept(tokColon) {
		n.Port = p.exprs.stmtExpr()
	}
}

// natFamily takes "ip" or "ip6" and what depends on it. Without "to" and the like it is a field of a header, or a word.
func (p *steerParser) natFamily(n *syntax.NAT, t token) {
	from := p.here()
	p.take()
	family := uint8(2)
	if t == tokIp6 {
		family = 10
	}
	switch next := p.peek(); next {
	case tokTo, tokInterval, tokPrefix, tokAddr:
		p.close(opens[t])
		n.Family = family
		p.take()
		switch next {
		case tokTo:
			n.Addr = p.exprs.stmtExpr()
			p.natPort(n)
			return
		case tokInterval:
			n.Interval = true
		case tokPrefix:
			n.Prefix = true
		default:
			n.Concat = true
			p.expect(tokDot)
			p.expect(tokPort)
		}
		p.expect(tokTo)
		n.Addr = p.exprs.stmtExpr()
	default:
		first := p.keys.payloadField(t, headers[t], from)
		word := first == nil
		if word {
			p.close(opens[t])
			first = p.symbol(from, tokenNames[t])
		}
		if word && p.peek() == tokComma {
			n.Addr = p.exprs.stmtList(first, from)
		} else {
			n.Addr = p.exprs.stmtExprFrom(first, from)
		}
		p.natPort(n)
	}
}

// natFlags takes flags with commas between. It says whether there were any.
func (p *steerParser) natFlags(n *syntax.NAT) bool {
	flag := natFlag(p.peek())
	if flag == 0 {
		return false
	}
	for {
		p.take()
		n.Flags |= flag
		if !p.accept(tokComma) {
			return true
		}
		flag = natFlag(p.peek())
		if flag == 0 {
			p.unexpected(tokRandom, tokFullyRandom, tokPersistent)
			return false
		}
	}
}

func natFlag(t token) expr.NATFlags {
	switch t {
	case tokRandom:
		return expr.NATProtoRandom
	case tokFullyRandom:
		return expr.NATProtoFullRandom
	case tokPersistent:
		return expr.NATPersistent
	}
	return 0
}

func (p *steerParser) masquerade() syntax.Stmt {
	p.take()
	n := &syntax.NAT{At: syntax.At{Loc: p.last}, Kind: syntax.Masquerade}
	if p.accept(tokTo) {
		p.expect(tokColon)
		n.Port = p.exprs.stmtExpr()
	}
	p.natFlags(n)
	p.close(scopeNAT)
	return n
}

func (p *steerParser) redirect() syntax.Stmt {
	p.take()
	n := &syntax.NAT{At: syntax.At{Loc: p.last}, Kind: syntax.Redirect}
	if p.accept(tokTo) {
		p.accept(tokColon)
		n.Port = p.exprs.stmtExpr()
	}
	p.natFlags(n)
	p.close(scopeNAT)
	return n
}

func (p *steerParser) tproxy() syntax.Stmt {
	from := p.here()
	p.take()
	s := &syntax.TproxyStmt{}
	switch t := p.peek(); t {
	case tokTo:
		p.take()
	case tokIp, tokIp6:
		s.Family = p.addressFamily(t)
		p.expect(tokTo)
	default:
		p.unexpected(tokTo, tokIp, tokIp6)
	}
	if p.accept(tokColon) {
		s.Port = p.exprs.stmtExpr()
	} else {
		s.Addr = p.exprs.stmtExpr()
		if p.accept(tokColon) {
			s.Port = p.exprs.stmtExpr()
		}
	}
	s.Loc = p.since(from)
	p.close(scopeTproxy)
	return s
}

func (p *steerParser) dup() syntax.Stmt {
	from := p.here()
	p.take()
	p.expect(tokTo)
	s := &syntax.DupStmt{Addr: p.exprs.stmtExpr()}
	if p.accept(tokDevice) {
		s.Dev = p.exprs.stmtExpr()
	}
	s.Loc = p.since(from)
	p.close(scopeDup)
	return s
}

func (p *steerParser) fwd() syntax.Stmt {
	from := p.here()
	p.take()
	s := &syntax.FwdStmt{}
	switch t := p.peek(); t {
	case tokTo:
		p.take()
		s.Dev = p.exprs.stmtExpr()
	case tokIp, tokIp6:
		s.Family = p.addressFamily(t)
		p.expect(tokTo)
		s.Addr = p.exprs.stmtExpr()
		p.expect(tokDevice)
		s.Dev = p.exprs.stmtExpr()
	default:
		p.unexpected(tokTo, tokIp, tokIp6)
	}
	s.Loc = p.since(from)
	p.close(scopeFwd)
	return s
}

// addressFamily takes "ip" or "ip6".
func (p *steerParser) addressFamily(t token) uint8 {
	p.take()
	p.close(opens[t])
	if t == tokIp6 {
		return 10
	}
	return 2
}
