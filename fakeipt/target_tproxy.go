package fakeipt

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetTPROXY is -j TPROXY: the packet goes to a local socket and keeps its addresses.
type TargetTPROXY struct {
	Port uint16     // 0: the packet's own
	Addr netip.Addr // unspecified: the address of the device that the packet came in by
	// The packet's mark becomes (mark &^ MarkMask) ^ MarkValue.
	MarkValue, MarkMask uint32
}

// Name is "TPROXY".
func (*TargetTPROXY) Name() string { return "TPROXY" }

func (t *TargetTPROXY) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = fmt.Appendf(dst, " --on-port %d --on-ip ", t.Port)
	return fmt.Appendf(libc.AppendInetNtop(dst, t.Addr), " --tproxy-mark 0x%x/0x%x", t.MarkValue, t.MarkMask)
}

func (t *TargetTPROXY) appendList(dst []byte, _ listStyle) []byte {
	dst = libc.AppendInetNtop(append(dst, " TPROXY redirect "...), t.Addr)
	return fmt.Appendf(dst, ":%d mark 0x%x/0x%x", t.Port, t.MarkValue, t.MarkMask)
}

func (*TargetTPROXY) check(c *checkContext) syscall.Errno {
	if c.wantProto(libc.ProtoTCP) != 0 && c.wantProto(libc.ProtoUDP) != 0 {
		return syscall.EINVAL
	}
	return c.wantTable("mangle")
}

func (*TargetTPROXY) allowedHooks(bool) hookMask { return hookPrerouting }

var tproxyExtension = &extension{
	name:      "TPROXY",
	options:   []optionSpec{{name: "tproxy-mark"}, {name: "on-port", mandatory: true}, {name: "on-ip"}},
	newTarget: func() targetParser { return &tproxyParser{} },
}

type tproxyParser struct {
	t     TargetTPROXY
	arena arena[TargetTPROXY]
}

func (p *tproxyParser) begin(f netfilter.Family) { p.t = TargetTPROXY{Addr: factsOf(f).zero} }

func (p *tproxyParser) option(o *optionCall) (err error) {
	switch o.name {
	case "tproxy-mark":
		p.t.MarkValue, p.t.MarkMask, err = o.mark()
	case "on-port":
		p.t.Port, err = resolvedPort(o.arg)
	case "on-ip":
		p.t.Addr, err = o.resolvedAddr(o.arg, o.family)
	}
	return err
}

func (p *tproxyParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
