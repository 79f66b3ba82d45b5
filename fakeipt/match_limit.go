package fakeipt

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// MatchLimit is -m limit: a bucket of Burst packets that gains one each Interval.
type MatchLimit struct {
	// Interval is the time of one packet, in units of 1/10000 s.
	Interval uint32
	// Burst is the size of the bucket. The nft tools take 0 for 5.
	Burst uint32
}

const (
	limitScale    = 10000 // units of MatchLimit.Interval in a second
	limitBurst    = 5
	maxLimitBurst = 10000
)

// Name is "limit".
func (*MatchLimit) Name() string { return "limit" }

func (m *MatchLimit) appendSave(dst []byte, _ Family, d Dialect) []byte {
	n := m.in(d)
	dst = appendRate(append(dst, " --limit "...), uint64(n.Interval), limitScale)
	if n.Burst != limitBurst {
		dst = strconv.AppendUint(append(dst, " --limit-burst "...), uint64(n.Burst), 10)
	}
	return dst
}

func (m *MatchLimit) appendList(dst []byte, style listStyle) []byte {
	n := m.in(style.dialect)
	dst = appendRate(append(dst, " limit: avg "...), uint64(n.Interval), limitScale)
	return fmt.Appendf(dst, " burst %d", n.Burst)
}

// in is the match as the tools of a dialect read it back. The nft tools keep a
// whole number of packets in a unit of time, not the time of one packet.
func (m *MatchLimit) in(d Dialect) MatchLimit {
	n := *m
	if d == Legacy {
		return n
	}
	if n.Burst == 0 {
		n.Burst = limitBurst
	}
	unit := rateUnitOf(uint64(n.Interval), limitScale)
	n.Interval = uint32(unit / (unit / uint64(n.Interval)))
	return n
}

// rateUnits are the times that a rate is given for.
var rateUnits = [...]struct {
	name    string // as it is printed
	word    string // as it may be cut off
	seconds uint64
}{{"day", "day", 24 * 60 * 60}, {"hour", "hour", 60 * 60}, {"min", "minute", 60}, {"sec", "second", 1}}

// rateUnitOf is the unit of time in which the tools print a rate, in units of 1/scale s.
func rateUnitOf(period, scale uint64) uint64 {
	unit := rateUnits[0].seconds * scale
	for _, u := range rateUnits[1:] {
		next := u.seconds * scale
		if period > next || next/period < next%period {
			break
		}
		unit = next
	}
	return unit
}

// appendRate appends "N/UNIT" for one packet each period, in units of 1/scale s.
func appendRate(dst []byte, period, scale uint64) []byte {
	if period == 0 {
		return append(dst, "inf"...)
	}
	unit := rateUnitOf(period, scale)
	dst = strconv.AppendUint(dst, unit/period, 10)
	for _, u := range rateUnits {
		if u.seconds*scale == unit {
			dst = append(append(dst, '/'), u.name...)
		}
	}
	return dst
}

// parseRate reads "N[/UNIT]": the time of one packet in units of 1/scale s, and the
// seconds of the unit.
func parseRate(s []byte, scale uint64) (period, seconds uint64, ok bool, err error) {
	seconds = 1
	if _, unit, slash := bytes.Cut(s, []byte("/")); slash {
		if seconds = rateSeconds(unit); seconds == 0 {
			return 0, 0, false, nil
		}
	}
	n := uint64(libc.Atoi(s))
	if n == 0 {
		return 0, 0, false, nil
	}
	if period = scale * seconds / n; period == 0 {
		return 0, 0, false, badParameter("Rate too fast \"%s\"", s)
	}
	return period, seconds, true, nil
}

func rateSeconds(word []byte) uint64 {
	for i := len(rateUnits) - 1; i >= 0; i-- {
		u := &rateUnits[i]
		if len(word) > 0 && len(word) <= len(u.word) && strings.EqualFold(u.word[:len(word)], string(word)) {
			return u.seconds
		}
	}
	return 0
}

// limitCredits is what the kernel keeps of a time, with its clock of 250 ticks a second.
func limitCredits(units uint32) uint32 {
	const perSecond = 250 * 128
	if units > math.MaxUint32/perSecond {
		return units / limitScale * perSecond
	}
	return units * perSecond / limitScale
}

// check refuses a bucket that is too big for the kernel's counter.
func (m *MatchLimit) check(c *checkContext) syscall.Errno {
	if c.dialect == Legacy && (m.Burst == 0 || limitCredits(m.Interval*m.Burst) < limitCredits(m.Interval)) {
		return syscall.ERANGE
	}
	return 0
}

var limitExtension = &extension{
	name:     "limit",
	options:  []optionSpec{{name: "limit"}, {name: "limit-burst"}},
	newMatch: func() matchParser { return &limitParser{} },
}

type limitParser struct {
	m     MatchLimit
	arena arena[MatchLimit]
}

func (p *limitParser) begin(Family) {
	p.m = MatchLimit{Interval: limitScale * 3600 / 3, Burst: limitBurst}
}

func (p *limitParser) option(o *optionCall) error {
	if o.name == "limit-burst" {
		n, err := o.number("limit", 0, maxLimitBurst)
		p.m.Burst = uint32(n)
		return err
	}
	period, _, ok, err := parseRate(o.arg, limitScale)
	if err == nil && !ok {
		err = badParameter("bad rate \"%s\"'", o.arg)
	}
	p.m.Interval = uint32(period)
	return err
}

func (p *limitParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
