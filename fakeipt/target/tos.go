package target

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TOS is -j TOS: the byte of the IP header that was called type of service (of IPv6: traffic class) becomes
// (byte &^ Mask) ^ Value. The packet goes on.
type TOS struct {
	Value, Mask uint8
}

// Name is "TOS".
func (*TOS) Name() string { return "TOS" }

func (t *TOS) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendTOS(append(dst, " --set-tos "...), t.Value, t.Mask)
}

func (t *TOS) AppendList(dst []byte, style xtables.ListStyle) []byte {
	if !style.Numeric {
		name := xtables.TOSName(t.Value, t.Mask)
		switch {
		case name != "":
			return append(append(dst, "  TOS set"...), name...)
		case t.Value == 0:
			return fmt.Appendf(dst, " TOS and 0x%02x", ^t.Mask)
		case t.Value == t.Mask:
			return fmt.Appendf(dst, " TOS or 0x%02x", t.Value)
		case t.Mask == 0:
			return fmt.Appendf(dst, " TOS xor 0x%02x", t.Value)
		}
	}
	return xtables.AppendTOS(append(dst, " TOS set "...), t.Value, t.Mask)
}

func (*TOS) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("mangle") }

var tosExtension = &xtables.Extension{
	Name: "TOS",
	Options: []xtables.Option{
		{Name: "set-tos", Excludes: 0xe}, {Name: "and-tos", Excludes: 0xd}, {Name: "or-tos", Excludes: 0xb}, {Name: "xor-tos", Excludes: 0x7},
	},
	NewTarget: xtables.TargetOf(xtables.ValueParser[TOS]{Read: (*TOS).read, Whole: (*TOS).whole}),
}

func (t *TOS) read(o *xtables.OptionCall) (err error) {
	if o.Name == "set-tos" {
		t.Value, t.Mask, err = o.TOS()
		return err
	}
	n, err := o.Number(0, math.MaxUint8)
	switch v := uint8(n); o.Name {
	case "and-tos":
		*t = TOS{Mask: ^v}
	case "or-tos":
		*t = TOS{Value: v, Mask: v}
	default:
		*t = TOS{Value: v}
	}
	return err
}

func (*TOS) whole(seen uint32) error {
	if seen == 0 {
		return xtables.BadParameter("TOS: An action is required")
	}
	return nil
}
