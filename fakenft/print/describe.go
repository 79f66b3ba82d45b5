package print

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// AppendDescribe appends what "nft describe" prints of an expression whose types are known, or of a type, which is a symbol of its name.
func AppendDescribe(dst []byte, e syntax.Expr) ([]byte, error) {
	p := &buffer{dst}
	if s, ok := e.(*syntax.Symbol); ok {
		t := syntax.TypeNamed(s.Text)
		if t == nil || s.Quoted {
			p.str("symbol expression, datatype invalid (invalid)")
			return p.b, nil
		}
		appendDatatype(p, t)
		p.str(fmt.Sprintf(", %d bits\n", t.Bits))
		appendConstants(p, t, keptSwapped(t))
		return p.b, nil
	}
	kind := syntax.PrimaryKind(e)
	if kind == "" {
		return p.b, unsupportedError{fmt.Sprintf("the description of an expression of kind %T", e)}
	}
	t := e.Info().Type
	if t == nil {
		t = syntax.TypeInvalid
	}
	p.str(kind)
	p.str(" expression, ")
	appendDatatype(p, t)
	bits := e.Info().Bits
	switch {
	case t.ID == syntax.TypeInvalid.ID:
		return p.b, nil
	case t.Basic().ID == syntax.TypeString.ID:
		p.str(fmt.Sprintf(", %d characters\n", bits/8))
	default:
		p.str(fmt.Sprintf(", %d bits\n", bits))
	}
	appendConstants(p, t, false)
	return p.b, nil
}

// keptSwapped says that nft keeps the values of a type with bytes in the network's order, and shows them so where it does not know better.
func keptSwapped(t *syntax.Datatype) bool {
	return t.ID == syntax.TypeEtherType.ID || t.ID == syntax.TypeARPOp.ID
}

func swapped(n uint64) uint64 { return n&0xff<<8 | n>>8&0xff }

// appendDatatype appends the name of a type and what it is a kind of.
func appendDatatype(p *buffer, t *syntax.Datatype) {
	p.str("datatype ")
	p.str(t.Name)
	p.str(" (")
	p.str(t.Desc)
	p.b = append(p.b, ')')
	separator := " (basetype "
	for base := t.Base; base != nil; base = base.Base {
		p.str(separator)
		p.str(base.Desc)
		separator = ", "
	}
	if separator == ", " {
		p.b = append(p.b, ')')
	}
}

// appendConstants appends the names of a type's values, if they are in nft itself, or the protocols of the C library.
func appendConstants(p *buffer, t *syntax.Datatype, swap bool) {
	switch t.ID {
	case syntax.TypeMark.ID, syntax.TypeRealm.ID, syntax.TypeDevgroup.ID, syntax.TypeCTLabel.ID:
		return // those are in files
	case syntax.TypeInetProto.ID:
		for number := range uint64(256) {
			if name := protocolName(number); name != "" {
				p.str(fmt.Sprintf("\t%-30s\t%d\n", name, number))
			}
		}
		return
	}
	if t.Symbols == nil || len(t.Symbols.List) == 0 {
		return
	}
	base := "decimal"
	if t.Symbols.Base == 16 {
		base = "hexadecimal"
	}
	p.str("\npre-defined symbolic constants (in " + base + "):\n")
	for _, s := range t.Symbols.List {
		n := s.Value
		if swap {
			n = swapped(n)
		}
		if t.Symbols.Base == 16 {
			p.str(fmt.Sprintf("\t%-30s\t0x%.*x\n", s.Name, 2*syntax.Bytes(t.Bits), n))
		} else {
			p.str(fmt.Sprintf("\t%-30s\t%20d\n", s.Name, s.Value))
		}
	}
}
