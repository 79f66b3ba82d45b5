package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// statement takes what may stand in every block: a separator, a definition, an inclusion; and after a mistake it recovers. It says whether
// the block goes on with the next thing.
func (p *parser) statement(t token) bool {
	switch t {
	case tokBad:
		if p.leaving {
			p.leaving = false
			return false
		}
		return p.recover()
	case tokNewline, tokSemicolon:
		p.take()
	case tokInclude:
		p.include()
	case tokDefine, tokRedefine, tokUndefine:
		p.definition(t)
	default:
		return false
	}
	return true
}

// tableBlock takes what stands in the braces of a table, up to the closing one.
func (p *parser) tableBlock(t *syntax.TableDecl) {
	for {
		tok := p.peek()
		if p.statement(tok) {
			continue
		}
		switch tok {
		case tokFlags:
			p.take()
			p.tableFlag(t)
			p.separator()
		case tokComment:
			p.commentOf(t)
		case tokChain:
			p.take()
			var h syntax.Handle
			h.Chain, h.ChainLoc = p.identifier(), p.last
			c := p.chainBraces(h, true)
			p.keep(func() { t.Chains = append(t.Chains, c) })
		case tokSet, tokMap:
			p.take()
			s := p.setBraces(p.name(), tok == tokMap, true)
			p.keep(func() { t.Sets = append(t.Sets, s) })
		case tokFlowtable:
			p.take()
			f := p.flowtable(p.name(), true)
			p.keep(func() { t.Flows = append(t.Flows, f) })
		case tokCounter, tokQuota, tokCt, tokLimit, tokSecmark, tokSynproxy:
			p.take()
			o := p.objectInTable(tok)
			p.keep(func() { t.Objects = append(t.Objects, o) })
		case tokRBrace, tokBad:
			return
		default:
			p.unexpected(anything...)
		}
	}
}

// keep does something unless there was a mistake.
func (p *parser) keep(f func()) {
	if !p.bad {
		f()
	}
}

// name takes the name of a set, a flowtable or an object.
func (p *parser) name() syntax.Handle {
	var h syntax.Handle
	h.Name, h.NameLoc = p.identifier(), p.last
	return h
}

func (p *parser) tableFlag(t *syntax.TableDecl) {
	switch name := p.identifier(); {
	case p.bad:
	case name == "dormant":
		t.Flags |= nftables.TableDormant
	case name == "owner":
		t.Flags |= nftables.TableOwner
	default:
		p.wrong("unknown table option "+name, p.last)
	}
}

const longestComment = 128

// comment takes "comment" and its text.
func (p *parser) comment() (string, syntax.Loc) {
	from := p.here()
	p.take()
	text := p.str()
	if len(text) > longestComment {
		p.wrong("comment too long, 128 characters maximum allowed", p.last)
	}
	return text, p.since(from)
}

// commentOf takes the comment of a table.
func (p *parser) commentOf(t *syntax.TableDecl) {
	text, at := p.comment()
	if t.HasComment {
		p.again(at)
	}
	p.keep(func() { t.Comment, t.HasComment = text, true })
	p.separator()
}

// blockComment takes the comment of a chain, a set or an object. A second one is a mistake that ends the block: the block around it
// recovers.
func (p *parser) blockComment(to *string, has *bool, separated bool) {
	text, at := p.comment()
	if separated {
		p.separator()
	}
	if p.bad {
		return
	}
	if *has {
		p.again(at)
		p.leaving = true
	}
	*to, *has = text, true
}

// again says that something stands twice that may stand once.
func (p *parser) again(at syntax.Loc) {
	p.wrong("You can only specify this once. This statement is duplicated.", at)
}

// braces takes "{", a block, and "}", which closes a scope. In a table a separator must follow: without one nft is still in the block, and
// recovers there. The place of the whole is for nft what is from "{" to before "}", and in a table the name before it.
func (p *parser) braces(inTable bool, closing scope, block func()) syntax.Loc {
	name := p.last
	if !p.expect(tokLBrace) {
		return name
	}
	from := p.last
	for {
		block()
		at := p.since(from)
		if inTable {
			at = name
		}
		if !p.expect(tokRBrace) {
			return at
		}
		if closing != scopeBase {
			p.close(closing)
		}
		if !inTable {
			return at
		}
		p.separator()
		if !p.bad {
			return at
		}
	}
}

// chainBraces takes "{", a chain, and "}".
func (p *parser) chainBraces(h syntax.Handle, inTable bool) *syntax.ChainDecl {
	c := &syntax.ChainDecl{Handle: h}
	if p.peek() == tokLBrace {
		p.open()
		defer p.closeBlock()
	}
	c.Loc = p.braces(inTable, scopeBase, func() { p.chainBlock(c) })
	return c
}

func (p *parser) chainBlock(c *syntax.ChainDecl) {
	for {
		t := p.peek()
		if p.statement(t) {
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
			p.blockComment(&c.Comment, &c.HasComment, true)
		case tokRBrace, tokBad:
			return
		default:
			r := p.ruleOrNothing()
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
func (p *parser) hook(c *syntax.ChainDecl) {
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

// devices takes the devices of a chain.
func (p *parser) devices(h *syntax.HookDecl) {
	from := p.here()
	switch p.peek() {
	case tokDevice:
		p.take()
		if p.peek() == tokDollar {
			h.Devices = p.variable()
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

// priority takes "priority" and what it is: a number, a variable, or a name with a number to add or take away, which comes to
// PriorityNumber.
func (p *parser) priority(h *syntax.HookDecl) {
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
		if h.Priority = p.variable(); h.Priority != nil {
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
func (p *parser) policy(c *syntax.ChainDecl) {
	from := p.here()
	p.take()
	var e syntax.Expr
	switch t := p.peek(); t {
	case tokDollar:
		e = p.variable()
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

// subchain takes the rules of a chain without a name: no mistake ends in it, nor may anything else stand there.
func (p *parser) subchain(c *syntax.ChainDecl) {
	for {
		switch p.peek() {
		case tokNewline, tokSemicolon:
			p.take()
		case tokRBrace, tokBad:
			return
		default:
			r := p.ruleOrNothing()
			if r == nil {
				p.unexpected(anything...)
				return
			}
			p.separator()
			p.keep(func() { c.Rules = append(c.Rules, r) })
		}
	}
}
