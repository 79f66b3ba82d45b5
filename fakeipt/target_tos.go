package fakeipt

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetTOS is -j TOS: the byte of the IP header that was called type of service (of IPv6: traffic class) becomes
// (byte &^ Mask) ^ Value. The packet goes on.
type TargetTOS struct {
	Value, Mask uint8
}

// Name is "TOS".
func (*TargetTOS) Name() string { return "TOS" }

func (t *TargetTOS) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendTOS(append(dst, " --set-tos "...), t.Value, t.Mask)
}

func (t *TargetTOS) appendList(dst []byte, style listStyle) []byte {
	if !style.numeric {
		name := tosName(t.Value, t.Mask)
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
	return appendTOS(append(dst, " TOS set "...), t.Value, t.Mask)
}

func (*TargetTOS) check(c *checkContext) syscall.Errno { return c.wantTable("mangle") }

var tosTargetExtension = &extension{
	name: "TOS",
	options: []optionSpec{
		{name: "set-tos", excludes: 0xe}, {name: "and-tos", excludes: 0xd}, {name: "or-tos", excludes: 0xb}, {name: "xor-tos", excludes: 0x7},
	},
	newTarget: targetOf(valueParser[TargetTOS]{read: (*TargetTOS).read, whole: (*TargetTOS).whole}),
}

func (t *TargetTOS) read(o *optionCall) (err error) {
	if o.name == "set-tos" {
		t.Value, t.Mask, err = o.tos()
		return err
	}
	n, err := o.number(0, math.MaxUint8)
	switch v := uint8(n); o.name {
	case "and-tos":
		*t = TargetTOS{Mask: ^v}
	case "or-tos":
		*t = TargetTOS{Value: v, Mask: v}
	default:
		*t = TargetTOS{Value: v}
	}
	return err
}

func (*TargetTOS) whole(seen uint32) error {
	if seen == 0 {
		return badParameter("TOS: An action is required")
	}
	return nil
}
