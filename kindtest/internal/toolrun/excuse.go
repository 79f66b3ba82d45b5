package toolrun

import (
	"fmt"
	"regexp"
	"strings"
)

// Excuse is the reason why a difference is none, or empty. Who compares counts and prints each.
func Excuse(theirs, ours *Run) string {
	if theirs.Status > StatusSignal && theirs.Status <= StatusSignal+lastSignal {
		return fmt.Sprintf("the real tool was ended by signal %d", theirs.Status-StatusSignal)
	}
	if theirs.Status != ours.Status {
		return ""
	}
	switch {
	case leftOver.MatchString(theirs.Stderr) && strings.Contains(ours.Stderr, "Bad rule (does a matching rule exist in that chain?)"),
		strings.HasSuffix(theirs.Stderr, ": Bad built-in chain name.\n") &&
			strings.HasSuffix(ours.Stderr, ": No chain/target/match by that name.\n"):
		return "the nft tools say of -Z of a chain or rule that is not there what an earlier command has left behind"
	case debugging.MatchString(theirs.Stdout) && !debugging.MatchString(ours.Stdout):
		return "with -v twice the real tools print what they keep in memory or send to the kernel, which spoils the reason of a later error"
	case usage.MatchString(theirs.Stderr) && usage.MatchString(ours.Stderr) && theirs.Stdout == ours.Stdout:
		return "the fake has words of its own for the help"
	case theirs.Stderr != ours.Stderr:
		return ""
	case sharesBuckets(theirs.Stdout, ours.Stdout):
		return "elements of a set share buckets, or have one each, by a number that the kernel draws, and take another part of memory"
	case losesPorts(theirs.Stdout, ours.Stdout):
		return "ipset loses the port of an element that ends its output buffer"
	case usage.MatchString(theirs.Stdout) && usage.MatchString(ours.Stdout):
		return "the fake has words of its own for the help"
	}
	return ""
}

// leftOver is a message of the nft tools that depends on an error which they have got over.
var leftOver = regexp.MustCompile(`Incompatible with this kernel\.|restore: line [0-9]+ failed\n$`)

// usage is a line of the help. debugging is how the dumps of -v -v begin: of the legacy tools, of the nft tools, and of their rules.
var (
	usage     = regexp.MustCompile(`(?m)^Usage: `)
	debugging = regexp.MustCompile(`(?m)^libiptc v|^(table )?\S+ \S+ .*\buse [0-9]+|^  \[ [a-z]+ `)
)

// StatusSignal is added to a signal that ended a tool; lastSignal is the greatest there is.
const (
	StatusSignal = 128
	lastSignal   = 64
)

// elementPort is the port of an element of a set.
var elementPort = regexp.MustCompile(`,([a-z0-9-]+):[0-9]+`)

// losesPorts says that two outputs are the same, but that their lines lack some ports.
func losesPorts(theirs, ours string) bool {
	a, b := strings.SplitAfter(theirs, "\n"), strings.SplitAfter(ours, "\n")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && a[i] != elementPort.ReplaceAllString(b[i], ",$1") {
			return false
		}
	}
	return true
}
