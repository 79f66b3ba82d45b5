package fakeipt

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// RateestMode is how -m rateest compares.
type RateestMode uint8

// The modes: --rateest-eq, --rateest-lt and --rateest-gt.
const (
	RateestEqual RateestMode = iota + 1
	RateestLess
	RateestGreater
)

// MatchRateest is -m rateest: a rate that -j RATEEST measures beside a number, or beside another rate.
type MatchRateest struct {
	// Estimators are the names of the measured rates. The second one counts if Relative is set.
	Estimators [2]string
	Relative   bool
	Mode       RateestMode // 0: not said
	Invert     bool
	// Bytes and Packets say that the rates of bytes and of packets in a second are asked about.
	Bytes, Packets bool
	// Delta is --rateest-delta: what the rates are below these is compared.
	Delta bool
	Bps   [2]uint32 // bytes in a second
	Pps   [2]uint32 // packets in a second
}

// Name is "rateest".
func (*MatchRateest) Name() string { return "rateest" }

func (m *MatchRateest) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = appendFlags(dst, " --", flagWord{"rateest-delta", m.Delta})
	first := "rateest"
	if m.Relative {
		first = "rateest1"
	}
	dst = append(append(append(dst, " --"...), first...), ' ')
	dst = append(dst, m.Estimators[0]...)
	if m.Bytes {
		dst = m.appendRates(dst, "bps", [2]string{bitRate(m.Bps[0]), bitRate(m.Bps[1])})
	}
	if m.Packets {
		dst = m.appendRates(dst, "pps", [2]string{fmt.Sprint(m.Pps[0]), fmt.Sprint(m.Pps[1])})
	}
	if m.Relative {
		dst = append(append(dst, " --rateest2 "...), m.Estimators[1]...)
	}
	return dst
}

// appendRates appends the comparison, with the rates that count.
func (m *MatchRateest) appendRates(dst []byte, word string, rates [2]string) []byte {
	second := word
	if m.Delta {
		dst = fmt.Appendf(dst, " --rateest-%s1 %s", word, rates[0])
		second += "2"
	}
	dst = fmt.Appendf(m.appendMode(dst, "--rateest-"), " --rateest-%s", second)
	if !m.Relative || m.Delta {
		dst = append(append(dst, ' '), rates[1]...)
	}
	return dst
}

func (m *MatchRateest) appendMode(dst []byte, prefix string) []byte {
	return append(appendOption(dst, prefix, m.Invert), [...]string{"", "eq", "lt", "gt"}[m.Mode]...)
}

// bitRate is a rate in bits.
func bitRate(bytes uint32) string {
	const kilo, mega, giga = 1e3, 1e6, 1e9
	switch n := float64(bytes) * 8; {
	case n >= giga:
		return fmt.Sprintf("%.0fMbit", n/mega)
	case n >= mega:
		return fmt.Sprintf("%.0fKbit", n/kilo)
	default:
		return fmt.Sprintf("%.0fbit", n)
	}
}

func (*MatchRateest) tied() {}

func (m *MatchRateest) appendList(dst []byte, style listStyle) []byte {
	rate := func(n uint32) string {
		if style.numeric {
			return fmt.Sprint(n)
		}
		return bitRate(n)
	}
	bps, pps := [2]string{rate(m.Bps[0]), rate(m.Bps[1])}, [2]string{fmt.Sprint(m.Pps[0]), fmt.Sprint(m.Pps[1])}
	side := func(word string, asked bool, number string) {
		if asked {
			dst = append(append(dst, ' '), word...)
			if m.Delta {
				dst = append(append(dst, ' '), number...)
			}
		}
	}
	dst = append(append(dst, " rateest match "...), m.Estimators[0]...)
	dst = appendFlags(dst, " ", flagWord{"delta", m.Delta})
	side("bps", m.Bytes, bps[0])
	if m.Bytes && !m.Relative {
		dst = m.appendMode(append(append(dst, ' '), bps[1]...), "")
	}
	side("pps", m.Packets, pps[0])
	if m.Packets && !m.Relative {
		dst = append(append(m.appendMode(dst, ""), ' '), pps[1]...)
	}
	if m.Relative {
		dst = append(append(m.appendMode(dst, ""), ' '), m.Estimators[1]...)
		side("bps", m.Bytes, bps[1])
		side("pps", m.Packets, pps[1])
	}
	return dst
}

// check wants something to compare, and estimators that are there: a rule made them, or another match still holds them.
func (m *MatchRateest) check(c *checkContext) syscall.Errno {
	if !m.Bytes && !m.Packets || m.Mode == 0 {
		return syscall.EINVAL
	}
	names := m.Estimators[:1]
	if m.Relative {
		names = m.Estimators[:]
	}
	for _, name := range names {
		if !c.elsewhere && !c.hasEstimator(name) {
			return syscall.ENOENT
		}
	}
	return 0
}

// hasEstimator says that another rule has made the estimator, or holds it.
func (c *checkContext) hasEstimator(name string) bool {
	for r := range c.rules {
		if t, ok := r.Target.(*TargetRateest); ok && t.Estimator == name && r != c.rule {
			return true
		}
		for _, m := range r.Matches {
			if o, ok := m.(*MatchRateest); ok && r != c.rule && (o.Estimators[0] == name || o.Relative && o.Estimators[1] == name) {
				return true
			}
		}
	}
	return false
}

var rateestExtension = &extension{
	name: "rateest",
	options: []optionSpec{
		{name: "rateest1", invert: true, multi: true}, {name: "rateest", aliasOf: "rateest1"},
		{name: "rateest2", invert: true, multi: true},
		{name: "rateest-bps1", flag: true, invert: true, multi: true}, {name: "rateest-pps1", flag: true, invert: true, multi: true},
		{name: "rateest-bps2", flag: true, invert: true, multi: true}, {name: "rateest-pps2", flag: true, invert: true, multi: true},
		{name: "rateest-bps", flag: true, aliasOf: "rateest-bps2"}, {name: "rateest-pps", flag: true, aliasOf: "rateest-pps2"},
		{name: "rateest-delta", flag: true, invert: true, multi: true},
		{name: "rateest-lt", flag: true, invert: true, multi: true}, {name: "rateest-gt", flag: true, invert: true, multi: true},
		{name: "rateest-eq", flag: true, invert: true, multi: true},
	},
	newMatch: func() matchParser { return &rateestParser{} },
}

type rateestParser struct {
	m     MatchRateest
	given map[string]bool
	arena arena[MatchRateest]
}

func (p *rateestParser) begin(netfilter.Family) { p.m, p.given = MatchRateest{}, map[string]bool{} }

// option has its own words for what may not be inverted or given twice.
func (p *rateestParser) option(o *optionCall) error {
	if mode, ok := map[string]RateestMode{"rateest-eq": RateestEqual, "rateest-lt": RateestLess, "rateest-gt": RateestGreater}[o.name]; ok {
		if p.given[o.name] {
			return badParameter("rateest: can't specify lt/gt/eq twice")
		}
		p.given[o.name] = true
		p.m.Mode, p.m.Invert = mode, p.m.Invert || o.invert
		return nil
	}
	if o.invert {
		return badParameter("rateest: %s can't be inverted", strings.TrimRight(o.name, "12"))
	}
	if p.given[o.name] {
		return badParameter("rateest: can't specify --%s twice", o.name)
	}
	p.given[o.name] = true
	switch place := strings.IndexByte("12", o.name[len(o.name)-1]); strings.TrimRight(o.name, "12") {
	case "rateest":
		p.m.Estimators[place] = string(o.arg[:min(len(o.arg), maxRateestName)])
		p.m.Relative = p.m.Relative || place == 1
	case "rateest-bps":
		p.m.Bytes = true
		return rateestNumber(&p.m.Bps[place], o, "rate", parseBitRate)
	case "rateest-pps":
		p.m.Packets = true
		return rateestNumber(&p.m.Pps[place], o, "pps", func(arg []byte) (uint32, bool) {
			n, ok := libc.WholeNumber(arg, math.MaxUint32)
			return uint32(n), ok
		})
	case "rateest-delta":
		p.m.Delta = true
	}
	return nil
}

// rateestNumber reads the number behind an option, if there is one.
func rateestNumber(to *uint32, o *optionCall, word string, read func(arg []byte) (uint32, bool)) error {
	arg, ok := o.next()
	if !ok {
		return nil
	}
	n, ok := read(arg)
	if !ok {
		return badParameter("rateest: could not parse %s `%s'", word, arg)
	}
	*to = n
	return nil
}

// bitRateUnits are the units of a rate in bits of a second, by their names in small letters.
var bitRateUnits = map[string]float64{
	"bit": 1, "kibit": 1 << 10, "kbit": 1e3, "mibit": 1 << 20, "mbit": 1e6, "gibit": 1 << 30, "gbit": 1e9, "tibit": 1 << 40, "tbit": 1e12,
	"": 1, "bps": 8, "kibps": 8 << 10, "kbps": 8e3, "mibps": 8 << 20, "mbps": 8e6, "gibps": 8 << 30,
	"gbps": 8e9, "tibps": 8 << 40, "tbps": 8e12,
}

// parseBitRate reads a rate with its unit; a number alone is bits. What is too big loses its upper bits, as in the tool.
func parseBitRate(arg []byte) (uint32, bool) {
	n, rest, ok := libc.CutFloat(arg)
	unit, known := bitRateUnits[string(libc.Lower(rest))]
	return libc.Uint32(n * unit / 8), ok && known
}

func (p *rateestParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
