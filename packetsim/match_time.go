package packetsim

import (
	"errors"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errNoTimeZone = errors.New("host: the kernel's time zone is not known: a rule asks for the time in it (--kerneltz)")

const secondsOfDay = 24 * 60 * 60

// matchTime is -m time, by the host's clock (net/netfilter/xt_time.c).
func (mt *matcher) matchTime(m *match.Time) bool {
	if m.KernelTZ {
		mt.fail(errNoTimeZone)
		return false
	}
	now := mt.memory.clock.Now().Unix()
	if now < int64(m.DateStart) || now > int64(m.DateStop) {
		return false
	}
	ofDay := uint32(now % secondsOfDay)
	switch {
	case m.DayStart < m.DayStop:
		if ofDay < m.DayStart || ofDay > m.DayStop {
			return false
		}
	case ofDay < m.DayStart && ofDay > m.DayStop:
		return false
	case m.Contiguous && ofDay <= m.DayStop:
		now -= secondsOfDay
	}
	date := time.Unix(now, 0).UTC()
	day := date.Weekday()
	if day == time.Sunday {
		day = 7
	}
	return m.WeekDays&(1<<day) != 0 && m.MonthDays&(1<<date.Day()) != 0
}
