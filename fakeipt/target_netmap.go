package fakeipt

import (
	"net/netip"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetNetmap is -j NETMAP: the bits of the address under Mask become those of
// Addr. It changes the destination in PREROUTING and OUTPUT, the source in INPUT and POSTROUTING.
type TargetNetmap struct {
	Addr, Mask netip.Addr
}

// Name is "NETMAP".
func (*TargetNetmap) Name() string { return "NETMAP" }

func (t *TargetNetmap) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	m := AddrMatch{Addr: t.Addr, Mask: t.Mask}
	return m.appendSave(append(dst, " --to "...))
}

func (t *TargetNetmap) appendList(dst []byte, _ listStyle) []byte {
	m := AddrMatch{Addr: t.Addr, Mask: t.Mask}
	return m.appendSave(append(dst, " to:"...))
}

func (*TargetNetmap) check(c *checkContext) syscall.Errno { return c.wantTable("nat") }

func (*TargetNetmap) allowedHooks(bool) hookMask {
	return hookPrerouting | hookInput | hookOutput | hookPostrouting
}

func (t *TargetNetmap) addFact(f *netfilter.Fact) {
	last := t.Addr.AsSlice()
	for i, b := range t.Mask.AsSlice() {
		last[i] |= ^b
	}
	end, _ := netip.AddrFromSlice(last)
	f.Translation = netfilter.Translation{Kind: netfilter.Netmap, MinAddr: t.Addr, MaxAddr: end}
}

var netmapExtension = &extension{
	name:      "NETMAP",
	options:   []optionSpec{{name: "to", mandatory: true}},
	newTarget: func() targetParser { return &netmapParser{} },
}

type netmapParser struct {
	t     TargetNetmap
	arena arena[TargetNetmap]
}

func (p *netmapParser) begin(netfilter.Family) { p.t = TargetNetmap{} }

func (p *netmapParser) option(o *optionCall) error {
	m, err := o.resolvedHostMask()
	if err != nil {
		return err
	}
	p.t = TargetNetmap{Addr: MaskAddr(m.Addr, m.Mask), Mask: m.Mask}
	return nil
}

func (p *netmapParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
