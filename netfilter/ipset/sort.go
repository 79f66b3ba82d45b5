package ipset

import (
	"math"
	"slices"
	"strings"
)

// elementLine is the line of an element, whose own text begins behind a prefix.
type elementLine struct {
	text   string
	prefix int
}

// sortLines puts lines into the order of -s. The tool's comparison does not always put three lines into one order, so that the order in
// which it compares counts: it puts each line before the first one that is greater.
func sortLines(lines []elementLine) []elementLine {
	sorted := make([]elementLine, 0, len(lines))
	for _, line := range lines {
		at := slices.IndexFunc(sorted, func(other elementLine) bool { return other.compare(line) > 0 })
		if at < 0 {
			at = len(sorted)
		}
		sorted = slices.Insert(sorted, at, line)
	}
	return sorted
}

// compare compares numbers, which the tool takes for hexadecimal, with what stands between them skipped. Of two nets of one address the
// longer comes first, and of two words the shorter.
func (l elementLine) compare(other elementLine) int32 {
	a, b := l.text[l.prefix:], other.text[other.prefix:]
	sign := int64(1)
	for a != "" && b != "" {
		n, restA := cutHex(a)
		m, restB := cutHex(b)
		if restA == a || restB == b {
			order, same := compareWords(a, b)
			if same == 0 {
				return order
			}
			a, b, sign = a[min(same, len(a)):], b[min(same, len(b)):], 1
			continue
		}
		if n != m {
			return int32(sign * (n - m))
		}
		netA, netB := strings.HasPrefix(restA, "/"), strings.HasPrefix(restB, "/")
		switch {
		case netA && netB:
			sign = -1
		case netA:
			return 1
		case netB:
			return -1
		}
		a, b = skip(restA), skip(restB)
		colonA, colonB := strings.HasPrefix(a, ":"), strings.HasPrefix(b, ":")
		switch {
		case colonA && colonB:
			a, b = a[1:], b[1:]
		case colonA:
			return -1
		case colonB:
			return 1
		}
	}
	return int32(min(len(a), 1) - min(len(b), 1))
}

// skip leaves out the byte behind a number.
func skip(s string) string { return s[min(1, len(s)):] }

// compareWords compares texts that do not both begin with a number, up to a colon or a comma. same is how much is the same, with that
// byte, if they go on alike.
func compareWords(a, b string) (order int32, same int) {
	n, m := wordLength(a), wordLength(b)
	switch {
	case n == 0 && m == 0:
		return int32(strings.Compare(a, b)), 0
	case n != m:
		return int32(min(max(n-m, -1), 1)), 0
	case a[:n] != b[:n]:
		return int32(strings.Compare(a[:n], b[:n])), 0
	}
	return 0, min(n+1, math.MaxInt32)
}

func wordLength(s string) int {
	if i := strings.IndexAny(s, ":,"); i >= 0 {
		return i
	}
	return len(s)
}
