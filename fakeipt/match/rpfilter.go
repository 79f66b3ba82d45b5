package match

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// RPFilter is -m rpfilter: a reply would leave by the device that the packet came in by.
type RPFilter struct {
	Loose       bool // any device will do
	ValidMark   bool // the packet's mark is used for the route
	AcceptLocal bool // packets from the host's own addresses match
	Invert      bool
}

// Name is "rpfilter".
func (*RPFilter) Name() string { return "rpfilter" }

func (m *RPFilter) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, " --")
}

func (m *RPFilter) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.appendOptions(append(dst, " rpfilter"...), " ")
}

func (m *RPFilter) appendOptions(dst []byte, prefix string) []byte {
	return xtables.AppendFlags(dst, prefix, xtables.WordIf("loose", m.Loose), xtables.WordIf("validmark", m.ValidMark),
		xtables.WordIf("accept-local", m.AcceptLocal), xtables.WordIf("invert", m.Invert))
}

func (*RPFilter) Check(c *xtables.CheckContext) syscall.Errno {
	if c.Table != "raw" && c.Table != "mangle" {
		return syscall.EINVAL
	}
	return 0
}

func (*RPFilter) AllowedHooks(bool) xtables.HookMask { return xtables.HookPrerouting }

var rpfilterExtension = &xtables.Extension{
	Name: "rpfilter",
	Options: []xtables.Option{{Name: "loose", Flag: true}, {Name: "validmark", Flag: true}, {Name: "accept-local", Flag: true},
		{Name: "invert", Flag: true}},
	NewMatch: func() xtables.MatchParser { return &rpfilterParser{} },
}

type rpfilterParser struct {
	m     RPFilter
	arena xtables.Arena[RPFilter]
}

func (p *rpfilterParser) Begin(netfilter.Family) { p.m = RPFilter{} }

func (p *rpfilterParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "loose":
		p.m.Loose = true
	case "validmark":
		p.m.ValidMark = true
	case "accept-local":
		p.m.AcceptLocal = true
	case "invert":
		p.m.Invert = true
	}
	return nil
}

func (p *rpfilterParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
