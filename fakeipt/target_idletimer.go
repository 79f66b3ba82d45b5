package fakeipt

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetIdletimer is -j IDLETIMER: a timer starts again, of which programs hear when it ends. The packet goes on.
type TargetIdletimer struct {
	Timeout uint32 // seconds
	Label   string
	Alarm   bool
}

// Name is "IDLETIMER".
func (*TargetIdletimer) Name() string { return "IDLETIMER" }

func (t *TargetIdletimer) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendFlags(fmt.Appendf(dst, " --timeout %d --label %s", t.Timeout, t.Label), " --", flagWord{"alarm", t.Alarm})
}

func (t *TargetIdletimer) appendList(dst []byte, _ listStyle) []byte {
	return appendFlags(fmt.Appendf(dst, " timeout:%d label:%s", t.Timeout, t.Label), " ", flagWord{"alarm", t.Alarm})
}

func (*TargetIdletimer) tied() {}

// maxIdleTimeout is the longest time that the kernel can count in milliseconds.
const maxIdleTimeout = math.MaxInt32 / 1000

// check wants a label that can name a file, which some do not since they are taken; and that all timers of a label are of one kind.
func (t *TargetIdletimer) check(c *checkContext) syscall.Errno {
	switch t.Label {
	case "", ".", "..", "power", "subsystem", "uevent":
		return syscall.EINVAL
	}
	if t.Timeout == 0 || t.Timeout >= maxIdleTimeout || strings.Contains(t.Label, "/") {
		return syscall.EINVAL
	}
	for r := range c.rules {
		if o, ok := r.Target.(*TargetIdletimer); ok && o.Label == t.Label && o.Alarm != t.Alarm {
			return syscall.EINVAL
		}
	}
	return 0
}

var idletimerExtension = &extension{
	name:      "IDLETIMER",
	options:   []optionSpec{{name: "timeout", mandatory: true}, {name: "label", mandatory: true}, {name: "alarm", flag: true}},
	newTarget: func() targetParser { return &idletimerParser{} },
}

type idletimerParser struct {
	t     TargetIdletimer
	arena arena[TargetIdletimer]
}

func (p *idletimerParser) begin(netfilter.Family) { p.t = TargetIdletimer{} }

// maxIdleLabel is the length of a label that the kernel keeps; the tool cuts the rest off.
const maxIdleLabel = 27

func (p *idletimerParser) option(o *optionCall) error {
	switch o.name {
	case "label":
		p.t.Label = string(o.arg[:min(len(o.arg), maxIdleLabel)])
	case "alarm":
		p.t.Alarm = true
	case "timeout":
		n, err := o.number(0, math.MaxUint32)
		p.t.Timeout = uint32(n)
		return err
	}
	return nil
}

func (p *idletimerParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
