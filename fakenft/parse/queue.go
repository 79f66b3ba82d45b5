package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// The flags of queue (NFT_QUEUE_FLAG_*).
const (
	queueBypass = 1
	queueFanout = 2
)

func (p *steerParser) queue() syntax.Stmt {
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
func (p *steerParser) queueArgs(q *syntax.QueueStmt) {
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

func (p *steerParser) queueFlags() (flags uint16) {
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
func (p *steerParser) queueTo() syntax.Expr {
	from := p.here()
	switch t := p.peek(); t {
	case tokNumgen, tokJhash, tokSymhash:
		e := p.exprs.concatenation(p.exprs.packet(t), from)
		return p.exprs.mapped(e, from)
	case tokNumber, tokDollar:
		return p.queueNumberOrMap()
	}
	key := p.exprs.key()
	if p.peek() != tokMap {
		p.unexpected(tokDot, tokMap)
		return nil
	}
	return p.exprs.mapped(key, from)
}

// queueNumber takes a number or a range of them.
func (p *steerParser) queueNumber() syntax.Expr {
	from := p.here()
	return p.queueRange(p.oneQueue(), from)
}

func (p *steerParser) queueRange(low syntax.Expr, from syntax.Loc) syntax.Expr {
	if !p.accept(tokDash) {
		return low
	}
	return p.exprs.rangeTo(low, from, p.oneQueue())
}

func (p *steerParser) oneQueue() syntax.Expr {
	switch p.peek() {
	case tokNumber:
		return p.exprs.integer()
	case tokDollar:
		return p.vars.variable()
	}
	p.unexpected(tokNumber, tokDollar)
	return nil
}

// queueNumberOrMap takes the same, or a map whose key begins with a number or variable.
func (p *steerParser) queueNumberOrMap() syntax.Expr {
	from := p.here()
	first := p.oneQueue()
	t := p.peek()
	if _, ok := binaryOf(t); !ok && t != tokDot && t != tokMap {
		return p.queueRange(first, from)
	}
	key := p.exprs.concatenation(first, from)
	if p.peek() != tokMap {
		p.unexpected(tokDot, tokMap)
		return nil
	}
	return p.exprs.mapped(key, from)
}
