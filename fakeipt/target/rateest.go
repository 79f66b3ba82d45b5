package target

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Rateest is -j RATEEST: the packet counts for a rate that -m rateest asks for. The packet goes on.
type Rateest struct {
	Estimator string
	// The rate is measured each 2^Interval seconds, and averaged over about 2^EWMALog of these times.
	Interval int8
	EWMALog  uint8
}

// Estimates is the name of the estimator that it makes.
func (t *Rateest) Estimates() string { return t.Estimator }

// Name is "RATEEST".
func (*Rateest) Name() string { return "RATEEST" }

func (t *Rateest) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --rateest-")
}

func (t *Rateest) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return t.appendOptions(dst, " ")
}

func (t *Rateest) appendOptions(dst []byte, prefix string) []byte {
	interval := uint64(rateestSecond) << (t.Interval + 2) / 4
	dst = fmt.Appendf(dst, "%sname %s", prefix, t.Estimator)
	dst = appendRateestTime(append(append(dst, prefix...), "interval "...), uint32(interval))
	return appendRateestTime(append(append(dst, prefix...), "ewmalog "...), uint32(interval<<t.EWMALog))
}

func (*Rateest) Tied() {}

// rateestSecond is a second in the unit of RATEEST's times.
const rateestSecond = 1000000

func appendRateestTime(dst []byte, n uint32) []byte {
	if n >= rateestSecond {
		return fmt.Appendf(dst, "%.1fs", float64(n)/rateestSecond)
	}
	return fmt.Appendf(dst, "%.1fms", float64(n)/(rateestSecond/1000))
}

// Check: rules that name the same estimator say the same of it.
func (t *Rateest) Check(c *xtables.CheckContext) syscall.Errno {
	for r := range c.Rules {
		if o, ok := r.Target.(*Rateest); ok && o.Estimator == t.Estimator && *o != *t {
			return syscall.EINVAL
		}
	}
	return 0
}

var rateestExtension = &xtables.Extension{
	Name:      "RATEEST",
	Options:   []xtables.Option{{Name: "rateest-name", Mandatory: true}, {Name: "rateest-interval"}, {Name: "rateest-ewmalog"}},
	NewTarget: func() xtables.TargetParser { return &rateestParser{} },
}

type rateestParser struct {
	name           string
	interval, ewma float64
	arena          xtables.Arena[Rateest]
}

func (p *rateestParser) Begin(netfilter.Family) { p.name, p.interval, p.ewma = "", 0, 0 }

func (p *rateestParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "rateest-name":
		p.name = string(o.Arg[:min(len(o.Arg), match.MaxRateestName)])
	case "rateest-interval":
		p.interval, err = parseRateestTime(o, "interval")
	case "rateest-ewmalog":
		p.ewma, err = parseRateestTime(o, "ewmalog")
	}
	return err
}

// parseRateestTime reads a time with its unit; a number alone is microseconds.
func parseRateestTime(o *xtables.OptionCall, word string) (float64, error) {
	n, rest, ok := libc.CutFloat(o.Arg)
	unit, known := map[string]float64{"": 1, "s": rateestSecond, "sec": rateestSecond, "secs": rateestSecond,
		"ms": rateestSecond / 1000, "msec": rateestSecond / 1000, "msecs": rateestSecond / 1000,
		"us": 1, "usec": 1, "usecs": 1}[string(libc.Lower(rest))]
	if !ok || !known {
		return 0, xtables.BadParameter("RATEEST: bad %s value \"%s\"", word, o.Arg)
	}
	return float64(libc.Uint32(n * unit)), nil
}

// The kernel's intervals are a quarter of a second and up to 32 of those, by powers of 2.
const (
	rateestIntervals = 6
	maxRateestEWMA   = 31
)

func (p *rateestParser) Finish(uint32) (xtables.Target, error) {
	t := Rateest{Estimator: p.name}
	quarters := 0
	for quarters < rateestIntervals && p.interval > float64(int(1)<<quarters)*rateestSecond/4 {
		quarters++
	}
	if quarters == rateestIntervals {
		return nil, xtables.BadParameter("RATEEST: interval value is too large")
	}
	ewma := 1 // of which the tool shifts an int, the last time into its sign
	for ewma <= maxRateestEWMA && p.interval/-math.Log(1-1/float64(int32(1)<<ewma)) <= p.ewma {
		ewma++
	}
	if ewma == 1 || ewma >= maxRateestEWMA+1 {
		return nil, xtables.BadParameter("RATEEST: ewmalog value is out of range")
	}
	t.Interval, t.EWMALog = int8(quarters-2), uint8(ewma-1)
	return p.arena.Intern(t), nil
}
