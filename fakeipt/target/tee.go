package target

import (
	"net/netip"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TEE is -j TEE: a copy of the packet goes to a gateway on its own, and the packet goes on.
type TEE struct {
	Gateway netip.Addr
	Oif     string // the device that the copy goes out by; "": whichever the route says
}

// Name is "TEE".
func (*TEE) Name() string { return "TEE" }

func (t *TEE) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = libc.AppendInetNtop(append(dst, " --gateway "...), t.Gateway)
	if t.Oif != "" {
		dst = append(append(dst, " --oif "...), t.Oif...)
	}
	return dst
}

func (t *TEE) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = style.AppendHost(append(dst, " TEE gw:"...), t.Gateway)
	if t.Oif != "" {
		dst = append(append(dst, " oif="...), t.Oif...)
	}
	return dst
}

func (t *TEE) Check(*xtables.CheckContext) syscall.Errno {
	if t.Gateway.IsUnspecified() {
		return syscall.EINVAL
	}
	return 0
}

var teeExtension = &xtables.Extension{
	Name:      "TEE",
	Options:   []xtables.Option{{Name: "gateway", Mandatory: true}, {Name: "oif"}},
	NewTarget: func() xtables.TargetParser { return &teeParser{} },
}

type teeParser struct {
	t     TEE
	arena xtables.Arena[TEE]
}

func (p *teeParser) Begin(netfilter.Family) { p.t = TEE{} }

func (p *teeParser) Option(o *xtables.OptionCall) (err error) {
	if o.Name == "oif" {
		p.t.Oif = string(o.Arg[:min(len(o.Arg), xtables.MaxIfaceName)])
		return nil
	}
	p.t.Gateway, err = o.ResolvedAddr(o.Arg)
	return err
}

func (p *teeParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
