package target

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Classify is -j CLASSIFY: it sets the packet's priority, which is a class of the device's queue. The packet goes on.
type Classify struct {
	// Priority is the class: its major number in the upper 16 bits, its minor one in the lower.
	Priority uint32
}

// Name is "CLASSIFY".
func (*Classify) Name() string { return "CLASSIFY" }

func (t *Classify) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --set-class %04x:%04x", t.Priority>>16, t.Priority&0xffff)
}

func (t *Classify) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return fmt.Appendf(dst, " CLASSIFY set %x:%x", t.Priority>>16, t.Priority&0xffff)
}

func (*Classify) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookForward | xtables.HookOutput | xtables.HookPostrouting
}

var classifyExtension = &xtables.Extension{
	Name:      "CLASSIFY",
	Options:   []xtables.Option{{Name: "set-class", Mandatory: true}},
	NewTarget: func() xtables.TargetParser { return &classifyParser{} },
}

type classifyParser struct {
	t     Classify
	arena xtables.Arena[Classify]
}

func (p *classifyParser) Begin(netfilter.Family) { p.t = Classify{} }

// Option reads hexadecimal numbers, of each of which 16 bits count, and does not look at what is behind them.
func (p *classifyParser) Option(o *xtables.OptionCall) error {
	major, rest, ok := libc.ScanHex(o.Arg)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return xtables.BadParameter("Bad class value \"%s\"", o.Arg)
	}
	minor, _, ok := libc.ScanHex(rest[1:])
	if !ok {
		return xtables.BadParameter("Bad class value \"%s\"", o.Arg)
	}
	p.t.Priority = major<<16 | minor&0xffff
	return nil
}

func (p *classifyParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
