package print

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// jsonValues prints constants as JSON.
type jsonValues struct {
	*buffer
	*Options
	text *values
}

// value appends a constant in the words of its type.
func (p *jsonValues) value(v *syntax.Value) {
	t := v.Type
	if t == nil || t.ID == syntax.TypeInvalid.ID && len(t.Parts) == 0 {
		p.inQuotes(func() { p.text.value(v) })
		return
	}
	switch t.ID {
	case syntax.TypeString.ID, syntax.TypeIfname.ID:
		start := len(p.b)
		p.text.name(v)
		text := string(p.b[start:])
		p.b = p.b[:start]
		p.jsonStr(text)
	case syntax.TypeIPv4Addr.ID, syntax.TypeIPv6Addr.ID, syntax.TypeEtherAddr.ID, syntax.TypeLLAddr.ID, syntax.TypeClassid.ID:
		p.inQuotes(func() { p.text.value(v) })
	case syntax.TypeInetService.ID:
		p.nameOrNumber(p.text.service(v.Num.Lo), v.Num)
	case syntax.TypeInetProto.ID:
		name := ""
		if !p.NumericProtocol {
			name = protocolName(v.Num.Lo)
		}
		p.nameOrNumber(name, v.Num)
	case syntax.TypeBoolean.ID:
		p.jsonBool(v.Num.Lo != 0)
	default:
		p.rarer(v)
	}
}

func (p *jsonValues) rarer(v *syntax.Value) {
	switch v.Type.ID {
	case syntax.TypeIfindex.ID:
		if name, ok := p.text.device(v.Num.Lo); ok {
			p.jsonStr(name)
			return
		}
		p.inQuotes(func() { p.num(v.Num) })
	case syntax.TypeRealm.ID:
		if name, ok := p.text.symbol(v.Type, v.Num); ok {
			p.jsonStr(name)
			return
		}
		p.inQuotes(func() { p.num(v.Num) })
	case syntax.TypeUID.ID, syntax.TypeGID.ID:
		name, _ := p.text.account(v.Type, v.Num.Lo)
		p.nameOrNumber(name, v.Num)
	case syntax.TypeTime.ID:
		p.uint(v.Num.Lo / 1000)
	case syntax.TypeDate.ID, syntax.TypeHour.ID:
		p.text.value(v) // which has its quotes
	case syntax.TypeCTLabel.ID:
		p.text.label(v.Num)
	case syntax.TypeCgroupv2.ID:
		p.jsonStr(v.Text)
	case syntax.TypeEtherType.ID, syntax.TypeARPOp.ID: // keptSwapped
		p.swapped(v)
	default:
		name, _ := p.text.symbol(v.Type, v.Num)
		p.nameOrNumber(name, v.Num)
	}
}

// swapped is a constant of a type whose names nft keeps with bytes in the network's order. With -n it prints one that has a name so.
func (p *jsonValues) swapped(v *syntax.Value) {
	n := v.Num
	name, _ := v.Type.Symbols.Name(n.Lo)
	if p.NumericSymbols && name != "" {
		name, n.Lo = "", swapped(n.Lo)
	}
	p.nameOrNumber(name, n)
}
