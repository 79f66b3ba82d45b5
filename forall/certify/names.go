package certify

import (
	"strings"

	"github.com/chainwalk/chainwalk/forall"
)

// saysOf tells what is known of conditions with names, of packets of a class: a host that has seen no packet has counted none and
// remembers none. Of other conditions nothing is known, though a walk has an answer: not who sends a packet, nor how long it is, nor what
// the set of a program has.
func saysOf(class forall.Class) func(name string) forall.Truth {
	return func(name string) forall.Truth {
		switch {
		case !isCounted(name, class):
			return forall.Unsaid
		case holdsAtFirst(name):
			return forall.Holds
		}
		return forall.Fails
	}
}

// isCounted says whether a condition is one of what the host counts and remembers, and of nothing else. Of a packet whose connection was
// there before it is not known how many others were.
func isCounted(name string, class forall.Class) bool {
	if strings.Contains(name, afterWrite) {
		return false
	}
	return hasPrefix(name, "-m limit", "-m hashlimit", "-m quota", "-m recent", "[ limit ", "[ quota ") ||
		class == forall.New && hasPrefix(name, "-m connlimit", "[ connlimit ")
}

// afterWrite is in the names of conditions that ask for what a rule may have remembered of the packet itself.
const afterWrite = "(after a rule has remembered something)"

// holdsAtFirst says whether a condition holds for the first packet that a host sees: nobody has used a limit up, and nobody is remembered.
func holdsAtFirst(name string) bool {
	if hasPrefix(name, "[ limit ", "[ quota ", "[ connlimit ") {
		return !strings.Contains(name, " flags 0x1 ") && !strings.Contains(name, " flags 1 ") // which is "over"
	}
	return hasPrefix(name, "-m limit", "-m hashlimit --hashlimit-upto", "-m quota --quota", "-m connlimit --connlimit-upto")
}

func hasPrefix(name string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
