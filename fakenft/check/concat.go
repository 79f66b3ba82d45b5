package check

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// evalConcat gives each part of a concatenation the type that is expected at its place.
func (c *exprChecker) evalConcat(e *syntax.Concat) bool {
	wanted := c.want
	var room [syntax.MaxConcat]*syntax.Datatype
	types := room[:0]
	bits := 0
	for i := range e.Parts {
		if wanted.key != nil && i >= len(wanted.key.Parts) {
			return c.wrong("too many concatenation components", e.Loc, wanted.key.Loc)
		}
		part := e.Parts[i]
		if isPlainCTAddress(part) {
			return c.wrong("specify either ip or ip6 for address matching", loc(part))
		}
		size := c.expectPart(wanted, i)
		if !c.eval(&e.Parts[i]) {
			return false
		}
		k := e.Parts[i].Info()
		if wanted.key == nil && k.Type.ID == syntax.TypeInteger.ID {
			k.Type = syntax.Sized(syntax.TypeInteger, k.Bits)
		}
		if wanted.typ == nil && k.Type.Bits == 0 {
			return c.wrong(fmt.Sprintf("can not use variable sized data types (%s) in concat expressions", k.Type.Name), k.Loc, e.Loc)
		}
		if size == 0 {
			size = k.Type.Bits
		}
		bits += syntax.Padded(size)
		types = append(types, k.Type)
	}
	if e.Type = wanted.typ; e.Type == nil || !slices.Equal(e.Type.Parts, types) {
		e.Type = syntax.ConcatType(types...)
	}
	e.Order, e.Bits = syntax.NoOrder, bits
	if wanted.typ != nil && len(wanted.typ.Parts) > len(e.Parts) {
		return c.wrong(fmt.Sprintf("datatype mismatch, expected %s, expression has type %s", wanted.typ.Desc, e.Type.Desc), e.Loc)
	}
	c.expectType(e.Type, e.Bits)
	c.want.key = e
	if wanted.key != nil {
		c.want.key = wanted.key
	}
	return true
}
