package print

import (
	"unicode/utf8"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// jsonStr appends a string of JSON, escaped as jansson does.
func (p *printer) jsonStr(s string) {
	p.b = append(p.b, '"')
	p.escaped(s)
	p.b = append(p.b, '"')
}

func (p *printer) escaped(s string) {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		p.b = append(p.b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			p.b = append(p.b, '\\', c)
		case '\b':
			p.str(`\b`)
		case '\f':
			p.str(`\f`)
		case '\n':
			p.str(`\n`)
		case '\r':
			p.str(`\r`)
		case '\t':
			p.str(`\t`)
		default:
			const digits = "0123456789ABCDEF"
			p.b = append(p.b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	p.b = append(p.b, s[from:]...)
}

// property appends `, "name": "value"`, unless the value is no text of JSON, which jansson leaves out.
func (p *printer) property(name, value string) {
	if !utf8.ValidString(value) {
		return
	}
	p.str(`, "`)
	p.str(name)
	p.str(`": `)
	p.jsonStr(value)
}

// integer appends `, "name": n`.
func (p *printer) integer(name string, n uint64) {
	p.str(`, "`)
	p.str(name)
	p.str(`": `)
	p.int(int64(n))
}

// array appends a list; what begins it and ends it is written even if it is empty.
func (p *printer) array(n int, item func(i int)) {
	p.b = append(p.b, '[')
	for i := range n {
		if i > 0 {
			p.str(", ")
		}
		item(i)
	}
	p.b = append(p.b, ']')
}

func (p *printer) jsonExprs(list []syntax.Expr) {
	p.array(len(list), func(i int) { p.jsonExpr(list[i]) })
}

// words appends a list of words; one alone is no list.
func (p *printer) words(list []string) {
	if len(list) == 1 {
		p.jsonStr(list[0])
		return
	}
	p.array(len(list), func(i int) { p.jsonStr(list[i]) })
}

// jsonValue appends a constant in the words of its type.
func (p *printer) jsonValue(v *syntax.Value) {
	t := v.Type
	if t == nil || t.ID == syntax.TypeInvalid.ID && len(t.Parts) == 0 {
		p.inQuotes(func() { p.value(v) })
		return
	}
	switch t.ID {
	case syntax.TypeString.ID, syntax.TypeIfname.ID:
		start := len(p.b)
		p.name(v)
		text := string(p.b[start:])
		p.b = p.b[:start]
		p.jsonStr(text)
	case syntax.TypeIPv4Addr.ID, syntax.TypeIPv6Addr.ID, syntax.TypeEtherAddr.ID, syntax.TypeLLAddr.ID, syntax.TypeClassid.ID:
		p.inQuotes(func() { p.value(v) })
	case syntax.TypeInetService.ID:
		p.nameOrNumber(p.service(v.Num.Lo), v.Num)
	case syntax.TypeInetProto.ID:
		name := ""
		if !p.NumericProtocol {
			name = protocolName(v.Num.Lo)
		}
		p.nameOrNumber(name, v.Num)
	case syntax.TypeBoolean.ID:
		p.jsonBool(v.Num.Lo != 0)
	default:
		p.rarerJSONValue(v)
	}
}

func (p *printer) jsonBool(is bool) {
	if is {
		p.str("true")
	} else {
		p.str("false")
	}
}

func (p *printer) rarerJSONValue(v *syntax.Value) {
	switch v.Type.ID {
	case syntax.TypeIfindex.ID:
		if name, ok := p.device(v.Num.Lo); ok {
			p.jsonStr(name)
			return
		}
		p.inQuotes(func() { p.num(v.Num) })
	case syntax.TypeRealm.ID:
		if name, ok := p.symbol(v.Type, v.Num); ok {
			p.jsonStr(name)
			return
		}
		p.inQuotes(func() { p.num(v.Num) })
	case syntax.TypeUID.ID, syntax.TypeGID.ID:
		name, _ := p.account(v.Type, v.Num.Lo)
		p.nameOrNumber(name, v.Num)
	case syntax.TypeTime.ID:
		p.uint(v.Num.Lo / 1000)
	case syntax.TypeDate.ID, syntax.TypeHour.ID:
		p.value(v) // which has its quotes
	case syntax.TypeCTLabel.ID:
		p.label(v.Num)
	case syntax.TypeCgroupv2.ID:
		p.jsonStr(v.Text)
	case syntax.TypeEtherType.ID, syntax.TypeARPOp.ID: // keptSwapped
		p.jsonSwapped(v)
	default:
		name, _ := p.symbol(v.Type, v.Num)
		p.nameOrNumber(name, v.Num)
	}
}

// jsonSwapped is a constant of a type whose names nft keeps with bytes in the network's order. With -n it prints one that has a name so.
func (p *printer) jsonSwapped(v *syntax.Value) {
	n := v.Num
	name, _ := v.Type.Symbols.Name(n.Lo)
	if p.NumericSymbols && name != "" {
		name, n.Lo = "", swapped(n.Lo)
	}
	p.nameOrNumber(name, n)
}

// inQuotes puts what f prints, which needs no escapes, into quotes.
func (p *printer) inQuotes(f func()) {
	p.b = append(p.b, '"')
	f()
	p.b = append(p.b, '"')
}

// nameOrNumber appends a name, or if there is none a number: as a text in hexadecimal if it has more than 64 bits.
func (p *printer) nameOrNumber(name string, n syntax.Num) {
	switch {
	case name != "":
		p.jsonStr(name)
	case n.Hi != 0:
		p.inQuotes(func() { p.hex(n, 1) })
	default:
		p.int(int64(n.Lo))
	}
}
