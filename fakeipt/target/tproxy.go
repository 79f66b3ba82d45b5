package target

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TPROXY is -j TPROXY: the packet goes to a local socket and keeps its addresses.
type TPROXY struct {
	Port uint16     // 0: the packet's own
	Addr netip.Addr // unspecified: the address of the device that the packet came in by
	// The packet's mark becomes (mark &^ MarkMask) ^ MarkValue.
	MarkValue, MarkMask uint32
}

// Name is "TPROXY".
func (*TPROXY) Name() string { return "TPROXY" }

func (t *TPROXY) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = fmt.Appendf(dst, " --on-port %d --on-ip ", t.Port)
	return fmt.Appendf(libc.AppendInetNtop(dst, t.Addr), " --tproxy-mark 0x%x/0x%x", t.MarkValue, t.MarkMask)
}

func (t *TPROXY) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = libc.AppendInetNtop(append(dst, " TPROXY redirect "...), t.Addr)
	return fmt.Appendf(dst, ":%d mark 0x%x/0x%x", t.Port, t.MarkValue, t.MarkMask)
}

func (*TPROXY) Check(c *xtables.CheckContext) syscall.Errno {
	if c.WantProto(libc.ProtoTCP) != 0 && c.WantProto(libc.ProtoUDP) != 0 {
		return syscall.EINVAL
	}
	return c.WantTable("mangle")
}

func (*TPROXY) AllowedHooks(bool) xtables.HookMask { return xtables.HookPrerouting }

var tproxyExtension = &xtables.Extension{
	Name:      "TPROXY",
	Options:   []xtables.Option{{Name: "tproxy-mark"}, {Name: "on-port", Mandatory: true}, {Name: "on-ip"}},
	NewTarget: func() xtables.TargetParser { return &tproxyParser{} },
}

type tproxyParser struct {
	t     TPROXY
	arena xtables.Arena[TPROXY]
}

func (p *tproxyParser) Begin(f netfilter.Family) { p.t = TPROXY{Addr: xtables.FactsOf(f).Zero} }

func (p *tproxyParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "tproxy-mark":
		p.t.MarkValue, p.t.MarkMask, err = o.Mark()
	case "on-port":
		p.t.Port, err = xtables.ResolvedPort(o.Arg)
	case "on-ip":
		p.t.Addr, err = o.ResolvedAddr(o.Arg)
	}
	return err
}

func (p *tproxyParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
