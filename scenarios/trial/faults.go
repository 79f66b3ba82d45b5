package trial

import (
	"slices"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
)

// damage is what was done to a node's rules behind its proxier's back.
type damage struct {
	// flushed: tables were emptied, which the proxier's monitor notices.
	flushed bool
	// edited: chains of the proxier's own were changed, which only a full sync mends; since says when, and late that the
	// proxier may have written everything before, so that the first sync of it that ends well need not be a full one.
	edited, late bool
	since        time.Duration
	// foreign: something else was done, which nobody mends, or rules of the other tools are there.
	foreign bool
}

func (d *damage) any() bool { return d.flushed || d.edited || d.foreign }

// fullSyncPeriod is when a proxier writes everything again, whatever has changed.
const fullSyncPeriod = time.Hour

// faulty notes a fault. One that is still to come leaves the old rules or the new ones, as a
// sync that fails does.
func (r *run) faulty(f *scenarios.Fault) {
	r.faults = r.faults || !f.Heal
	r.unsaved = r.unsaved || f.SaveFails > 0
	r.unsearched = r.unsearched || f.ConntrackFails > 0
	for _, n := range r.nodes {
		if f.Node != "" && f.Node != n.name {
			continue
		}
		if len(f.Flush)+len(f.Run) > 0 {
			r.kept.affinity.Forget(n.name)
		}
		if f.Dialect.In(r.cluster.Dialect) != r.cluster.Dialect {
			n.damage.foreign = true
			continue
		}
		n.damage.flushed = n.damage.flushed || len(f.Flush) > 0
		if slices.Contains(f.Flush, "filter") {
			n.unfiltered = true
		}
		for _, line := range f.Run {
			if table, flushes := flushedTable(line); flushes {
				n.damage.flushed = true
				n.unfiltered = n.unfiltered || table == "filter"
			} else if ownChain(line) {
				n.damage.edited, n.damage.since, n.damage.late = true, r.passed, n.begun
			} else {
				n.damage.foreign = true
			}
		}
	}
	r.specs.renew()
}

// flushedTable is the table whose rules a command line takes away, and leaves its chains. That the jumps to them are gone, a proxier's
// monitor notices.
func flushedTable(line string) (table string, flushes bool) {
	words := strings.Fields(line)
	if len(words) != 4 || words[0] != "iptables" && words[0] != "ip6tables" || words[1] != "-t" || words[3] != "-F" {
		return "", false
	}
	return words[2], words[2] == "nat" || words[2] == "filter"
}

// ownChain reports whether a command line changes only chains of the proxier's own.
func ownChain(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "iptables" && words[0] != "ip6tables" {
		return false
	}
	for i, word := range words[:len(words)-1] {
		switch word {
		case "-F", "-X", "-D", "-N", "-A", "-I", "-R":
			return strings.HasPrefix(words[i+1], "KUBE-")
		}
	}
	return false
}

// repaired notes that a sync of a node ended well. It wrote everything if it was the proxier's first since it started, or
// if one before it failed, of which nobody but the proxier can tell: one that says so may have failed after everything was written.
func (r *run) repaired(n *nodeState) {
	n.damage.flushed = false
	if n.fresh && !n.damage.late || r.passed-n.damage.since >= fullSyncPeriod {
		n.damage.edited = false
	}
}
