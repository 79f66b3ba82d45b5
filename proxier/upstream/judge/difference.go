package judge

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

// Difference is something that is not the same after a sync.
type Difference struct {
	step   int // of the case, from 0
	family v1.IPFamily
	// Kind is "rules", "packets", "conntrack", "metrics", "health", "sysctls" or "errors"; "kernel" if the real kernel and the fake one
	// differ.
	Kind string
	// where is a chain, packet or metric.
	where        string
	ours, theirs []string
	onlyComments bool // of rules that are the same without them
	// Explanation is the name of the Explanation that holds; empty if none does.
	Explanation string

	entry     conntrack.Entry // of kind "conntrack"
	packet    inet.Input      // of kind "packets"
	contested bool            // to what several service ports claim
	fresh     *bool           // a kube-proxy that starts now agrees with ours
}

// onlyOursDeletes and onlyTheirsDeletes say of a connection who has deleted it.
func (d *Difference) onlyOursDeletes() bool {
	return d.Kind == "conntrack" && d.ours[0] == deletes(true)
}

func (d *Difference) onlyTheirsDeletes() bool {
	return d.Kind == "conntrack" && d.theirs[0] == deletes(true)
}

// mostLines is how many lines of each side are printed.
const mostLines = 12

// String prints what each side has and the other has not.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d, %s %s: %s\n", d.step+1, d.family, d.Kind, d.where)
	printMissing(&b, "ours:      ", d.ours, d.theirs)
	printMissing(&b, "kube-proxy:", d.theirs, d.ours)
	if strings.Count(b.String(), "\n") == 1 {
		b.WriteString("  the same lines in another order\n")
	}
	return b.String()
}

// printMissing prints the lines that the other side has not.
func printMissing(b *strings.Builder, side string, lines, others []string) {
	there := map[string]int{}
	for _, line := range others {
		there[line]++
	}
	printed := 0
	for _, line := range lines {
		if there[line]--; there[line] >= 0 {
			continue
		}
		if printed++; printed <= mostLines {
			fmt.Fprintf(b, "  %s %s\n", side, line)
		}
	}
	if printed > mostLines {
		fmt.Fprintf(b, "  %s and %d more lines\n", side, printed-mostLines)
	}
}

// Like says whether another difference is of the same kind, and of rules in a chain of the same beginning.
func (d *Difference) Like(other *Difference) bool {
	begins := func(d *Difference) string { before, _, _ := strings.Cut(d.where, "-"); return before }
	return d.Kind == other.Kind && (d.Kind != "rules" || begins(d) == begins(other))
}

// place is what is different and how, but not since when.
func (d *Difference) place() string {
	return fmt.Sprint(d.Kind, d.where, d.ours, d.theirs)
}

// Report counts what was compared.
type Report struct {
	Cases, Syncs, Rules, Packets, Metrics, Health int
	// HandOvers are the starts of a proxier where the other one was stopped, Stale the chains of
	// ours that had to go.
	HandOvers, Stale int
	// Flows are the UDP connections that a node knew at a sync, Deleted those of them that ours deleted.
	Flows, Deleted int
	// Large, Failed and Partial are the states of one family after a sync of kube-proxy's that was in a large cluster, failed, or
	// did not write everything.
	Large, Failed, Partial int
	// Explained counts the differences by their explanation. Those that rest on chance are not counted: how often they come up is
	// another number in each run.
	Explained map[string]int
}

// NewReport returns an empty report.
func NewReport() *Report { return &Report{Explained: map[string]int{}} }

// explained counts a difference.
func (r *Report) explained(name string) {
	for _, e := range allExplanations() {
		if e.Name == name && !e.Chance {
			r.Explained[name]++
		}
	}
}

// count counts a state.
func (r *Report) count(large, failed, partial bool) {
	for counter, counts := range map[*int]bool{&r.Large: large, &r.Failed: failed, &r.Partial: partial} {
		if counts {
			*counter++
		}
	}
}
