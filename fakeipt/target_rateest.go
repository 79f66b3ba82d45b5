package fakeipt

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetRateest is -j RATEEST: the packet counts for a rate that -m rateest asks for. The packet goes on.
type TargetRateest struct {
	Estimator string
	// The rate is measured each 2^Interval seconds, and averaged over about 2^EWMALog of these times.
	Interval int8
	EWMALog  uint8
}

// Name is "RATEEST".
func (*TargetRateest) Name() string { return "RATEEST" }

func (t *TargetRateest) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --rateest-")
}

func (t *TargetRateest) appendList(dst []byte, _ listStyle) []byte {
	return t.appendOptions(dst, " ")
}

func (t *TargetRateest) appendOptions(dst []byte, prefix string) []byte {
	interval := uint64(rateestSecond) << (t.Interval + 2) / 4
	dst = fmt.Appendf(dst, "%sname %s", prefix, t.Estimator)
	dst = appendRateestTime(append(append(dst, prefix...), "interval "...), uint32(interval))
	return appendRateestTime(append(append(dst, prefix...), "ewmalog "...), uint32(interval<<t.EWMALog))
}

func (*TargetRateest) tied() {}

// rateestSecond is a second in the unit of RATEEST's times.
const rateestSecond = 1000000

func appendRateestTime(dst []byte, n uint32) []byte {
	if n >= rateestSecond {
		return fmt.Appendf(dst, "%.1fs", float64(n)/rateestSecond)
	}
	return fmt.Appendf(dst, "%.1fms", float64(n)/(rateestSecond/1000))
}

// check: rules that name the same estimator say the same of it.
func (t *TargetRateest) check(c *checkContext) syscall.Errno {
	for r := range c.rules {
		if o, ok := r.Target.(*TargetRateest); ok && o.Estimator == t.Estimator && *o != *t {
			return syscall.EINVAL
		}
	}
	return 0
}

var rateestTargetExtension = &extension{
	name:      "RATEEST",
	options:   []optionSpec{{name: "rateest-name", mandatory: true}, {name: "rateest-interval"}, {name: "rateest-ewmalog"}},
	newTarget: func() targetParser { return &rateestTargetParser{} },
}

type rateestTargetParser struct {
	name           string
	interval, ewma float64
	arena          arena[TargetRateest]
}

func (p *rateestTargetParser) begin(netfilter.Family) { p.name, p.interval, p.ewma = "", 0, 0 }

// maxRateestName is the length of a name that the kernel keeps; the tool cuts the rest off.
const maxRateestName = 15

func (p *rateestTargetParser) option(o *optionCall) (err error) {
	switch o.name {
	case "rateest-name":
		p.name = string(o.arg[:min(len(o.arg), maxRateestName)])
	case "rateest-interval":
		p.interval, err = parseRateestTime(o, "interval")
	case "rateest-ewmalog":
		p.ewma, err = parseRateestTime(o, "ewmalog")
	}
	return err
}

// parseRateestTime reads a time with its unit; a number alone is microseconds.
func parseRateestTime(o *optionCall, word string) (float64, error) {
	n, rest, ok := libc.CutFloat(o.arg)
	unit, known := map[string]float64{"": 1, "s": rateestSecond, "sec": rateestSecond, "secs": rateestSecond,
		"ms": rateestSecond / 1000, "msec": rateestSecond / 1000, "msecs": rateestSecond / 1000,
		"us": 1, "usec": 1, "usecs": 1}[string(libc.Lower(rest))]
	if !ok || !known {
		return 0, badParameter("RATEEST: bad %s value \"%s\"", word, o.arg)
	}
	return float64(libc.Uint32(n * unit)), nil
}

// The kernel's intervals are a quarter of a second and up to 32 of those, by powers of 2.
const (
	rateestIntervals = 6
	maxRateestEWMA   = 31
)

func (p *rateestTargetParser) finish(uint32) (Target, error) {
	t := TargetRateest{Estimator: p.name}
	quarters := 0
	for quarters < rateestIntervals && p.interval > float64(int(1)<<quarters)*rateestSecond/4 {
		quarters++
	}
	if quarters == rateestIntervals {
		return nil, badParameter("RATEEST: interval value is too large")
	}
	ewma := 1 // of which the tool shifts an int, the last time into its sign
	for ewma <= maxRateestEWMA && p.interval/-math.Log(1-1/float64(int32(1)<<ewma)) <= p.ewma {
		ewma++
	}
	if ewma == 1 || ewma >= maxRateestEWMA+1 {
		return nil, badParameter("RATEEST: ewmalog value is out of range")
	}
	t.Interval, t.EWMALog = int8(quarters-2), uint8(ewma-1)
	return p.arena.intern(t), nil
}
