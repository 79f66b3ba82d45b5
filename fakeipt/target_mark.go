package fakeipt

import (
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetMark is -j MARK: mark = (mark &^ Mask) ^ Value, which is --set-xmark.
type TargetMark struct {
	Value, Mask uint32
}

// Name is "MARK".
func (*TargetMark) Name() string { return "MARK" }

func (t *TargetMark) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --set-xmark %#x/%#x", t.Value, t.Mask)
}

func (t *TargetMark) appendList(dst []byte, _ listStyle) []byte {
	return appendMarkOperation(append(dst, " MARK "...), t.Value, t.Mask)
}

// appendMarkOperation appends what a listing says about a change of a mark.
func appendMarkOperation(dst []byte, value, mask uint32) []byte {
	switch {
	case value == 0:
		return fmt.Appendf(dst, "and %#x", ^mask)
	case value == mask:
		return fmt.Appendf(dst, "or %#x", value)
	case mask == 0:
		return fmt.Appendf(dst, "xor %#x", value)
	case mask == 0xffffffff:
		return fmt.Appendf(dst, "set %#x", value)
	}
	return fmt.Appendf(dst, "xset %#x/%#x", value, mask)
}

// markOptions are the operations on a mark, of which a rule has one.
var markOptions = []optionSpec{
	{name: "set-xmark", excludes: 0x1e},
	{name: "set-mark", excludes: 0x1d},
	{name: "and-mark", excludes: 0x1b},
	{name: "or-mark", excludes: 0x17},
	{name: "xor-mark", excludes: 0x0f},
}

// parseMarkOperation reads one of markOptions; done is false if the option is none of them.
func parseMarkOperation(o *optionCall) (value, mask uint32, done bool, err error) {
	switch o.name {
	case "set-xmark":
		value, mask, err = o.mark()
		return value, mask, true, err
	case "set-mark":
		value, mask, err = o.mark()
		return value, value | mask, true, err
	case "and-mark", "or-mark", "xor-mark":
	default:
		return 0, 0, false, nil
	}
	n, err := o.number(0, math.MaxUint32)
	if err != nil {
		return 0, 0, true, err
	}
	v := uint32(n)
	switch o.name {
	case "and-mark":
		return 0, ^v, true, nil
	case "or-mark":
		return v, v, true, nil
	}
	return v, 0, true, nil
}

func (t *TargetMark) addFact(f *netfilter.Fact) {
	f.Mark = &netfilter.Mark{Value: t.Value, Mask: t.Mask}
}

var markTargetExtension = &extension{
	name:      "MARK",
	options:   markOptions,
	newTarget: func() targetParser { return &markTargetParser{} },
}

type markTargetParser struct {
	t     TargetMark
	arena arena[TargetMark]
}

func (p *markTargetParser) begin(netfilter.Family) { p.t = TargetMark{} }

func (p *markTargetParser) option(o *optionCall) (err error) {
	p.t.Value, p.t.Mask, _, err = parseMarkOperation(o)
	return err
}

func (p *markTargetParser) finish(seen uint32) (Target, error) {
	if seen == 0 {
		return nil, badParameter("MARK: One of the --set-xmark, --{and,or,xor,set}-mark options is required")
	}
	return p.arena.intern(p.t), nil
}
