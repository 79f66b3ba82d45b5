package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchRPFilter is -m rpfilter: a reply would leave by the device that the packet came in by.
type MatchRPFilter struct {
	Loose       bool // any device will do
	ValidMark   bool // the packet's mark is used for the route
	AcceptLocal bool // packets from the host's own addresses match
	Invert      bool
}

// Name is "rpfilter".
func (*MatchRPFilter) Name() string { return "rpfilter" }

func (m *MatchRPFilter) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, " --")
}

func (m *MatchRPFilter) appendList(dst []byte, _ listStyle) []byte {
	return m.appendOptions(append(dst, " rpfilter"...), " ")
}

func (m *MatchRPFilter) appendOptions(dst []byte, prefix string) []byte {
	return appendFlags(dst, prefix, flagWord{"loose", m.Loose}, flagWord{"validmark", m.ValidMark},
		flagWord{"accept-local", m.AcceptLocal}, flagWord{"invert", m.Invert})
}

func (*MatchRPFilter) check(c *checkContext) syscall.Errno {
	if c.table.name != "raw" && c.table.name != "mangle" {
		return syscall.EINVAL
	}
	return 0
}

func (*MatchRPFilter) allowedHooks(bool) hookMask { return hookPrerouting }

var rpfilterExtension = &extension{
	name: "rpfilter",
	options: []optionSpec{{name: "loose", flag: true}, {name: "validmark", flag: true}, {name: "accept-local", flag: true},
		{name: "invert", flag: true}},
	newMatch: func() matchParser { return &rpfilterParser{} },
}

type rpfilterParser struct {
	m     MatchRPFilter
	arena arena[MatchRPFilter]
}

func (p *rpfilterParser) begin(netfilter.Family) { p.m = MatchRPFilter{} }

func (p *rpfilterParser) option(o *optionCall) error {
	switch o.name {
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

func (p *rpfilterParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
