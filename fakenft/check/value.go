package check

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// evalValue gives a value the size and order that are expected, if it has room for it.
func (c *exprChecker) evalValue(at *syntax.Expr, e *syntax.Value) bool {
	if e.Type == nil {
		e.Type = syntax.TypeInteger
	}
	switch e.Type.Basic() {
	case syntax.TypeInteger:
		return c.evalInteger(e)
	case syntax.TypeString:
		return c.evalText(e)
	}
	return c.wrong(fmt.Sprintf("chainwalk does not support values of type %s", e.Type.Name), e.Loc)
}

func (c *exprChecker) evalInteger(e *syntax.Value) bool {
	if c.want.exceededBy(e.Num) {
		return c.exceeds(e)
	}
	if most := syntax.Ones(c.want.bits); e.Num.Cmp(most) > 0 {
		return c.wrong(fmt.Sprintf("Value %s exceeds valid range 0-%s", e.Num, most), e.Loc)
	}
	e.Order, e.Bits = c.want.order, c.want.bits
	return true
}

// exceeds notes that a number is greater than any that the other side can be.
func (c *exprChecker) exceeds(e *syntax.Value) bool {
	return c.wrong(fmt.Sprintf("Value %s exceeds valid range 0-%d", e.Num, c.want.max), e.Loc)
}

// evalText gives a name its size, which for the beginning of a name ("eth*") is that of what is written.
func (c *exprChecker) evalText(e *syntax.Value) bool {
	bits := 8 * (len(e.Text) + 1)
	if c.want.bits > 0 {
		if isWildcard(e) {
			return true
		}
		if bits > c.want.bits {
			return c.wrong(fmt.Sprintf("String exceeds maximum length of %d", c.want.bits/8), e.Loc)
		}
		bits = c.want.bits
	}
	if e.Text == "" {
		return c.wrong("Empty string is not allowed", e.Loc)
	}
	if c.want.typ != nil {
		e.Type = c.want.typ
	}
	e.Order, e.Bits = syntax.HostOrder, bits
	stem, wild := strings.CutSuffix(e.Text, "*")
	if !wild {
		return true
	}
	if stem == "" {
		return c.wrong("All-wildcard strings are not supported", e.Loc)
	}
	if strings.HasSuffix(stem, `\`) {
		e.Text = unescape(e.Text)
		return true
	}
	e.Text, e.Bits = stem, 8*len(stem)
	return true
}

// unescape takes all backslashes away, as nft does with names that end in one and a star.
func unescape(text string) string { return strings.ReplaceAll(text, `\`, "") }
