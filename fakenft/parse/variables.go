package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/misspell"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// variables are the definitions of a block. Those of the blocks around it hold in it too.
type variables struct {
	outer *variables
	names []string // in the order of definition
	to    map[string]syntax.Expr
}

func (v *variables) define(name string, to syntax.Expr) {
	if v.to == nil {
		v.to = make(map[string]syntax.Expr)
	}
	v.names = append(v.names, name)
	v.to[name] = to
}

func (v *variables) undefine(name string) {
	delete(v.to, name)
	for i, n := range v.names {
		if n == name {
			v.names = append(v.names[:i], v.names[i+1:]...)
			return
		}
	}
}

func (v *variables) lookup(name string) (syntax.Expr, bool) {
	for ; v != nil; v = v.outer {
		if to, ok := v.to[name]; ok {
			return to, true
		}
	}
	return nil, false
}

// like is a defined name that is near to one: the nearest, and of those the one of the innermost block that was defined last.
func (v *variables) like(name string) (string, bool) {
	search := misspell.Search{Want: name}
	best, found := "", false
	for ; v != nil; v = v.outer {
		for i := len(v.names) - 1; i >= 0; i-- {
			if search.Try(v.names[i]) {
				best, found = v.names[i], true
			}
		}
	}
	return best, found
}

// definitions are the variables that hold at one place of a text.
type definitions struct {
	*stream
	block   *variables // those of the innermost block
	nesting int        // blocks that have variables of their own
}

// maxNesting is how many blocks nft 1.0.6 keeps variables for.
const maxNesting = 4

// open begins a block with variables of its own. It says whether nft has room for that.
func (p *definitions) open() bool {
	if p.nesting >= maxNesting-1 {
		return false
	}
	p.nesting++
	p.block = &variables{outer: p.block}
	return true
}

// closeBlock ends such a block.
func (p *definitions) closeBlock() {
	if !p.bad {
		p.leaveBlock()
	}
}

// leaveBlock ends a block, one with a mistake as well.
func (p *definitions) leaveBlock() {
	if p.block.outer == nil {
		return
	}
	p.nesting--
	p.block = p.block.outer
}

// variable takes "$" and a name.
func (p *definitions) variable() syntax.Expr {
	from := p.here()
	if !p.expect(tokDollar) {
		return nil
	}
	name := p.identifier()
	if p.bad {
		return nil
	}
	v := &syntax.Variable{Name: name, To: p.resolve(name, p.last)}
	v.Loc = p.since(from)
	return v
}

// resolve is what a variable was defined as.
func (p *definitions) resolve(name string, at syntax.Loc) syntax.Expr {
	to, ok := p.block.lookup(name)
	if !ok {
		text := "unknown identifier '" + name + "'"
		if near, ok := p.block.like(name); ok {
			text += "; did you mean identifier ‘" + near + "’?"
		}
		p.wrong(text, at)
	}
	return to
}
