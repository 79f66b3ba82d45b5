package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func (p *parser) nat(t token) syntax.Stmt {
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
func (p *parser) natTarget(n *syntax.NAT) {
	switch t := p.peek(); t {
	case tokColon:
		p.take()
		n.Port = p.stmtExpr()
	case tokTo:
		p.take()
		p.natTo(n)
	case tokInterval:
		p.take()
		p.expect(tokTo)
		n.Addr, n.Interval = p.stmtExpr(), true
	case tokPrefix:
		p.take()
		p.expect(tokTo)
		n.Addr, n.Prefix = p.stmtExpr(), true
	case tokIp, tokIp6:
		p.natFamily(n, t)
	default:
		n.Addr = p.stmtExpr()
		p.natPort(n)
	}
}

// natTo takes what follows "to".
func (p *parser) natTo(n *syntax.NAT) {
	if p.accept(tokColon) {
		n.Port = p.stmtExpr()
		return
	}
	n.Addr = p.stmtExpr()
	p.natPort(n)
}

func (p *parser) natPort(n *syntax.NAT) {
	if p.accept(tokColon) {
		n.Port = p.stmtExpr()
	}
}

// natFamily takes "ip" or "ip6" and what depends on it. Without "to" and the like it is a field of a header, or a word.
func (p *parser) natFamily(n *syntax.NAT, t token) {
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
			n.Addr = p.stmtExpr()
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
		n.Addr = p.stmtExpr()
	default:
		first := p.payloadField(t, headers[t], from)
		word := first == nil
		if word {
			p.close(opens[t])
			first = p.symbol(from, tokenNames[t])
		}
		if word && p.peek() == tokComma {
			n.Addr = p.stmtList(first, from)
		} else {
			n.Addr = p.stmtExprFrom(first, from)
		}
		p.natPort(n)
	}
}

// natFlags takes flags with commas between. It says whether there were any.
func (p *parser) natFlags(n *syntax.NAT) bool {
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

func (p *parser) masquerade() syntax.Stmt {
	p.take()
	n := &syntax.NAT{At: syntax.At{Loc: p.last}, Kind: syntax.Masquerade}
	if p.accept(tokTo) {
		p.expect(tokColon)
		n.Port = p.stmtExpr()
	}
	p.natFlags(n)
	p.close(scopeNAT)
	return n
}

func (p *parser) redirect() syntax.Stmt {
	p.take()
	n := &syntax.NAT{At: syntax.At{Loc: p.last}, Kind: syntax.Redirect}
	if p.accept(tokTo) {
		p.accept(tokColon)
		n.Port = p.stmtExpr()
	}
	p.natFlags(n)
	p.close(scopeNAT)
	return n
}

func (p *parser) tproxy() syntax.Stmt {
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
		s.Port = p.stmtExpr()
	} else {
		s.Addr = p.stmtExpr()
		if p.accept(tokColon) {
			s.Port = p.stmtExpr()
		}
	}
	s.Loc = p.since(from)
	p.close(scopeTproxy)
	return s
}

// The flags of queue (NFT_QUEUE_FLAG_*).
const (
	queueBypass = 1
	queueFanout = 2
)

func (p *parser) queue() syntax.Stmt {
	from := p.here()
	p.take()
	q := &syntax.QueueStmt{}
	switch p.peek() {
	case tokTo:
		p.take()
		q.To = p.queueTo()
	case tokFlags:
		p.take()
		q.Flags = p.queueFlags()
		switch p.peek() {
		case tokTo:
			p.take()
			q.To = p.queueTo()
		case tokNum:
			from := p.here()
			p.take()
			if q.To = p.queueNumber(); q.To != nil {
				q.To.Info().Loc = p.since(from)
			}
		default:
			p.unexpected(tokComma, tokTo, tokNum)
		}
	default:
		p.queueArgs(q)
	}
	q.Loc = p.since(from)
	p.close(scopeQueue)
	return q
}

// queueArgs takes the older form: numbers and flags in any order.
func (p *parser) queueArgs(q *syntax.QueueStmt) {
	for {
		switch p.peek() {
		case tokNum:
			from := p.here()
			p.take()
			if q.To = p.queueNumber(); q.To != nil {
				q.To.Info().Loc = p.since(from)
			}
		case tokBypass, tokFanout:
			q.Flags |= p.queueFlags()
		default:
			return
		}
	}
}

func (p *parser) queueFlags() (flags uint16) {
	for {
		switch p.peek() {
		case tokBypass:
			flags |= queueBypass
		case tokFanout:
			flags |= queueFanout
		default:
			p.unexpected(tokBypass, tokFanout)
			return flags
		}
		p.take()
		if !p.accept(tokComma) {
			return flags
		}
	}
}

// queueTo takes what a packet's queue is chosen by.
func (p *parser) queueTo() syntax.Expr {
	from := p.here()
	switch t := p.peek(); t {
	case tokNumgen, tokJhash, tokSymhash:
		e := p.concatenation(p.packet(t), from)
		return p.mapped(e, from)
	case tokNumber, tokDollar:
		return p.queueNumberOrMap()
	}
	key := p.key()
	if p.peek() != tokMap {
		p.unexpected(tokDot, tokMap)
		return nil
	}
	return p.mapped(key, from)
}

// queueNumber takes a number or a range of them.
func (p *parser) queueNumber() syntax.Expr {
	from := p.here()
	return p.queueRange(p.oneQueue(), from)
}

func (p *parser) queueRange(low syntax.Expr, from syntax.Loc) syntax.Expr {
	if !p.accept(tokDash) {
		return low
	}
	return p.rangeTo(low, from, p.oneQueue())
}

func (p *parser) oneQueue() syntax.Expr {
	switch p.peek() {
	case tokNumber:
		return p.integer()
	case tokDollar:
		return p.variable()
	}
	p.unexpected(tokNumber, tokDollar)
	return nil
}

// queueNumberOrMap takes the same, or a map whose key begins with a number or variable.
func (p *parser) queueNumberOrMap() syntax.Expr {
	from := p.here()
	first := p.oneQueue()
	t := p.peek()
	if _, ok := binaryOf(t); !ok && t != tokDot && t != tokMap {
		return p.queueRange(first, from)
	}
	key := p.concatenation(first, from)
	if p.peek() != tokMap {
		p.unexpected(tokDot, tokMap)
		return nil
	}
	return p.mapped(key, from)
}
