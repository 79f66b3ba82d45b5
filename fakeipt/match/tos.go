package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TOS is -m tos: the byte of the IP header that was called type of service (of IPv6: traffic class) under Mask is Value.
type TOS struct {
	Value, Mask uint8
	Invert      bool
}

// Name is "tos".
func (*TOS) Name() string { return "tos" }

func (m *TOS) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendTOS(append(xtables.AppendOption(dst, "--tos", m.Invert), ' '), m.Value, m.Mask)
}

func (m *TOS) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(append(dst, " tos match"...), xtables.Bang(m.Invert)...)
	if name := xtables.TOSName(m.Value, m.Mask); name != "" && !style.Numeric {
		return append(append(dst, ' '), name...)
	}
	return xtables.AppendTOS(dst, m.Value, m.Mask)
}

var tosExtension = &xtables.Extension{
	Name:     "tos",
	Options:  []xtables.Option{{Name: "tos", Invert: true, Mandatory: true}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[TOS]{Read: (*TOS).read}),
}

func (m *TOS) read(o *xtables.OptionCall) (err error) {
	m.Value, m.Mask, err = o.TOS()
	m.Invert = o.Invert
	return err
}
