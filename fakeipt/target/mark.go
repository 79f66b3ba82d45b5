package target

import (
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Mark is -j MARK: mark = (mark &^ Mask) ^ Value, which is --set-xmark.
type Mark struct {
	Value, Mask uint32
}

// Name is "MARK".
func (*Mark) Name() string { return "MARK" }

func (t *Mark) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --set-xmark %#x/%#x", t.Value, t.Mask)
}

func (t *Mark) AppendList(dst []byte, _ xtables.ListStyle) []byte {
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
var markOptions = []xtables.Option{
	{Name: "set-xmark", Excludes: 0x1e},
	{Name: "set-mark", Excludes: 0x1d},
	{Name: "and-mark", Excludes: 0x1b},
	{Name: "or-mark", Excludes: 0x17},
	{Name: "xor-mark", Excludes: 0x0f},
}

// parseMarkOperation reads one of markOptions; done is false if the option is none of them.
func parseMarkOperation(o *xtables.OptionCall) (value, mask uint32, done bool, err error) {
	switch o.Name {
	case "set-xmark":
		value, mask, err = o.Mark()
		return value, mask, true, err
	case "set-mark":
		value, mask, err = o.Mark()
		return value, value | mask, true, err
	case "and-mark", "or-mark", "xor-mark":
	default:
		return 0, 0, false, nil
	}
	n, err := o.Number(0, math.MaxUint32)
	if err != nil {
		return 0, 0, true, err
	}
	v := uint32(n)
	switch o.Name {
	case "and-mark":
		return 0, ^v, true, nil
	case "or-mark":
		return v, v, true, nil
	}
	return v, 0, true, nil
}

func (t *Mark) AddFact(f *netfilter.Fact) {
	f.Mark = &netfilter.Mark{Value: t.Value, Mask: t.Mask}
}

var markExtension = &xtables.Extension{
	Name:      "MARK",
	Options:   markOptions,
	NewTarget: func() xtables.TargetParser { return &markParser{} },
}

type markParser struct {
	t     Mark
	arena xtables.Arena[Mark]
}

func (p *markParser) Begin(netfilter.Family) { p.t = Mark{} }

func (p *markParser) Option(o *xtables.OptionCall) (err error) {
	p.t.Value, p.t.Mask, _, err = parseMarkOperation(o)
	return err
}

func (p *markParser) Finish(seen uint32) (xtables.Target, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("MARK: One of the --set-xmark, --{and,or,xor,set}-mark options is required")
	}
	return p.arena.Intern(p.t), nil
}
