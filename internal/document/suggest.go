package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Suggest says which of the known words was probably meant, as the end of an
// error message.
func Suggest(name string, known []string) string {
	nearest, least := "", 3
	for _, n := range known {
		away := distance(strings.ToLower(n), strings.ToLower(name))
		if away < least && (away == 0 || len(name) > 2) {
			nearest, least = n, away
		}
	}
	if nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	if len(known) > 0 && len(known) <= 16 {
		return fmt.Sprintf(" (known: %s)", strings.Join(known, ", "))
	}
	return ""
}

// timeUnits are words for units of time, as people write them, and Go's.
var timeUnits = map[string]time.Duration{
	"": time.Second, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"ms": time.Millisecond, "msec": time.Millisecond, "m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute,
	"minutes": time.Minute, "h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour,
}

// SuggestTime says which time was probably meant by a text that is none to Go, as the end of an error message: 10s by "10", 2h by "2
// hours". It is empty where the text is not a number with a unit or without one.
func SuggestTime(text string) string {
	number := strings.TrimSpace(strings.TrimRight(text, " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	unit, known := timeUnits[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(text, number)))]
	n, err := strconv.ParseFloat(number, 64)
	if !known || err != nil || math.Abs(n)*float64(unit) > math.MaxInt64/2 {
		return ""
	}
	meant := time.Duration(n * float64(unit)).String()
	for _, zero := range []string{"m0s", "h0m"} { // 2h and not 2h0m0s
		if strings.HasSuffix(meant, zero) {
			meant = strings.TrimSuffix(meant, zero[1:])
		}
	}
	return fmt.Sprintf(" (did you mean %q?)", meant)
}

// distance is the number of letters to add, remove or change.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
