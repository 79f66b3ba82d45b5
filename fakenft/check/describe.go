package check

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Describe is what "nft describe" prints of an expression, or of a type if a word is the name of one.
func (c *Checker) Describe(e syntax.Expr) string {
	var b strings.Builder
	word, isWord := e.(*syntax.Symbol)
	t, size := syntax.TypeInvalid, ""
	if isWord {
		t = syntax.TypeNamed(word.Name)
		if t == nil {
			return "symbol expression, datatype invalid (invalid)"
		}
		fmt.Fprintf(&b, "datatype %s (%s)", t.Name, t.Desc)
		size = fmt.Sprintf(", %d bits", t.Bits)
	} else {
		t, size = c.described(e)
		fmt.Fprintf(&b, "%s expression, datatype %s (%s)", kindOf(e), t.Name, t.Desc)
	}
	for base, before := t.Base, " (basetype "; base != nil; base, before = base.Base, ", " {
		b.WriteString(before + base.Desc)
		if base.Base == nil {
			b.WriteString(")")
		}
	}
	b.WriteString(size)
	if size != "" {
		b.WriteByte('\n')
		describeSymbols(&b, t, isWord)
	}
	return b.String()
}

// described is the type and the size of an expression, "" if they depend on the rule.
func (c *Checker) described(e syntax.Expr) (*syntax.Datatype, string) {
	c.typeOnly(e)
	k := e.Info()
	switch e := e.(type) {
	case *syntax.CT:
		if e.Key == expr.CTProtoSrc || e.Key == expr.CTProtoDst {
			return syntax.TypeInvalid, ""
		}
	case *syntax.RT:
		if e.Key == syntax.RTNexthop4 && e.NFProto == 0 {
			return syntax.TypeInvalid, ""
		}
	}
	switch {
	case k.Type == syntax.TypeInvalid:
		return k.Type, ""
	case k.Type.Is(syntax.TypeString):
		return k.Type, fmt.Sprintf(", %d characters", k.Bits/8)
	}
	return k.Type, fmt.Sprintf(", %d bits", k.Bits)
}

// describeSymbols lists the names of values of a type. Of a type by itself, values of two bytes in the network's order are printed as the
// machine reads them.
func describeSymbols(b *strings.Builder, t *syntax.Datatype, isWord bool) {
	if t.ID == syntax.TypeInetProto.ID && len(t.Parts) == 0 {
		for number := range uint16(255) {
			if name := libc.ProtocolName(number); name != "" {
				fmt.Fprintf(b, "\t%-30s\t%d\n", name, number)
			} else if number == 0 {
				fmt.Fprintf(b, "\t%-30s\t%d\n", "ip", number)
			}
		}
		return
	}
	if t.Symbols == nil || readers[t.ID] != nil {
		return
	}
	base := "hexadecimal"
	if t.Symbols.Base == 10 {
		base = "decimal"
	}
	fmt.Fprintf(b, "\npre-defined symbolic constants (in %s):\n", base)
	size := syntax.Bytes(t.Bits)
	for _, s := range t.Symbols.List {
		n := s.Value
		if isWord && t.Order == syntax.BigEndian && size == 2 {
			n = n>>8 | n&0xff<<8
		}
		if t.Symbols.Base == 10 {
			fmt.Fprintf(b, "\t%-30s\t%20d\n", s.Name, n)
		} else {
			fmt.Fprintf(b, "\t%-30s\t0x%0*x\n", s.Name, 2*size, n)
		}
	}
}
