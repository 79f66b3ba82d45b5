package target

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Synproxy is -j SYNPROXY: the host makes the TCP handshake itself before the server hears of the connection.
type Synproxy struct {
	SackPerm, Timestamp, ECN bool
	HasWScale, HasMSS        bool
	WScale                   uint8
	MSS                      uint16
}

// Name is "SYNPROXY".
func (*Synproxy) Name() string { return "SYNPROXY" }

func (t *Synproxy) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --")
}

func (t *Synproxy) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(t.appendOptions(append(dst, " SYNPROXY"...), " "), ' ')
}

func (t *Synproxy) appendOptions(dst []byte, prefix string) []byte {
	dst = xtables.AppendFlags(dst, prefix, xtables.WordIf("sack-perm", t.SackPerm), xtables.WordIf("timestamp", t.Timestamp))
	if t.HasWScale {
		dst = fmt.Appendf(dst, "%swscale %d", prefix, t.WScale)
	}
	if t.HasMSS {
		dst = fmt.Appendf(dst, "%smss %d", prefix, t.MSS)
	}
	return xtables.AppendFlags(dst, prefix, xtables.WordIf("ecn", t.ECN))
}

func (*Synproxy) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoTCP) }

func (*Synproxy) AllowedHooks(bool) xtables.HookMask { return xtables.HookInput | xtables.HookForward }

var synproxyExtension = &xtables.Extension{
	Name: "SYNPROXY",
	Options: []xtables.Option{{Name: "sack-perm", Flag: true}, {Name: "timestamp", Flag: true}, {Name: "wscale"}, {Name: "mss"},
		{Name: "ecn", Flag: true}},
	NewTarget: func() xtables.TargetParser { return &synproxyParser{} },
}

type synproxyParser struct {
	t     Synproxy
	arena xtables.Arena[Synproxy]
}

func (p *synproxyParser) Begin(netfilter.Family) { p.t = Synproxy{} }

func (p *synproxyParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "sack-perm":
		p.t.SackPerm = true
	case "timestamp":
		p.t.Timestamp = true
	case "ecn":
		p.t.ECN = true
	case "wscale":
		n, err := o.Number(0, math.MaxUint32)
		p.t.WScale, p.t.HasWScale = uint8(n), true
		return err
	case "mss":
		n, err := o.Number(0, math.MaxUint32)
		p.t.MSS, p.t.HasMSS = uint16(n), true
		return err
	}
	return nil
}

func (p *synproxyParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
