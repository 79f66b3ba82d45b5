package fakeipt

import (
	"math"
	"strconv"

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

// MatchStatistic is -m statistic.
type MatchStatistic struct {
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
func (*MatchStatistic) Name() string { return "statistic" }

func (m *MatchStatistic) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.Mode == StatisticRandom {
		dst = append(dst, " --mode random"...)
		return m.appendProbability(append(appendOption(dst, "--probability", m.Invert), ' '))
	}
	dst = append(dst, " --mode nth"...)
	dst = strconv.AppendUint(append(appendOption(dst, "--every", m.Invert), ' '), uint64(m.Every), 10)
	return strconv.AppendUint(append(dst, " --packet "...), uint64(m.Packet), 10)
}

func (m *MatchStatistic) appendProbability(dst []byte) []byte {
	return strconv.AppendFloat(dst, float64(m.Probability)/statisticUnit, 'f', 11, 64)
}

func (m *MatchStatistic) appendList(dst []byte, _ listStyle) []byte {
	if m.Mode == StatisticRandom {
		dst = append(dst, " statistic mode random"...)
		return m.appendProbability(append(appendOption(dst, "probability", m.Invert), ' '))
	}
	dst = append(dst, " statistic mode nth"...)
	dst = strconv.AppendUint(append(appendOption(dst, "every", m.Invert), ' '), uint64(m.Every), 10)
	if m.Packet != 0 {
		dst = strconv.AppendUint(append(dst, " packet "...), uint64(m.Packet), 10)
	}
	return dst
}

func (m *MatchStatistic) addFact(f *netfilter.Fact) {
	addOther(&f.Conditions, m.Name())
	f.Conditions.Chance = f.Conditions.Chance || m.Mode == StatisticRandom
}

var statisticExtension = &extension{
	name: "statistic",
	options: []optionSpec{
		{name: "mode", mandatory: true},
		{name: "probability", invert: true, requires: 1 << 0, excludes: 1<<2 | 1<<3},
		{name: "every", invert: true, requires: 1<<0 | 1<<3, excludes: 1 << 1},
		{name: "packet", requires: 1<<0 | 1<<2, excludes: 1 << 1},
	},
	newMatch: func() matchParser { return &statisticParser{} },
}

type statisticParser struct {
	m MatchStatistic
	// shared is where the tool keeps both the probability and the last of a round's numbers, whichever was given last.
	shared uint32
	arena  arena[MatchStatistic]
}

func (p *statisticParser) begin(netfilter.Family) { p.m, p.shared = MatchStatistic{}, 0 }

func (p *statisticParser) option(o *optionCall) error {
	switch o.name {
	case "mode":
		return p.mode(o.arg)
	case "probability":
		f, ok := libc.WholeFloat(o.arg)
		if !ok || f < 0 || f > 1 {
			return badParameter("statistic: bad value for option \"--%s\", or out of range (0-1).\n", o.name)
		}
		// What is not a number becomes 0, as in the tool.
		p.m.Probability = uint32(int64(math.Round(max(f, 0) * statisticUnit)))
		p.shared = p.m.Probability
		p.m.Invert = p.m.Invert || o.invert
	case "every":
		n, err := o.number(1, math.MaxUint32)
		if err != nil {
			return err
		}
		p.m.Every = uint32(n)
		p.shared = p.m.Every - 1
		p.m.Invert = p.m.Invert || o.invert
	case "packet":
		n, err := o.number(0, math.MaxUint32)
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
		return badParameter("Bad mode \"%s\"", arg)
	}
	return nil
}

func (p *statisticParser) finish(seen uint32) (Match, error) {
	switch {
	case p.m.Mode == StatisticRandom && seen&(1<<1) == 0:
		return nil, badParameter("--probability must be specified when using random mode")
	case p.m.Mode == StatisticNth && seen&(1<<2|1<<3) == 0:
		return nil, badParameter("--every and --packet must be specified when using nth mode")
	case p.m.Packet > p.shared:
		return nil, badParameter("the --packet p must be 0 <= p <= n-1")
	}
	return p.arena.intern(p.m), nil
}
