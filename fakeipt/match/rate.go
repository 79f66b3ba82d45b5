package match

import (
	"bytes"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

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

// parseRate reads "N[/UNIT]", of which the caller has read N: the time of one packet in units of 1/scale s, and the seconds of
// the unit.
func parseRate(s []byte, n, scale uint64) (period, seconds uint64, ok bool, err error) {
	seconds = 1
	if _, unit, slash := bytes.Cut(s, []byte("/")); slash {
		if seconds = rateSeconds(unit); seconds == 0 {
			return 0, 0, false, nil
		}
	}
	if n == 0 {
		return 0, 0, false, nil
	}
	if period = scale * seconds / n; period == 0 {
		return 0, 0, false, xtables.BadParameter("Rate too fast \"%s\"", s)
	}
	return period, seconds, true, nil
}

func rateSeconds(word []byte) uint64 {
	for i := len(rateUnits) - 1; i >= 0; i-- {
		u := &rateUnits[i]
		if len(word) > 0 && xtables.BeginsLike(u.word, word) {
			return u.seconds
		}
	}
	return 0
}
