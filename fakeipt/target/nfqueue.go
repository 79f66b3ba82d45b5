package target

import (
	"bytes"
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// NFQUEUE is -j NFQUEUE: a program decides about the packet.
type NFQUEUE struct {
	Queue  uint16 // the first queue
	Queues uint16 // the number of them, at least 1
	// Bypass lets the packet go on where no program listens.
	Bypass    bool
	CPUFanout bool
}

// Name is "NFQUEUE".
func (*NFQUEUE) Name() string { return "NFQUEUE" }

func (t *NFQUEUE) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --queue-", " --queue-")
}

func (t *NFQUEUE) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return t.appendOptions(append(dst, " NFQUEUE"...), " ", " ")
}

func (t *NFQUEUE) appendOptions(dst []byte, number, flag string) []byte {
	if t.Queues > 1 {
		dst = fmt.Appendf(dst, "%sbalance %d:%d", number, t.Queue, uint32(t.Queue)+uint32(t.Queues)-1)
	} else {
		dst = fmt.Appendf(dst, "%snum %d", number, t.Queue)
	}
	return xtables.AppendFlags(dst, flag, xtables.WordIf("bypass", t.Bypass), xtables.WordIf("cpu-fanout", t.CPUFanout))
}

func (t *NFQUEUE) Check(*xtables.CheckContext) syscall.Errno {
	if t.Queues == 0 {
		return syscall.EINVAL
	}
	return 0
}

var nfqueueExtension = &xtables.Extension{
	Name: "NFQUEUE",
	Options: []xtables.Option{{Name: "queue-num", Excludes: 1 << 1}, {Name: "queue-balance", Excludes: 1 << 0},
		{Name: "queue-bypass", Flag: true}, {Name: "queue-cpu-fanout", Flag: true, Requires: 1 << 1}},
	NewTarget: func() xtables.TargetParser { return &nfqueueParser{} },
}

type nfqueueParser struct {
	t     NFQUEUE
	arena xtables.Arena[NFQUEUE]
}

func (p *nfqueueParser) Begin(netfilter.Family) { p.t = NFQUEUE{Queues: 1} }

func (p *nfqueueParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "queue-bypass":
		p.t.Bypass = true
	case "queue-cpu-fanout":
		p.t.CPUFanout = true
	case "queue-balance":
		return p.balance(o)
	default:
		n, err := o.Number(0, math.MaxUint16)
		p.t.Queue = uint16(n)
		return err
	}
	return nil
}

func (p *nfqueueParser) balance(o *xtables.OptionCall) error {
	low, high, err := o.Numbers(math.MaxUint16)
	if err != nil {
		return err
	}
	switch {
	case bytes.IndexByte(o.Arg, ':') < 0:
		return xtables.BadParameter("Bad range \"%s\"", o.Arg)
	case low >= high:
		return xtables.BadParameter("%d should be less than %d", low, high)
	}
	p.t.Queue, p.t.Queues = uint16(low), uint16(high-low+1)
	return nil
}

func (p *nfqueueParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
