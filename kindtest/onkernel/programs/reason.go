package programs

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// reason explains differences of a kind. It holds only for what it names: both answers must be the same without it.
type reason struct {
	name  string
	holds func(theirs, ours *toolrun.Run) bool
}

// reasons are asked in their order; both answers are masked.
var reasons = []reason{
	{"packets that the kernel or the program sent itself were counted", onlyCounted},
	{"a second has passed between both tools: what is left of timeouts", onlyPassed},
}

// explain is the name of the reason that explains the difference, or empty.
func explain(theirs, ours *toolrun.Run) string {
	for _, r := range reasons {
		if r.holds(theirs, ours) {
			return r.name
		}
	}
	return toolrun.Excuse(theirs, ours)
}

// counters is how the tools print what was counted: in save, in the head of a listed chain, in a listed rule, in -S -v.
var counters = regexp.MustCompile(`\[([0-9]+):([0-9]+)\]|\(policy [A-Z]+ ([0-9]+[KMGTP]?) packets, ([0-9]+[KMGTP]?) bytes\)|` +
	`(?m:^(?:[0-9]+ )? *([0-9]+[KMGTP]?) +([0-9]+[KMGTP]?) )|-c ([0-9]+) ([0-9]+)\b|packets ([0-9]+) bytes ([0-9]+)|` +
	`"packets": ([0-9]+), "bytes": ([0-9]+)`)

// blanks are what a wide number takes from the column beside it.
var blanks = regexp.MustCompile(` +`)

// onlyCounted says that the answers differ in counters alone, and that the real kernel, through which packets go, has counted no less
// than the fake, where nothing does.
func onlyCounted(theirs, ours *toolrun.Run) bool {
	if theirs.Status != ours.Status || theirs.Stderr != ours.Stderr || withoutCounters(theirs.Stdout) != withoutCounters(ours.Stdout) {
		return false
	}
	less := counted(ours.Stdout)
	for i, n := range counted(theirs.Stdout) {
		if n < less[i] {
			return false
		}
	}
	return true
}

func withoutCounters(text string) string {
	return blanks.ReplaceAllString(counters.ReplaceAllString(text, " counters "), " ")
}

// counted are the numbers of the counters of a text, in its order.
func counted(text string) []uint64 {
	var numbers []uint64
	for _, found := range counters.FindAllStringSubmatch(text, -1) {
		for _, digits := range found[1:] {
			if digits = strings.TrimSpace(digits); digits != "" {
				numbers = append(numbers, count(digits))
			}
		}
	}
	return numbers
}

// count is a number as the tools write it: 12K are 12 thousand.
func count(digits string) uint64 {
	power := strings.IndexByte("KMGTP", digits[len(digits)-1]) + 1
	n, err := strconv.ParseUint(strings.TrimRight(digits, "KMGTP"), 10, 64)
	if err != nil {
		return 0 // no counter is as long
	}
	for ; power > 0; power-- {
		n *= 1000
	}
	return n
}

// timeouts is what is left of the time of a set's element: in ipset, in nft, in its JSON.
var timeouts = regexp.MustCompile(`( timeout | expires |"expires": )([0-9dhms]+)`)

// onlyPassed says that the answers differ in what is left of timeouts alone, by at most a second.
func onlyPassed(theirs, ours *toolrun.Run) bool {
	if theirs.Status != ours.Status || theirs.Stderr != ours.Stderr ||
		timeouts.ReplaceAllString(theirs.Stdout, "$1") != timeouts.ReplaceAllString(ours.Stdout, "$1") {
		return false
	}
	left := timeouts.FindAllStringSubmatch(ours.Stdout, -1)
	for i, found := range timeouts.FindAllStringSubmatch(theirs.Stdout, -1) {
		if (seconds(found[2]) - seconds(left[i][2])).Abs() > time.Second {
			return false
		}
	}
	return true
}

// seconds is a time as ipset writes it, a number of seconds, or as nft does: 1d2h3m4s5ms.
func seconds(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second
	}
	days, rest, is := strings.Cut(text, "d")
	if !is {
		days, rest = "0", text
	}
	n, errDays := strconv.Atoi(days)
	left, err := time.ParseDuration(cmp.Or(rest, "0"))
	if errDays != nil || err != nil {
		return 0 // no time is as long
	}
	return time.Duration(n)*24*time.Hour + left
}
