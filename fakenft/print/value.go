package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// numerals is how a value without a name is written: base 16 has 0x before it and at least so many digits.
func numerals(t *syntax.Datatype) (base, width int) {
	switch t.ID {
	case syntax.TypeMark.ID:
		return 16, 8
	case syntax.TypeEtherType.ID:
		return 16, 4
	case syntax.TypeDSCP.ID:
		return 16, 2
	case syntax.TypeECN.ID:
		return 16, 1
	case syntax.TypeInteger.ID:
		if t.Symbols != nil {
			return t.Symbols.Base, 1 // bytes of a packet that have no name
		}
	}
	if t.Is(syntax.TypeBitmask) {
		return 16, 1
	}
	return 10, 1
}

// values prints constants in the words of their types.
type values struct {
	*buffer
	*Options
	// compared is a constant on the right of a comparison. An asterisk in a name has a backslash there alone.
	compared *syntax.Value
}

func (p *values) numeral(t *syntax.Datatype, n syntax.Num) {
	if base, width := numerals(t); base == 16 {
		p.hex(n, width)
		return
	}
	p.num(n)
}

// value is a constant in the words of its type.
func (p *values) value(v *syntax.Value) {
	t := v.Type
	if t == nil || t.ID == syntax.TypeInvalid.ID && len(t.Parts) == 0 {
		p.hex(v.Num, 1)
		p.str(" [invalid type]")
		return
	}
	switch t.ID {
	case syntax.TypeString.ID, syntax.TypeIfname.ID:
		p.b = append(p.b, '"')
		p.name(v)
		p.b = append(p.b, '"')
	case syntax.TypeIPv4Addr.ID:
		p.ipv4(v.Num)
	case syntax.TypeIPv6Addr.ID:
		p.ipv6(v.Num)
	case syntax.TypeEtherAddr.ID:
		p.linkLayer(v.Num, 6)
	case syntax.TypeLLAddr.ID:
		p.linkLayer(v.Num, syntax.Bytes(v.Bits))
	case syntax.TypeInetService.ID:
		if name := p.service(v.Num.Lo); name != "" {
			p.quoted(name)
			return
		}
		p.num(v.Num)
	case syntax.TypeInetProto.ID:
		p.protocol(v.Num.Lo)
	default:
		p.rarer(v)
	}
}

// rarer is a constant of a type that has words of its own, but is not met in each rule.
func (p *values) rarer(v *syntax.Value) {
	t := v.Type
	switch t.ID {
	case syntax.TypeIfindex.ID:
		if name, ok := p.device(v.Num.Lo); ok {
			p.quoted(name)
			return
		}
		p.num(v.Num)
	case syntax.TypeRealm.ID, syntax.TypeDevgroup.ID, syntax.TypeDay.ID:
		if name, ok := p.symbol(t, v.Num); ok {
			p.quoted(name)
			return
		}
		p.num(v.Num)
	case syntax.TypeUID.ID, syntax.TypeGID.ID:
		if name, ok := p.account(t, v.Num.Lo); ok {
			p.quoted(name)
			return
		}
		p.num(v.Num)
	case syntax.TypeClassid.ID:
		p.classid(v.Num.Lo)
	case syntax.TypeTime.ID:
		p.duration(v.Num.Lo)
	case syntax.TypeDate.ID:
		p.b = append(p.b, '"')
		p.date(v.Num.Lo)
		p.b = append(p.b, '"')
	case syntax.TypeHour.ID:
		p.b = append(p.b, '"')
		p.hour(v.Num.Lo)
		p.b = append(p.b, '"')
	case syntax.TypeCTLabel.ID:
		p.label(v.Num)
	case syntax.TypeCgroupv2.ID:
		p.quoted(v.Text)
	case syntax.TypeBoolean.ID:
		p.boolean(v.Num)
	default:
		if name, ok := p.symbol(t, v.Num); ok {
			p.str(name)
			return
		}
		p.numeral(t, v.Num)
	}
}

func (p *values) boolean(n syntax.Num) {
	switch {
	case p.NumericSymbols || n.Hi != 0 || n.Lo > 1:
		p.num(n)
	case n.Lo == 1:
		p.str("exists")
	default:
		p.str("missing")
	}
}

// symbol is the name of a value, unless numbers are wanted.
func (p *values) symbol(t *syntax.Datatype, n syntax.Num) (string, bool) {
	if p.NumericSymbols || n.Hi != 0 || t.Symbols == nil {
		return "", false
	}
	return t.Symbols.Name(n.Lo)
}

// name is a text, with an asterisk behind the beginning of a device's name.
func (p *values) name(v *syntax.Value) {
	full := v.Type.Bits
	switch {
	case full != 0 && v.Bits != 0 && v.Bits < full:
		p.str(v.Text)
		p.b = append(p.b, '*')
	case p.compared == v && v.Type.ID == syntax.TypeIfname.ID && len(v.Text) > 0 && v.Text[len(v.Text)-1] == '*':
		p.str(v.Text[:len(v.Text)-1])
		p.str(`\*`)
	default:
		p.str(v.Text)
	}
}

// service is the name of a port if -S was given.
func (p *values) service(port uint64) string {
	if !p.Services {
		return ""
	}
	return libc.ServiceName(uint16(port), 0)
}

func (p *values) protocol(number uint64) {
	if !p.NumericProtocol {
		if name := protocolName(number); name != "" {
			p.str(name)
			return
		}
	}
	p.uint(number)
}

// protocolName is what getprotobynumber says.
func protocolName(number uint64) string {
	if number == 0 {
		return "ip"
	}
	if number > 255 {
		return ""
	}
	return libc.ProtocolName(uint16(number))
}

func (p *values) device(index uint64) (string, bool) {
	if p.Device == nil {
		return "", false
	}
	return p.Device(uint32(index))
}

func (p *values) account(t *syntax.Datatype, number uint64) (string, bool) {
	names := p.User
	if t.ID == syntax.TypeGID.ID {
		names = p.Group
	}
	if !p.Accounts || names == nil {
		return "", false
	}
	return names(uint32(number))
}

// label is the number of the bit of a label of a connection, whose names are in a file that nobody has.
func (p *values) label(n syntax.Num) {
	if bit, ok := singleBit(n); ok {
		p.uint(uint64(bit))
		return
	}
	p.hex(n, 1)
}
