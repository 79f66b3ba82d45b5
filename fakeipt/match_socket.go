package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchSocket is -m socket: an open socket would take the packet.
type MatchSocket struct {
	Transparent bool // only a socket with IP_TRANSPARENT
	NoWildcard  bool // sockets bound to any address too
	RestoreMark bool // the packet gets the mark of the socket
}

// Name is "socket".
func (*MatchSocket) Name() string { return "socket" }

func (m *MatchSocket) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, " --")
}

func (m *MatchSocket) appendList(dst []byte, _ listStyle) []byte {
	return m.appendOptions(append(dst, " socket"...), " --")
}

func (m *MatchSocket) appendOptions(dst []byte, prefix string) []byte {
	return appendFlags(dst, prefix, flagWord{"transparent", m.Transparent}, flagWord{"nowildcard", m.NoWildcard},
		flagWord{"restore-skmark", m.RestoreMark})
}

func (*MatchSocket) allowedHooks(bool) hookMask { return hookPrerouting | hookInput }

var socketExtension = &extension{
	name: "socket",
	options: []optionSpec{{name: "transparent", flag: true}, {name: "nowildcard", flag: true},
		{name: "restore-skmark", flag: true}},
	newMatch: func() matchParser { return &socketParser{} },
}

type socketParser struct {
	m     MatchSocket
	arena arena[MatchSocket]
}

func (p *socketParser) begin(netfilter.Family) { p.m = MatchSocket{} }

func (p *socketParser) option(o *optionCall) error {
	switch o.name {
	case "transparent":
		p.m.Transparent = true
	case "nowildcard":
		p.m.NoWildcard = true
	case "restore-skmark":
		p.m.RestoreMark = true
	}
	return nil
}

func (p *socketParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
