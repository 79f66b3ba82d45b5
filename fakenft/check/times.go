package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// units are those of a time such as 1d2h3m4s5ms, in milliseconds.
var units = [...]struct {
	sign, name string
	ms         uint64
}{{"d", "Day", 86400000}, {"h", "Hour", 3600000}, {"ms", "Millisecond", 1}, {"m", "Minute", 60000}, {"s", "Second", 1000}}

// readTime reads a time of units, or of seconds.
func readTime(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	ms, text := milliseconds(word)
	switch {
	case text != "":
		return syntax.Value{}, text
	case ms > 0xffffffff:
		return syntax.Value{}, "value too large"
	}
	v := num(ms)
	v.Type = t
	return v, ""
}

func milliseconds(word string) (uint64, string) {
	var sum uint64
	seen := [len(units)]bool{}
	any := false
	for at, rest := 0, word; ; {
		for at < len(rest) && rest[at] >= '0' && rest[at] <= '9' {
			at++
		}
		if at > 8 {
			return 0, "value too large"
		}
		if at == len(rest) {
			break
		}
		found := -1
		for i, u := range units {
			if u.sign == "ms" && rest[at:] == "ms" || u.sign != "ms" && rest[at:at+1] == u.sign {
				found = i
				break
			}
		}
		if found < 0 {
			return 0, "wrong time format"
		}
		u := units[found]
		if seen[found] {
			return 0, fmt.Sprintf("%s has been specified twice", u.name)
		}
		seen[found], any = true, true
		sum += uint64(uint32(libc.Atoi([]byte(rest[:at])))) * u.ms
		rest, at = rest[at+len(u.sign):], 0
	}
	if !any {
		return uint64(uint32(libc.Atoi([]byte(word)))) * 1000, ""
	}
	return sum, ""
}

// readDate reads a day with or without a time of it, in the zone of the machine (UTC), or seconds since 1970. The value is in nanoseconds.
func readDate(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, word); err == nil {
			return num(uint64(at.UnixNano())), ""
		}
	}
	n, rest, ok := libc.CutNumber([]byte(word))
	if !ok || len(rest) > 0 {
		return syntax.Value{}, "Cannot parse date"
	}
	return num(n * 1e9), ""
}

// readHour reads a time of day, in the zone of the machine (UTC), or seconds.
func readHour(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.Parse(layout, word); err == nil {
			return num(uint64(at.Hour()*3600 + at.Minute()*60 + at.Second())), ""
		}
	}
	n, rest, ok := libc.CutNumber([]byte(word))
	if !ok || len(rest) > 0 || strings.Contains(word, ":") {
		return syntax.Value{}, fmt.Sprintf("Can't parse trailing input: \"%s\"\n", string(rest))
	}
	return num(n), ""
}
