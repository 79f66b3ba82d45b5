package match

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MAC is -m mac: the link-layer address that the packet came from.
type MAC struct {
	Source [6]byte
	Invert bool
}

// Name is "mac".
func (*MAC) Name() string { return "mac" }

func (m *MAC) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendAddr(append(xtables.AppendOption(dst, "--mac-source", m.Invert), ' '))
}

func (m *MAC) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " MAC"...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return m.appendAddr(append(dst, ' '))
}

func (m *MAC) appendAddr(dst []byte) []byte {
	a := m.Source
	return fmt.Appendf(dst, "%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

func (*MAC) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPrerouting | xtables.HookInput | xtables.HookForward
}

var macExtension = &xtables.Extension{
	Name:     "mac",
	Options:  []xtables.Option{{Name: "mac-source", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &macParser{} },
}

type macParser struct {
	m     MAC
	arena xtables.Arena[MAC]
}

func (p *macParser) Begin(netfilter.Family) { p.m = MAC{} }

func (p *macParser) Option(o *xtables.OptionCall) (err error) {
	p.m.Invert = o.Invert
	p.m.Source, err = xtables.ParseMAC(o.Arg)
	return err
}

func (p *macParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
