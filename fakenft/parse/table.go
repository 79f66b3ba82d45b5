package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func (p *parser) table(c *syntax.Command) {
	c.Kind = syntax.KindTable
	p.handles.tableSpec(&c.Handle)
	t := &syntax.TableDecl{Handle: c.Handle}
	c.Table = t
	if p.peek() != tokLBrace {
		return
	}
	p.vars.open()
	t.Loc = p.blocks.braces(false, scopeBase, func() { p.tableBlock(t) })
	p.vars.closeBlock()
}

// tableBlock takes what stands in the braces of a table, up to the closing one.
func (p *parser) tableBlock(t *syntax.TableDecl) {
	for {
		tok := p.peek()
		if p.blocks.statement(tok) {
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
			c := p.hooks.chainBraces(h, true)
			p.keep(func() { t.Chains = append(t.Chains, c) })
		case tokSet, tokMap:
			p.take()
			s := p.sets.setBraces(p.blocks.name(), tok == tokMap, true)
			p.keep(func() { t.Sets = append(t.Sets, s) })
		case tokFlowtable:
			p.take()
			f := p.hooks.flowtable(p.blocks.name(), true)
			p.keep(func() { t.Flows = append(t.Flows, f) })
		case tokCounter, tokQuota, tokCt, tokLimit, tokSecmark, tokSynproxy:
			p.take()
			o := p.objects.objectInTable(tok)
			p.keep(func() { t.Objects = append(t.Objects, o) })
		case tokRBrace, tokBad:
			return
		default:
			p.unexpected(anything...)
		}
	}
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

// commentOf takes the comment of a table.
func (p *parser) commentOf(t *syntax.TableDecl) {
	text, at := p.comment()
	if t.HasComment {
		p.again(at)
	}
	p.keep(func() { t.Comment, t.HasComment = text, true })
	p.separator()
}
