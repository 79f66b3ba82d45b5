package fakeipt

import (
	"net/netip"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetTEE is -j TEE: a copy of the packet goes to a gateway on its own, and the packet goes on.
type TargetTEE struct {
	Gateway netip.Addr
	Oif     string // the device that the copy goes out by; "": whichever the route says
}

// Name is "TEE".
func (*TargetTEE) Name() string { return "TEE" }

func (t *TargetTEE) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = libc.AppendInetNtop(append(dst, " --gateway "...), t.Gateway)
	if t.Oif != "" {
		dst = append(append(dst, " --oif "...), t.Oif...)
	}
	return dst
}

func (t *TargetTEE) appendList(dst []byte, style listStyle) []byte {
	dst = style.appendHost(append(dst, " TEE gw:"...), t.Gateway)
	if t.Oif != "" {
		dst = append(append(dst, " oif="...), t.Oif...)
	}
	return dst
}

func (t *TargetTEE) check(*checkContext) syscall.Errno {
	if t.Gateway.IsUnspecified() {
		return syscall.EINVAL
	}
	return 0
}

var teeExtension = &extension{
	name:      "TEE",
	options:   []optionSpec{{name: "gateway", mandatory: true}, {name: "oif"}},
	newTarget: func() targetParser { return &teeParser{} },
}

type teeParser struct {
	t     TargetTEE
	arena arena[TargetTEE]
}

func (p *teeParser) begin(netfilter.Family) { p.t = TargetTEE{} }

func (p *teeParser) option(o *optionCall) (err error) {
	if o.name == "oif" {
		p.t.Oif = string(o.arg[:min(len(o.arg), maxIfaceName)])
		return nil
	}
	p.t.Gateway, err = o.resolvedAddr(o.arg, o.family)
	return err
}

func (p *teeParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
