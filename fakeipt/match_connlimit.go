package fakeipt

import (
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchConnlimit is -m connlimit: more connections than Limit of one address or network, or with Upto at most so many.
type MatchConnlimit struct {
	Limit uint32
	Upto  bool
	// Prefix is the length of the prefix under which addresses are one.
	Prefix uint8
	// PrefixGiven says that --connlimit-mask gave a prefix (IPv4). The tools take a rule without it for another rule,
	// though it is saved alike.
	PrefixGiven bool
	Dest        bool // --connlimit-daddr
}

// Name is "connlimit".
func (*MatchConnlimit) Name() string { return "connlimit" }

func (m *MatchConnlimit) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	option, side := "above", "saddr"
	if m.Upto {
		option = "upto"
	}
	if m.Dest {
		side = "daddr"
	}
	return fmt.Appendf(dst, " --connlimit-%s %d --connlimit-mask %d --connlimit-%s", option, m.Limit, m.Prefix, side)
}

func (m *MatchConnlimit) appendList(dst []byte, _ listStyle) []byte {
	side, sign := "src", ">"
	if m.Dest {
		side = "dst"
	}
	if m.Upto {
		sign = "<="
	}
	return fmt.Appendf(dst, " #conn %s/%d %s %d", side, m.Prefix, sign, m.Limit)
}

var connlimitExtension = &extension{
	name: "connlimit",
	options: []optionSpec{
		{name: "connlimit-upto", invert: true, excludes: 1 << 1}, {name: "connlimit-above", invert: true, excludes: 1 << 0},
		{name: "connlimit-mask"},
		{name: "connlimit-saddr", flag: true, excludes: 1 << 4}, {name: "connlimit-daddr", flag: true, excludes: 1 << 3},
	},
	newMatch: func() matchParser { return &connlimitParser{} },
}

type connlimitParser struct {
	m     MatchConnlimit
	arena arena[MatchConnlimit]
}

func (p *connlimitParser) begin(f netfilter.Family) {
	p.m = MatchConnlimit{Prefix: uint8(factsOf(f).bits)}
}

func (p *connlimitParser) option(o *optionCall) error {
	switch o.name {
	case "connlimit-mask":
		n, err := o.prefixLength(o.arg)
		if n != noPrefix {
			p.m.Prefix, p.m.PrefixGiven = n, o.family == netfilter.IPv4
		}
		return err
	case "connlimit-daddr":
		p.m.Dest = true
	case "connlimit-upto", "connlimit-above":
		n, err := o.number(0, math.MaxUint32)
		p.m.Limit, p.m.Upto = uint32(n), (o.name == "connlimit-upto") != o.invert
		return err
	}
	return nil
}

func (p *connlimitParser) finish(seen uint32) (Match, error) {
	if seen&(1<<0|1<<1) == 0 {
		return nil, badParameter("You must specify \"--connlimit-above\" or \"--connlimit-upto\".")
	}
	return p.arena.intern(p.m), nil
}
