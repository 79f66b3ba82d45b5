package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// input takes the whole text.
func (p *parser) input() {
	for {
		switch t := p.peek(); t {
		case tokBad:
			if !p.recover() {
				return
			}
		case tokEOF:
			return
		case tokNewline, tokSemicolon:
			p.take()
		case tokInclude:
			p.blocks.include()
		case tokDefine, tokRedefine, tokUndefine:
			p.blocks.definition(t)
		default:
			p.line(t)
		}
	}
}

// line takes a command and its end.
func (p *parser) line(t token) {
	from := p.cur.loc
	if t == tokString && p.last.Written() {
		from = p.nowhere() // that of the family, which is empty
	}
	c := p.cmds.New()
	p.command(c, t)
	if p.bad {
		return
	}
	if p.peek() != tokEOF {
		p.separator(tokEOF)
	}
	c.Loc = p.since(from) // the end of the line is a part of it
	if !p.bad {
		p.commands = append(p.commands, c)
	}
}

// verbs are the words that commands begin with, but for "add".
var verbs = [tokens]syntax.Op{
	tokReplace: syntax.OpReplace, tokCreate: syntax.OpCreate, tokInsert: syntax.OpInsert, tokDelete: syntax.OpDelete,
	tokGet: syntax.OpGet, tokList: syntax.OpList, tokReset: syntax.OpReset, tokFlush: syntax.OpFlush, tokRename: syntax.OpRename,
	tokImport: syntax.OpImport, tokExport: syntax.OpExport, tokMonitor: syntax.OpMonitor, tokDescribe: syntax.OpDescribe,
}

func (p *parser) command(c *syntax.Command, t token) {
	op := verbs[t]
	if op == syntax.OpAdd && t != tokAdd {
		c.Op = syntax.OpAdd
		if !p.adds(c, t) {
			p.bare(c, t)
		}
		return
	}
	p.take()
	c.Op = op
	switch op {
	case syntax.OpAdd:
		if !p.adds(c, p.peek()) {
			p.ruleAt(c)
		}
	case syntax.OpCreate:
		t := p.peek()
		if t == tokRule || !p.adds(c, t) {
			p.unexpected(anything...)
		}
	case syntax.OpInsert:
		if p.expect(tokRule) {
			p.ruleAt(c)
		}
	case syntax.OpReplace:
		if p.expect(tokRule) {
			c.Kind = syntax.KindRule
			p.handles.ruleHandle(&c.Handle)
			c.Rule = p.stmts.rule()
		}
	case syntax.OpDelete:
		p.deletes(c)
	case syntax.OpGet:
		if p.expect(tokElement) {
			p.element(c)
		}
	case syntax.OpList:
		p.lists(c)
		p.close(scopeList)
	case syntax.OpReset:
		p.resets(c)
		p.close(scopeReset)
	case syntax.OpFlush:
		p.flushes(c)
	case syntax.OpRename:
		if p.expect(tokChain) {
			c.Kind = syntax.KindChain
			p.handles.chainSpec(&c.Handle)
			c.NewName = p.identifier()
		}
	case syntax.OpDescribe:
		c.Kind = syntax.KindExpr
		c.Describe = p.exprs.primary()
	default:
		p.ports(c)
	}
}

// anything stands for more tokens than nft lists.
var anything = make([]token, 5)

// bare takes a rule without "add rule".
func (p *parser) bare(c *syntax.Command, t token) {
	switch t {
	case tokIp, tokIp6, tokInet, tokArp, tokBridge, tokNetdev, tokString:
		p.ruleAt(c)
	default:
		p.unexpected(anything...)
	}
}

// adds takes what can be added but for a rule without the word. It says whether there was such a thing.
func (p *parser) adds(c *syntax.Command, t token) bool {
	switch t {
	case tokTable:
		p.take()
		p.table(c)
	case tokChain:
		p.take()
		p.chain(c)
	case tokRule:
		p.take()
		p.ruleAt(c)
	case tokSet:
		p.take()
		c.Kind = syntax.KindSet
		p.set(c, false)
	case tokMap:
		p.take()
		c.Kind = syntax.KindMap
		p.set(c, true)
	case tokElement:
		p.take()
		p.element(c)
	case tokFlowtable:
		p.take()
		c.Kind = syntax.KindFlowtable
		p.handles.nameSpec(&c.Handle)
		c.Flow = p.hooks.flowtable(c.Handle, false)
	case tokCounter, tokQuota, tokCt, tokLimit, tokSecmark, tokSynproxy:
		p.take()
		p.objects.object(c, t)
	default:
		return false
	}
	return true
}

func (p *parser) chain(c *syntax.Command) {
	c.Kind = syntax.KindChain
	p.handles.chainSpec(&c.Handle)
	if p.peek() == tokLBrace {
		c.Chain = p.hooks.chainBraces(c.Handle, false)
	}
}

func (p *parser) ruleAt(c *syntax.Command) {
	c.Kind = syntax.KindRule
	p.handles.chainSpec(&c.Handle)
	switch t := p.peek(); t {
	case tokPosition, tokHandle:
		from := p.here()
		p.take()
		by := &syntax.Placement{Position: p.number(), PositionLoc: p.last}
		if t == tokPosition {
			by.PositionLoc = p.since(from)
		}
		c.Handle.Placed = by
	case tokIndex:
		from := p.here()
		p.take()
		c.Handle.Placed = &syntax.Placement{Index: p.number() + 1, IndexLoc: p.since(from)}
	}
	c.Rule = p.stmts.rule()
}

func (p *parser) set(c *syntax.Command, isMap bool) {
	p.handles.nameSpec(&c.Handle)
	c.Set = p.sets.setBraces(c.Handle, isMap, false)
}

func (p *parser) element(c *syntax.Command) {
	c.Kind = syntax.KindElements
	p.handles.nameSpec(&c.Handle)
	c.Elements = p.elements.elements()
}

func (p *parser) deletes(c *syntax.Command) {
	h := &c.Handle
	t := p.peek()
	switch t {
	case tokTable:
		p.take()
		c.Kind = syntax.KindTable
		p.handles.family(h)
		if p.peek() == tokHandle {
			p.handles.handle(h)
		} else {
			h.Table, h.TableLoc = p.identifier(tokHandle), p.last
		}
	case tokChain:
		p.take()
		c.Kind = syntax.KindChain
		p.handles.tableSpec(h)
		if p.peek() == tokHandle {
			p.handles.handle(h)
		} else {
			h.Chain, h.ChainLoc = p.identifier(tokHandle), p.last
		}
	case tokRule:
		p.take()
		c.Kind = syntax.KindRule
		p.handles.ruleHandle(h)
	case tokSet, tokFlowtable:
		p.take()
		c.Kind = syntax.KindSet
		named := p.handles.nameOrHandle(h)
		if t == tokFlowtable {
			c.Kind = syntax.KindFlowtable
			if named && p.peek() == tokLBrace {
				c.Flow = p.hooks.flowtable(*h, false)
			}
		}
	case tokMap:
		p.take()
		c.Kind = syntax.KindMap
		p.handles.nameSpec(h)
	case tokElement:
		p.take()
		p.element(c)
	case tokCounter, tokQuota, tokLimit, tokSecmark, tokSynproxy:
		p.take()
		c.Kind = objectKinds[t].kind
		p.handles.nameOrHandle(h)
		p.close(opens[t])
	case tokCt:
		p.take()
		c.Kind = p.objects.ctObject()
		p.handles.nameSpec(h)
		p.close(scopeCT)
	default:
		p.unexpected(anything...)
	}
}

// flushed are the kinds of "flush".
var flushed = [tokens]syntax.Kind{
	tokTable: syntax.KindTable, tokChain: syntax.KindChain, tokSet: syntax.KindSet, tokMap: syntax.KindMap, tokFlow: syntax.KindMeter,
	tokMeter: syntax.KindMeter, tokRuleset: syntax.KindRuleset,
}

func (p *parser) flushes(c *syntax.Command) {
	t := p.peek()
	c.Kind = flushed[t]
	if c.Kind == 0 {
		p.unexpected(anything...)
		return
	}
	p.take()
	switch t {
	case tokRuleset:
		p.handles.rulesetSpec(&c.Handle)
	case tokTable:
		p.handles.tableSpec(&c.Handle)
	case tokChain:
		p.handles.chainSpec(&c.Handle)
	case tokFlow:
		if p.expect(tokTable) {
			p.handles.nameSpec(&c.Handle)
		}
	default:
		p.handles.nameSpec(&c.Handle)
	}
}
