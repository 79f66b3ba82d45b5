package target

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Idletimer is -j IDLETIMER: a timer starts again, of which programs hear when it ends. The packet goes on.
type Idletimer struct {
	Timeout uint32 // seconds
	Label   string
	Alarm   bool
}

// Name is "IDLETIMER".
func (*Idletimer) Name() string { return "IDLETIMER" }

func (t *Idletimer) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendFlags(fmt.Appendf(dst, " --timeout %d --label %s", t.Timeout, t.Label), " --", xtables.WordIf("alarm", t.Alarm))
}

func (t *Idletimer) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return xtables.AppendFlags(fmt.Appendf(dst, " timeout:%d label:%s", t.Timeout, t.Label), " ", xtables.WordIf("alarm", t.Alarm))
}

func (*Idletimer) Tied() {}

// maxIdleTimeout is the longest time that the kernel can count in milliseconds.
const maxIdleTimeout = math.MaxInt32 / 1000

// Check wants a label that can name a file, which some do not since they are taken; and that all timers of a label are of one kind.
func (t *Idletimer) Check(c *xtables.CheckContext) syscall.Errno {
	switch t.Label {
	case "", ".", "..", "power", "subsystem", "uevent":
		return syscall.EINVAL
	}
	if t.Timeout == 0 || t.Timeout >= maxIdleTimeout || strings.Contains(t.Label, "/") {
		return syscall.EINVAL
	}
	for r := range c.Rules {
		if o, ok := r.Target.(*Idletimer); ok && o.Label == t.Label && o.Alarm != t.Alarm {
			return syscall.EINVAL
		}
	}
	return 0
}

var idletimerExtension = &xtables.Extension{
	Name:      "IDLETIMER",
	Options:   []xtables.Option{{Name: "timeout", Mandatory: true}, {Name: "label", Mandatory: true}, {Name: "alarm", Flag: true}},
	NewTarget: func() xtables.TargetParser { return &idletimerParser{} },
}

type idletimerParser struct {
	t     Idletimer
	arena xtables.Arena[Idletimer]
}

func (p *idletimerParser) Begin(netfilter.Family) { p.t = Idletimer{} }

// maxIdleLabel is the length of a label that the kernel keeps; the tool cuts the rest off.
const maxIdleLabel = 27

func (p *idletimerParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "label":
		p.t.Label = string(o.Arg[:min(len(o.Arg), maxIdleLabel)])
	case "alarm":
		p.t.Alarm = true
	case "timeout":
		n, err := o.Number(0, math.MaxUint32)
		p.t.Timeout = uint32(n)
		return err
	}
	return nil
}

func (p *idletimerParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
