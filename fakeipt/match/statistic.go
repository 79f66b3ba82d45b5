package match

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// StatisticMode is --mode of -m statistic.
type StatisticMode uint8

// The modes.
const (
	StatisticRandom StatisticMode = iota
	StatisticNth
)

// Statistic is -m statistic.
type Statistic struct {
	Mode   StatisticMode
	Invert bool
	// Probability of StatisticRandom in units of 1/2^31, as the kernel keeps it.
	Probability uint32
	// Every and Packet of StatisticNth: one of each Every packets, the first one after Packet others.
	Every, Packet uint32
}

// statisticUnit is the Probability that is certain.
const statisticUnit = 1 << 31

// Name is "statistic".
func (*Statistic) Name() string { return "statistic" }

func (m *Statistic) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.Mode == StatisticRandom {
		dst = append(dst, " --mode random"...)
		return m.appendProbability(append(xtables.AppendOption(dst, "--probability", m.Invert), ' '))
	}
	dst = append(dst, " --mode nth"...)
	dst = strconv.AppendUint(append(xtables.AppendOption(dst, "--every", m.Invert), ' '), uint64(m.Every), 10)
	return strconv.AppendUint(append(dst, " --packet "...), uint64(m.Packet), 10)
}

func (m *Statistic) appendProbability(dst []byte) []byte {
	return strconv.AppendFloat(dst, float64(m.Probability)/statisticUnit, 'f', 11, 64)
}

func (m *Statistic) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	if m.Mode == StatisticRandom {
		dst = append(dst, " statistic mode random"...)
		return m.appendProbability(append(xtables.AppendOption(dst, "probability", m.Invert), ' '))
	}
	dst = append(dst, " statistic mode nth"...)
	dst = strconv.AppendUint(append(xtables.AppendOption(dst, "every", m.Invert), ' '), uint64(m.Every), 10)
	if m.Packet != 0 {
		dst = strconv.AppendUint(append(dst, " packet "...), uint64(m.Packet), 10)
	}
	return dst
}

func (m *Statistic) AddFact(f *netfilter.Fact) {
	xtables.AddOther(&f.Conditions, m.Name())
	f.Conditions.Chance = f.Conditions.Chance || m.Mode == StatisticRandom
}

var statisticExtension = &xtables.Extension{
	Name: "statistic",
	Options: []xtables.Option{
		{Name: "mode", Mandatory: true},
		{Name: "probability", Invert: true, Requires: 1 << 0, Excludes: 1<<2 | 1<<3},
		{Name: "every", Invert: true, Requires: 1<<0 | 1<<3, Excludes: 1 << 1},
		{Name: "packet", Requires: 1<<0 | 1<<2, Excludes: 1 << 1},
	},
	NewMatch: func() xtables.MatchParser { return &statisticParser{} },
}

type statisticParser struct {
	m Statistic
	// shared is where the tool keeps both the probability and the last of a round's numbers, whichever was given last.
	shared uint32
	arena  xtables.Arena[Statistic]
}

func (p *statisticParser) Begin(netfilter.Family) { p.m, p.shared = Statistic{}, 0 }

func (p *statisticParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "mode":
		return p.mode(o.Arg)
	case "probability":
		f, ok := libc.WholeFloat(o.Arg)
		if !ok || f < 0 || f > 1 {
			return xtables.BadParameter("statistic: bad value for option \"--%s\", or out of range (0-1).\n", o.Name)
		}
		// What is not a number becomes 0, as in the tool.
		p.m.Probability = uint32(int64(math.Round(max(f, 0) * statisticUnit)))
		p.shared = p.m.Probability
		p.m.Invert = p.m.Invert || o.Invert
	case "every":
		n, err := o.Number(1, math.MaxUint32)
		if err != nil {
			return err
		}
		p.m.Every = uint32(n)
		p.shared = p.m.Every - 1
		p.m.Invert = p.m.Invert || o.Invert
	case "packet":
		n, err := o.Number(0, math.MaxUint32)
		if err != nil {
			return err
		}
		p.m.Packet = uint32(n)
	}
	return nil
}

func (p *statisticParser) mode(arg []byte) error {
	switch string(arg) {
	case "random":
		p.m.Mode = StatisticRandom
	case "nth":
		p.m.Mode = StatisticNth
	default:
		return xtables.BadParameter("Bad mode \"%s\"", arg)
	}
	return nil
}

func (p *statisticParser) Finish(seen uint32) (xtables.Match, error) {
	switch {
	case p.m.Mode == StatisticRandom && seen&(1<<1) == 0:
		return nil, xtables.BadParameter("--probability must be specified when using random mode")
	case p.m.Mode == StatisticNth && seen&(1<<2|1<<3) == 0:
		return nil, xtables.BadParameter("--every and --packet must be specified when using nth mode")
	case p.m.Packet > p.shared:
		return nil, xtables.BadParameter("the --packet p must be 0 <= p <= n-1")
	}
	return p.arena.Intern(p.m), nil
}
