package match

import (
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Connlimit is -m connlimit: more connections than Limit of one address or network, or with Upto at most so many.
type Connlimit struct {
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
func (*Connlimit) Name() string { return "connlimit" }

func (m *Connlimit) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	option, side := "above", "saddr"
	if m.Upto {
		option = "upto"
	}
	if m.Dest {
		side = "daddr"
	}
	return fmt.Appendf(dst, " --connlimit-%s %d --connlimit-mask %d --connlimit-%s", option, m.Limit, m.Prefix, side)
}

func (m *Connlimit) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	side, sign := "src", ">"
	if m.Dest {
		side = "dst"
	}
	if m.Upto {
		sign = "<="
	}
	return fmt.Appendf(dst, " #conn %s/%d %s %d", side, m.Prefix, sign, m.Limit)
}

var connlimitExtension = &xtables.Extension{
	Name: "connlimit",
	Options: []xtables.Option{
		{Name: "connlimit-upto", Invert: true, Excludes: 1 << 1}, {Name: "connlimit-above", Invert: true, Excludes: 1 << 0},
		{Name: "connlimit-mask"},
		{Name: "connlimit-saddr", Flag: true, Excludes: 1 << 4}, {Name: "connlimit-daddr", Flag: true, Excludes: 1 << 3},
	},
	NewMatch: func() xtables.MatchParser { return &connlimitParser{} },
}

type connlimitParser struct {
	m     Connlimit
	arena xtables.Arena[Connlimit]
}

func (p *connlimitParser) Begin(f netfilter.Family) {
	p.m = Connlimit{Prefix: uint8(xtables.FactsOf(f).Bits)}
}

func (p *connlimitParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "connlimit-mask":
		n, err := o.PrefixLength(o.Arg)
		if n != xtables.NoPrefix {
			p.m.Prefix, p.m.PrefixGiven = n, o.Family == netfilter.IPv4
		}
		return err
	case "connlimit-daddr":
		p.m.Dest = true
	case "connlimit-upto", "connlimit-above":
		n, err := o.Number(0, math.MaxUint32)
		p.m.Limit, p.m.Upto = uint32(n), (o.Name == "connlimit-upto") != o.Invert
		return err
	}
	return nil
}

func (p *connlimitParser) Finish(seen uint32) (xtables.Match, error) {
	if seen&(1<<0|1<<1) == 0 {
		return nil, xtables.BadParameter("You must specify \"--connlimit-above\" or \"--connlimit-upto\".")
	}
	return p.arena.Intern(p.m), nil
}
