package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// flowtable takes "{", a flowtable, and "}".
func (p *hookParser) flowtable(h syntax.Handle, inTable bool) *syntax.FlowtableDecl {
	f := &syntax.FlowtableDecl{Handle: h}
	f.Loc = p.blocks.braces(inTable, scopeBase, func() { p.flowtableBlock(f) })
	return f
}

func (p *hookParser) flowtableBlock(f *syntax.FlowtableDecl) {
	hook := f.Hook
	if hook == nil {
		hook = &syntax.HookDecl{}
	}
	for {
		t := p.peek()
		if p.blocks.statement(t) {
			continue
		}
		switch t {
		case tokHook:
			p.take()
			at, h := p.last, &syntax.HookDecl{}
			h.Hook, h.HookLoc = p.identifier(), p.last
			p.priority(h)
			p.separator()
			if p.bad {
				continue
			}
			if _, known := hookNumbers[h.Hook]; !known {
				p.wrong("unknown chain hook", h.HookLoc)
				p.leaving = true
			}
			h.Loc, h.Devices = p.since(at), hook.Devices
			*hook = *h
			f.Hook = hook
		case tokDevices:
			p.take()
			p.expect(tokEquals)
			hook.Devices = p.deviceSet()
			f.Hook = hook
			p.separator()
		case tokCounter:
			p.take()
			p.close(scopeCounter)
			f.Flags |= 2
		case tokFlags:
			p.take()
			if p.expect(tokOffload) {
				f.Flags |= 1
			}
			p.separator()
		case tokRBrace, tokBad:
			return
		default:
			p.unexpected(anything...)
		}
	}
}

// deviceSet takes "{" names of devices "}", or a variable.
func (p *hookParser) deviceSet() syntax.Expr {
	from := p.here()
	if p.peek() == tokDollar {
		return p.vars.variable()
	}
	p.expect(tokLBrace, tokDollar)
	l := &syntax.List{}
	for {
		switch p.peek() {
		case tokString, tokQuotedString:
			p.take()
			s := p.symbol(p.last, p.cur.text)
			l.Items = append(l.Items, s)
		case tokDollar:
			l.Items = append(l.Items, p.vars.variable())
		default:
			p.unexpected(tokString, tokQuotedString, tokDollar)
			return nil
		}
		if !p.moreDevices() {
			break
		}
	}
	l.Loc = p.since(from)
	return l
}

// moreDevices takes what is between the names of devices, or the closing brace. It says whether a name comes: on the same line.
func (p *hookParser) moreDevices() bool {
	for {
		switch p.peek() {
		case tokComma:
			p.take()
			switch p.peek() {
			case tokString, tokQuotedString, tokDollar:
				return true
			case tokNewline:
				p.take()
			}
		case tokRBrace:
			p.take()
			return false
		default:
			p.unexpected(tokComma, tokRBrace)
			return false
		}
	}
}
