package fakeipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetClassify is -j CLASSIFY: it sets the packet's priority, which is a class of the device's queue. The packet goes on.
type TargetClassify struct {
	// Priority is the class: its major number in the upper 16 bits, its minor one in the lower.
	Priority uint32
}

// Name is "CLASSIFY".
func (*TargetClassify) Name() string { return "CLASSIFY" }

func (t *TargetClassify) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --set-class %04x:%04x", t.Priority>>16, t.Priority&0xffff)
}

func (t *TargetClassify) appendList(dst []byte, _ listStyle) []byte {
	return fmt.Appendf(dst, " CLASSIFY set %x:%x", t.Priority>>16, t.Priority&0xffff)
}

func (*TargetClassify) allowedHooks(bool) hookMask { return hookForward | hookOutput | hookPostrouting }

var classifyExtension = &extension{
	name:      "CLASSIFY",
	options:   []optionSpec{{name: "set-class", mandatory: true}},
	newTarget: func() targetParser { return &classifyParser{} },
}

type classifyParser struct {
	t     TargetClassify
	arena arena[TargetClassify]
}

func (p *classifyParser) begin(netfilter.Family) { p.t = TargetClassify{} }

// option reads hexadecimal numbers, of each of which 16 bits count, and does not look at what is behind them.
func (p *classifyParser) option(o *optionCall) error {
	major, rest, ok := libc.ScanHex(o.arg)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return badParameter("Bad class value \"%s\"", o.arg)
	}
	minor, _, ok := libc.ScanHex(rest[1:])
	if !ok {
		return badParameter("Bad class value \"%s\"", o.arg)
	}
	p.t.Priority = major<<16 | minor&0xffff
	return nil
}

func (p *classifyParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
