package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// blockParser takes what blocks of all kinds have.
type blockParser struct {
	*stream
	options  Options
	vars     *definitions
	exprs    *exprParser
	elements *elementParser
}

// statement takes what may stand in every block: a separator, a definition, an inclusion; and after a mistake it recovers. It says whether
// the block goes on with the next thing.
func (p *blockParser) statement(t token) bool {
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

// name takes the name of a set, a flowtable or an object.
func (p *blockParser) name() syntax.Handle {
	var h syntax.Handle
	h.Name, h.NameLoc = p.identifier(), p.last
	return h
}

// blockComment takes the comment of a chain, a set or an object. A second one is a mistake that ends the block: the block around it
// recovers.
func (p *blockParser) blockComment(to *string, has *bool, separated bool) {
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

// braces takes "{", a block, and "}", which closes a scope. In a table a separator must follow: without one nft is still in the block, and
// recovers there. The place of the whole is for nft what is from "{" to before "}", and in a table the name before it.
func (p *blockParser) braces(inTable bool, closing scope, block func()) syntax.Loc {
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

// definition takes what comes after "define", "redefine" or "undefine".
func (p *blockParser) definition(kind token) {
	p.take()
	name := p.identifier()
	at := p.last
	var to syntax.Expr
	if kind != tokUndefine {
		p.expect(tokEquals)
		to = p.initializer()
	}
	p.separator()
	if p.bad {
		return
	}
	_, there := p.vars.block.lookup(name)
	switch {
	case kind == tokDefine && there:
		p.wrong("redefinition of symbol '"+name+"'", at)
	case kind == tokUndefine:
		// nft says nothing if there is no such definition, or only around this block.
		p.vars.block.undefine(name)
	default:
		p.vars.block.undefine(name)
		p.vars.block.define(name, to)
	}
}

// initializer takes the value of a definition: an expression, a list, a set, an empty set, or a negative number.
func (p *blockParser) initializer() syntax.Expr {
	from := p.here()
	switch p.peek() {
	case tokDash:
		p.take()
		n := p.number()
		v := &syntax.Value{Num: syntax.Num{Lo: uint64(uint32(-int32(n)))}}
		v.Loc, v.Type, v.Order, v.Bits = p.since(from), syntax.TypeInteger, syntax.HostOrder, 32
		return v
	case tokLBrace:
		p.take()
		if p.accept(tokRBrace) {
			s := &syntax.Set{}
			s.Loc = p.since(from)
			return s
		}
		return p.elements.setRest(from)
	case tokAt:
		return p.exprs.setReference()
	}
	return p.exprs.listOrConcatenation()
}
