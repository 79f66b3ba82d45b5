package match

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Time is -m time: when the packet came.
type Time struct {
	DateStart, DateStop uint32 // seconds since 1970, both included
	DayStart, DayStop   uint32 // seconds of the day, both included; it may start on one day and stop on the next
	MonthDays           uint32 // bit N is the day N
	WeekDays            uint8  // bit 1 is Monday, bit 7 is Sunday
	KernelTZ            bool   // times are in the kernel's time zone, not UTC
	Contiguous          bool   // a day that stops on the next one is one time, and the day that it started on counts
}

const (
	allMonthDays = math.MaxUint32 &^ 1
	allWeekDays  = math.MaxUint8 &^ 1
	lastOfDay    = 24*60*60 - 1
	lastDate     = math.MaxInt32
)

var weekDays = [...]string{1: "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// Name is "time".
func (*Time) Name() string { return "time" }

func (m *Time) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.partOfDay() {
		dst = appendDayTime(append(dst, " --timestart "...), m.DayStart)
		dst = appendDayTime(append(dst, " --timestop "...), m.DayStop)
	}
	if m.MonthDays != allMonthDays {
		dst = m.appendMonthDays(append(dst, " --monthdays "...), false)
	}
	if m.WeekDays != allWeekDays {
		dst = m.appendWeekDays(append(dst, " --weekdays "...))
	}
	dst = appendDate(dst, " --datestart ", m.DateStart, "2006-01-02T15:04:05")
	dst = appendDate(dst, " --datestop ", m.DateStop, "2006-01-02T15:04:05")
	return xtables.AppendFlags(dst, " --", xtables.WordIf("kerneltz", m.KernelTZ), xtables.WordIf("contiguous", m.Contiguous))
}

func (m *Time) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " TIME"...)
	if m.partOfDay() {
		dst = appendDayTime(append(dst, " from "...), m.DayStart)
		dst = appendDayTime(append(dst, " to "...), m.DayStop)
	}
	if m.WeekDays != allWeekDays {
		dst = m.appendWeekDays(append(dst, " on "...))
	}
	if m.MonthDays != allMonthDays {
		dst = m.appendMonthDays(append(dst, " on "...), true)
	}
	dst = appendDate(dst, " starting from ", m.DateStart, time.DateTime)
	if m.DateStop != lastDate {
		dst = appendDate(append(dst, " until date"...), " ", m.DateStop, time.DateTime)
	}
	return xtables.AppendFlags(dst, " ", xtables.WordIf("UTC", !m.KernelTZ), xtables.WordIf("contiguous", m.Contiguous))
}

// partOfDay says that the match is not for whole days.
func (m *Time) partOfDay() bool { return m.DayStart != 0 || m.DayStop != lastOfDay }

func appendDayTime(dst []byte, seconds uint32) []byte {
	return fmt.Appendf(dst, "%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

// appendDate appends a date that is not the first one.
func appendDate(dst []byte, word string, seconds uint32, layout string) []byte {
	if seconds == 0 {
		return dst
	}
	return time.Unix(int64(seconds), 0).UTC().AppendFormat(append(dst, word...), layout)
}

func (m *Time) appendWeekDays(dst []byte) []byte {
	between := ""
	for day := 1; day < len(weekDays); day++ {
		if m.WeekDays&(1<<day) != 0 {
			dst = append(append(dst, between...), weekDays[day]...)
			between = ","
		}
	}
	return dst
}

func (m *Time) appendMonthDays(dst []byte, ordinals bool) []byte {
	between := ""
	for day := 1; day < 32; day++ {
		if m.MonthDays&(1<<day) == 0 {
			continue
		}
		dst = strconv.AppendInt(append(dst, between...), int64(day), 10)
		between = ","
		if ordinals {
			dst = append(dst, ordinal(day)...)
		}
	}
	return dst
}

// ordinal is what the tools put behind a day.
func ordinal(day int) string {
	switch day % 10 {
	case 1:
		return "st"
	case 2:
		return "nd"
	case 3:
		return "rd"
	}
	return "th"
}

var timeExtension = &xtables.Extension{
	Name: "time",
	Options: []xtables.Option{
		{Name: "datestart"}, {Name: "datestop"}, {Name: "timestart"}, {Name: "timestop"},
		{Name: "monthdays", Invert: true}, {Name: "weekdays", Invert: true},
		{Name: "localtz", Flag: true, Excludes: 1 << 7}, {Name: "utc", Flag: true, Excludes: 1<<6 | 1<<8},
		{Name: "kerneltz", Flag: true, Excludes: 1 << 7}, {Name: "contiguous", Flag: true},
	},
	NewMatch: func() xtables.MatchParser { return &timeParser{} },
}

type timeParser struct {
	m     Time
	arena xtables.Arena[Time]
}

func (p *timeParser) Begin(netfilter.Family) {
	p.m = Time{DateStop: lastDate, DayStop: lastOfDay, MonthDays: allMonthDays, WeekDays: allWeekDays}
}

func (p *timeParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "datestart":
		p.m.DateStart, err = parseDate(o)
	case "datestop":
		p.m.DateStop, err = parseDate(o)
	case "timestart":
		p.m.DayStart, err = parseDayTime(o.Arg)
	case "timestop":
		p.m.DayStop, err = parseDayTime(o.Arg)
	case "monthdays":
		return p.monthDays(o)
	case "weekdays":
		return p.weekDays(o)
	case "localtz":
		o.Warn("WARNING: --localtz is being replaced by --kerneltz, since \"local\" is ambiguous. " +
			"Note the kernel timezone has caveats - see manpage for details.\n")
		p.m.KernelTZ = true
	case "kerneltz":
		p.m.KernelTZ = true
	case "contiguous":
		p.m.Contiguous = true
	}
	return err
}

// dateParts are the numbers of a date: what must stand behind one if it is not the last, and its greatest value.
var dateParts = [...]struct {
	end      byte
	min, max uint32
}{{'-', 1970, 2038}, {'-', 0, 12}, {'T', 0, 31}, {':', 0, 23}, {':', 0, 59}, {0, 0, 59}}

// parseDate reads YYYY[-MM[-DD[Thh[:mm[:ss]]]]].
func parseDate(o *xtables.OptionCall) (uint32, error) {
	parts := [len(dateParts)]uint32{1: 1, 2: 1}
	rest := o.Arg
	for i, part := range dateParts {
		var n uint64
		n, rest, _ = libc.CutDecimal(rest)
		if parts[i] = uint32(n); parts[i] < part.min || parts[i] > part.max || len(rest) > 0 && rest[0] != part.end {
			return 0, xtables.BadParameter("Invalid date \"%s\" specified. Should be YYYY[-MM[-DD[Thh[:mm[:ss]]]]]", o.Arg)
		}
		if len(rest) == 0 {
			break
		}
		rest = rest[1:]
	}
	date := time.Date(int(parts[0]), time.Month(parts[1]), int(parts[2]), int(parts[3]), int(parts[4]), int(parts[5]), 0, time.UTC)
	if date.Unix() < 0 {
		o.Warn("mktime: No such file or directory\n")
		return 0, &xtables.Problem{Status: xtables.StatusOther, Msg: "mktime returned an error"}
	}
	return uint32(date.Unix()), nil
}

// parseDayTime reads hh:mm[:ss].
func parseDayTime(arg []byte) (uint32, error) {
	var seconds uint32
	rest := arg
	for i, limit := range [...]uint32{23, 59, 59} {
		word := rest
		var n uint64
		n, rest, _ = libc.CutDecimal(word)
		last := i == 2 || i == 1 && len(rest) == 0
		if uint32(n) > limit || last != (len(rest) == 0) || !last && rest[0] != ':' {
			return 0, xtables.BadParameter("invalid time \"%s\" specified, should be hh:mm[:ss] format and within the boundaries", word)
		}
		seconds = seconds*60 + uint32(n)
		if i == 1 && last {
			return seconds * 60, nil
		}
		if !last {
			rest = rest[1:]
		}
	}
	return seconds, nil
}

// cutDay takes the next day from a list: at most so many letters of it are looked at.
func cutDay(list []byte, letters int) (day, rest []byte) {
	end := 0
	for end < len(list) && list[end] != ',' {
		end++
	}
	return list[:min(end, letters)], list[min(end+1, len(list)):]
}

func (p *timeParser) monthDays(o *xtables.OptionCall) error {
	var days uint32
	for day, list := []byte(nil), o.Arg; len(list) > 0; {
		day, list = cutDay(list, 2)
		n, ok := libc.WholeSigned(day)
		if !ok && len(day) > 0 || n > 31 {
			return xtables.BadParameter("%s is not a valid day for --monthdays", day)
		}
		days |= 1 << n
	}
	if o.Invert {
		days ^= allMonthDays
	}
	p.m.MonthDays = days
	return nil
}

func (p *timeParser) weekDays(o *xtables.OptionCall) error {
	var days uint8
	for day, list := []byte(nil), o.Arg; len(list) > 0; {
		day, list = cutDay(list, 3)
		n, err := parseWeekDay(day)
		if err != nil {
			return err
		}
		days |= uint8(1 << (n % 32))
	}
	if o.Invert {
		days ^= allWeekDays
	}
	p.m.WeekDays = days
	return nil
}

// parseWeekDay reads a number, of which the tool does not say what is too great, or the first two letters of a name.
func parseWeekDay(day []byte) (uint64, error) {
	n, ok := libc.WholeSigned(day)
	switch {
	case len(day) == 0 || ok && n == 0:
		return 0, xtables.BadParameter("No, the week does NOT begin with Sunday.")
	case ok:
		return n, nil
	}
	for i, name := range weekDays {
		if len(day) > 1 && i > 0 && name[:2] == string(day[:2]) {
			return uint64(i), nil
		}
	}
	return 0, xtables.BadParameter("%s is not a valid day specifier", day)
}

func (p *timeParser) Finish(uint32) (xtables.Match, error) {
	if p.m.Contiguous && p.m.DayStart < p.m.DayStop {
		return nil, xtables.BadParameter("time: --contiguous only makes sense when stoptime is smaller than starttime")
	}
	return p.arena.Intern(p.m), nil
}
