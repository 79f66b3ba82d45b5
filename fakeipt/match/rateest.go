package match

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// rateestMode is how -m rateest compares.
type rateestMode uint8

// The modes: --rateest-eq, --rateest-lt and --rateest-gt.
const (
	rateestEqual rateestMode = iota + 1
	rateestLess
	rateestGreater
)

// Rateest is -m rateest: a rate that -j RATEEST measures beside a number, or beside another rate.
type Rateest struct {
	// Estimators are the names of the measured rates. The second one counts if Relative is set.
	Estimators [2]string
	Relative   bool
	Mode       rateestMode // 0: not said
	Invert     bool
	// Bytes and Packets say that the rates of bytes and of packets in a second are asked about.
	Bytes, Packets bool
	// Delta is --rateest-delta: what the rates are below these is compared.
	Delta bool
	Bps   [2]uint32 // bytes in a second
	Pps   [2]uint32 // packets in a second
}

// Name is "rateest".
func (*Rateest) Name() string { return "rateest" }

func (m *Rateest) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = xtables.AppendFlags(dst, " --", xtables.WordIf("rateest-delta", m.Delta))
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
func (m *Rateest) appendRates(dst []byte, word string, rates [2]string) []byte {
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

func (m *Rateest) appendMode(dst []byte, prefix string) []byte {
	return append(xtables.AppendOption(dst, prefix, m.Invert), [...]string{"", "eq", "lt", "gt"}[m.Mode]...)
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

func (*Rateest) Tied() {}

func (m *Rateest) AppendList(dst []byte, style xtables.ListStyle) []byte {
	rate := func(n uint32) string {
		if style.Numeric {
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
	dst = xtables.AppendFlags(dst, " ", xtables.WordIf("delta", m.Delta))
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

// Check wants something to compare, and estimators that are there: a rule made them, or another match still holds them.
func (m *Rateest) Check(c *xtables.CheckContext) syscall.Errno {
	if !m.Bytes && !m.Packets || m.Mode == 0 {
		return syscall.EINVAL
	}
	names := m.Estimators[:1]
	if m.Relative {
		names = m.Estimators[:]
	}
	for _, name := range names {
		if !c.Elsewhere && !hasEstimator(c, name) {
			return syscall.ENOENT
		}
	}
	return 0
}

// estimating is a target that makes an estimator.
type estimating interface {
	// Estimates is the name of the estimator.
	Estimates() string
}

// hasEstimator says that another rule has made the estimator, or holds it.
func hasEstimator(c *xtables.CheckContext, name string) bool {
	for r := range c.Rules {
		if t, ok := r.Target.(estimating); ok && t.Estimates() == name && r != c.Rule {
			return true
		}
		for _, m := range r.Matches {
			if o, ok := m.(*Rateest); ok && r != c.Rule && (o.Estimators[0] == name || o.Relative && o.Estimators[1] == name) {
				return true
			}
		}
	}
	return false
}

var rateestExtension = &xtables.Extension{
	Name: "rateest",
	Options: []xtables.Option{
		{Name: "rateest1", Invert: true, Multi: true}, {Name: "rateest", AliasOf: "rateest1"},
		{Name: "rateest2", Invert: true, Multi: true},
		{Name: "rateest-bps1", Flag: true, Invert: true, Multi: true}, {Name: "rateest-pps1", Flag: true, Invert: true, Multi: true},
		{Name: "rateest-bps2", Flag: true, Invert: true, Multi: true}, {Name: "rateest-pps2", Flag: true, Invert: true, Multi: true},
		{Name: "rateest-bps", Flag: true, AliasOf: "rateest-bps2"}, {Name: "rateest-pps", Flag: true, AliasOf: "rateest-pps2"},
		{Name: "rateest-delta", Flag: true, Invert: true, Multi: true},
		{Name: "rateest-lt", Flag: true, Invert: true, Multi: true}, {Name: "rateest-gt", Flag: true, Invert: true, Multi: true},
		{Name: "rateest-eq", Flag: true, Invert: true, Multi: true},
	},
	NewMatch: func() xtables.MatchParser { return &rateestParser{} },
}

type rateestParser struct {
	m     Rateest
	given map[string]bool
	arena xtables.Arena[Rateest]
}

func (p *rateestParser) Begin(netfilter.Family) { p.m, p.given = Rateest{}, map[string]bool{} }

// Option has its own words for what may not be inverted or given twice.
func (p *rateestParser) Option(o *xtables.OptionCall) error {
	if mode, ok := map[string]rateestMode{"rateest-eq": rateestEqual, "rateest-lt": rateestLess, "rateest-gt": rateestGreater}[o.Name]; ok {
		if p.given[o.Name] {
			return xtables.BadParameter("rateest: can't specify lt/gt/eq twice")
		}
		p.given[o.Name] = true
		p.m.Mode, p.m.Invert = mode, p.m.Invert || o.Invert
		return nil
	}
	if o.Invert {
		return xtables.BadParameter("rateest: %s can't be inverted", strings.TrimRight(o.Name, "12"))
	}
	if p.given[o.Name] {
		return xtables.BadParameter("rateest: can't specify --%s twice", o.Name)
	}
	p.given[o.Name] = true
	switch place := strings.IndexByte("12", o.Name[len(o.Name)-1]); strings.TrimRight(o.Name, "12") {
	case "rateest":
		p.m.Estimators[place] = string(o.Arg[:min(len(o.Arg), MaxRateestName)])
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
func rateestNumber(to *uint32, o *xtables.OptionCall, word string, read func(arg []byte) (uint32, bool)) error {
	arg, ok := o.Next()
	if !ok {
		return nil
	}
	n, ok := read(arg)
	if !ok {
		return xtables.BadParameter("rateest: could not parse %s `%s'", word, arg)
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

func (p *rateestParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }

// MaxRateestName is the length of a name that the kernel keeps; the tool cuts the rest off.
const MaxRateestName = 15
