package fakeipt

import (
	"bytes"
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetNFQUEUE is -j NFQUEUE: a program decides about the packet.
type TargetNFQUEUE struct {
	Queue  uint16 // the first queue
	Queues uint16 // the number of them, at least 1
	// Bypass lets the packet go on where no program listens.
	Bypass    bool
	CPUFanout bool
}

// Name is "NFQUEUE".
func (*TargetNFQUEUE) Name() string { return "NFQUEUE" }

func (t *TargetNFQUEUE) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --queue-", " --queue-")
}

func (t *TargetNFQUEUE) appendList(dst []byte, _ listStyle) []byte {
	return t.appendOptions(append(dst, " NFQUEUE"...), " ", " ")
}

func (t *TargetNFQUEUE) appendOptions(dst []byte, number, flag string) []byte {
	if t.Queues > 1 {
		dst = fmt.Appendf(dst, "%sbalance %d:%d", number, t.Queue, uint32(t.Queue)+uint32(t.Queues)-1)
	} else {
		dst = fmt.Appendf(dst, "%snum %d", number, t.Queue)
	}
	return appendFlags(dst, flag, flagWord{"bypass", t.Bypass}, flagWord{"cpu-fanout", t.CPUFanout})
}

func (t *TargetNFQUEUE) check(*checkContext) syscall.Errno {
	if t.Queues == 0 {
		return syscall.EINVAL
	}
	return 0
}

var nfqueueExtension = &extension{
	name: "NFQUEUE",
	options: []optionSpec{{name: "queue-num", excludes: 1 << 1}, {name: "queue-balance", excludes: 1 << 0},
		{name: "queue-bypass", flag: true}, {name: "queue-cpu-fanout", flag: true, requires: 1 << 1}},
	newTarget: func() targetParser { return &nfqueueParser{} },
}

type nfqueueParser struct {
	t     TargetNFQUEUE
	arena arena[TargetNFQUEUE]
}

func (p *nfqueueParser) begin(netfilter.Family) { p.t = TargetNFQUEUE{Queues: 1} }

func (p *nfqueueParser) option(o *optionCall) error {
	switch o.name {
	case "queue-bypass":
		p.t.Bypass = true
	case "queue-cpu-fanout":
		p.t.CPUFanout = true
	case "queue-balance":
		return p.balance(o)
	default:
		n, err := o.number(0, math.MaxUint16)
		p.t.Queue = uint16(n)
		return err
	}
	return nil
}

func (p *nfqueueParser) balance(o *optionCall) error {
	low, high, err := o.numbers(math.MaxUint16)
	if err != nil {
		return err
	}
	switch {
	case bytes.IndexByte(o.arg, ':') < 0:
		return badParameter("Bad range \"%s\"", o.arg)
	case low >= high:
		return badParameter("%d should be less than %d", low, high)
	}
	p.t.Queue, p.t.Queues = uint16(low), uint16(high-low+1)
	return nil
}

func (p *nfqueueParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
