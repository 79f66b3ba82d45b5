package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// hookParser takes declarations of chains and flowtables, which the kernel calls at hooks and for devices.
type hookParser struct {
	*stream
	*nodes
	blocks *blockParser
	vars   *definitions
	stmts  *stmtParser
}

// chainBraces takes "{", a chain, and "}".
func (p *hookParser) chainBraces(h syntax.Handle, inTable bool) *syntax.ChainDecl {
	c := &syntax.ChainDecl{Handle: h}
	if p.peek() == tokLBrace {
		p.vars.open()
		defer p.vars.closeBlock()
	}
	c.Loc = p.blocks.braces(inTable, scopeBase, func() { p.chainBlock(c) })
	return c
}

func (p *hookParser) chainBlock(c *syntax.ChainDecl) {
	for {
		t := p.peek()
		if p.blocks.statement(t) {
			continue
		}
		switch t {
		case tokType:
			p.hook(c)
			p.separator()
		case tokPolicy:
			p.policy(c)
			p.separator()
		case tokFlags:
			p.take()
			if p.expect(tokOffload) {
				c.Flags |= nftables.ChainHWOffload
			}
			p.separator()
		case tokComment:
			p.blocks.blockComment(&c.Comment, &c.HasComment, true)
		case tokRBrace, tokBad:
			return
		default:
			r := p.stmts.ruleOrNothing()
			if r == nil {
				p.unexpected(anything...)
				continue
			}
			p.separator()
			p.keep(func() { c.Rules = append(c.Rules, r) })
		}
	}
}

// hookNumbers are the hooks by their names (enum nf_inet_hooks, which the other families share as far as they have them).
var hookNumbers = map[string]uint32{
	"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4, "ingress": 5, "egress": 6,
}

// hook takes "type T hook H [device D] priority P".
func (p *hookParser) hook(c *syntax.ChainDecl) {
	from := p.here()
	p.take()
	p.close(scopeType)
	h := &syntax.HookDecl{}
	h.Type, h.TypeLoc = p.identifier(), p.last
	p.expect(tokHook)
	h.Hook, h.HookLoc = p.identifier(), p.last
	if p.peek() != tokPriority {
		p.devices(h)
	}
	p.priority(h)
	if p.bad {
		return
	}
	h.Loc = p.since(from)
	switch h.Type {
	case "filter", "nat", "route":
	default:
		p.wrong("unknown chain type", h.TypeLoc)
		return
	}
	number, ok := hookNumbers[h.Hook]
	if !ok {
		p.wrong("unknown chain hook", h.HookLoc)
		return
	}
	h.HookNumber = number
	c.Hook = h
}

// priority takes "priority" and what it is: a number, a variable, or a name with a number to add or take away, which comes to
// PriorityNumber.
func (p *hookParser) priority(h *syntax.HookDecl) {
	from := p.here()
	if !p.expect(tokPriority) {
		return
	}
	switch t := p.peek(); t {
	case tokNumber, tokDash:
		p.take()
		n := int64(p.cur.number)
		if t == tokDash {
			n = -int64(p.number())
		}
		v := &syntax.Value{Num: syntax.Num{Lo: uint64(uint32(int32(n)))}}
		v.Loc, v.Type, v.Order, v.Bits = p.since(from), syntax.TypeInteger, syntax.HostOrder, 32
		h.Priority = v
	case tokDollar:
		if h.Priority = p.vars.variable(); h.Priority != nil {
			h.Priority.Info().Loc = p.since(from)
		}
	case tokString, tokOut:
		p.take()
		name := p.cur.text
		switch p.peek() {
		case tokPlus:
			p.take()
			h.PriorityNumber = int32(p.number())
		case tokDash:
			p.take()
			h.PriorityNumber = -int32(p.number())
		}
		h.Priority = p.symbol(p.since(from), name)
	default:
		p.unexpected(anything...)
	}
}

// policy takes "policy" and what it is.
func (p *hookParser) policy(c *syntax.ChainDecl) {
	from := p.here()
	p.take()
	var e syntax.Expr
	switch t := p.peek(); t {
	case tokDollar:
		e = p.vars.variable()
	case tokAccept, tokDrop:
		p.take()
		v := &syntax.Value{}
		if t == tokAccept {
			v.Num.Lo = 1
		}
		v.Loc, v.Type, v.Order, v.Bits = p.since(from), syntax.TypeInteger, syntax.HostOrder, 32
		e = v
	default:
		p.unexpected(tokAccept, tokDrop, tokDollar)
	}
	if p.bad {
		return
	}
	p.close(scopePolicy)
	if c.Policy != nil {
		p.wrong("you cannot set chain policy twice", p.since(from))
		return
	}
	c.Policy = e
}

// devices takes the devices of a chain.
func (p *hookParser) devices(h *syntax.HookDecl) {
	from := p.here()
	switch p.peek() {
	case tokDevice:
		p.take()
		if p.peek() == tokDollar {
			h.Devices = p.vars.variable()
			return
		}
		name := p.str(tokDollar)
		h.Devices = p.symbol(p.since(from), name)
	case tokDevices:
		p.take()
		if p.expect(tokEquals) {
			h.Devices = p.deviceSet()
		}
	}
}
