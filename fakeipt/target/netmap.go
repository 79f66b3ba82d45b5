package target

import (
	"net/netip"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Netmap is -j NETMAP: the bits of the address under Mask become those of
// Addr. It changes the destination in PREROUTING and OUTPUT, the source in INPUT and POSTROUTING.
type Netmap struct {
	Addr, Mask netip.Addr
}

// Name is "NETMAP".
func (*Netmap) Name() string { return "NETMAP" }

func (t *Netmap) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	m := xtables.AddrMatch{Addr: t.Addr, Mask: t.Mask}
	return m.AppendSave(append(dst, " --to "...))
}

func (t *Netmap) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	m := xtables.AddrMatch{Addr: t.Addr, Mask: t.Mask}
	return m.AppendSave(append(dst, " to:"...))
}

func (*Netmap) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("nat") }

func (*Netmap) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPrerouting | xtables.HookInput | xtables.HookOutput | xtables.HookPostrouting
}

func (t *Netmap) AddFact(f *netfilter.Fact) {
	last := t.Addr.AsSlice()
	for i, b := range t.Mask.AsSlice() {
		last[i] |= ^b
	}
	end, _ := netip.AddrFromSlice(last)
	f.Translation = netfilter.Translation{Kind: netfilter.Netmap, MinAddr: t.Addr, MaxAddr: end}
}

var netmapExtension = &xtables.Extension{
	Name:      "NETMAP",
	Options:   []xtables.Option{{Name: "to", Mandatory: true}},
	NewTarget: func() xtables.TargetParser { return &netmapParser{} },
}

type netmapParser struct {
	t     Netmap
	arena xtables.Arena[Netmap]
}

func (p *netmapParser) Begin(netfilter.Family) { p.t = Netmap{} }

func (p *netmapParser) Option(o *xtables.OptionCall) error {
	m, err := o.ResolvedHostMask()
	if err != nil {
		return err
	}
	p.t = Netmap{Addr: xtables.MaskAddr(m.Addr, m.Mask), Mask: m.Mask}
	return nil
}

func (p *netmapParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
