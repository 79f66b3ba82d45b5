package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Socket is -m socket: an open socket would take the packet.
type Socket struct {
	Transparent bool // only a socket with IP_TRANSPARENT
	NoWildcard  bool // sockets bound to any address too
	RestoreMark bool // the packet gets the mark of the socket
}

// Name is "socket".
func (*Socket) Name() string { return "socket" }

func (m *Socket) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, " --")
}

func (m *Socket) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.appendOptions(append(dst, " socket"...), " --")
}

func (m *Socket) appendOptions(dst []byte, prefix string) []byte {
	return xtables.AppendFlags(dst, prefix, xtables.WordIf("transparent", m.Transparent), xtables.WordIf("nowildcard", m.NoWildcard),
		xtables.WordIf("restore-skmark", m.RestoreMark))
}

func (*Socket) AllowedHooks(bool) xtables.HookMask { return xtables.HookPrerouting | xtables.HookInput }

var socketExtension = &xtables.Extension{
	Name: "socket",
	Options: []xtables.Option{{Name: "transparent", Flag: true}, {Name: "nowildcard", Flag: true},
		{Name: "restore-skmark", Flag: true}},
	NewMatch: func() xtables.MatchParser { return &socketParser{} },
}

type socketParser struct {
	m     Socket
	arena xtables.Arena[Socket]
}

func (p *socketParser) Begin(netfilter.Family) { p.m = Socket{} }

func (p *socketParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "transparent":
		p.m.Transparent = true
	case "nowildcard":
		p.m.NoWildcard = true
	case "restore-skmark":
		p.m.RestoreMark = true
	}
	return nil
}

func (p *socketParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
