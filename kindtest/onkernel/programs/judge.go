package programs

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// numbers are what came of a life.
type numbers struct {
	calls     int            // of the program itself
	refused   int            // calls to which the real tool gave another status than 0
	saved     int            // rulesets and sets that were compared at the end of phases, empty ones left out
	phases    []string       // in their order
	explained map[string]int // differences by their reason
	differ    []call         // that nothing explains
}

// judge compares what both kernels answered.
func judge(calls []call) *numbers {
	n := &numbers{explained: map[string]int{}}
	for i := range calls {
		n.add(&calls[i])
	}
	return n
}

func (n *numbers) add(c *call) {
	theirs, _ := toolrun.Steady(c.Real)
	ours, _ := toolrun.Steady(c.Fake)
	switch {
	case c.Phase == "":
		n.calls++
		if theirs.Status != 0 {
			n.refused++
		}
	case theirs.Stdout != "" || ours.Stdout != "":
		n.saved++
	}
	if c.Phase != "" && !slices.Contains(n.phases, c.Phase) {
		n.phases = append(n.phases, c.Phase)
	}
	if theirs == ours {
		return
	}
	if reason := explain(&theirs, &ours); reason != "" {
		n.explained[reason]++
		return
	}
	n.differ = append(n.differ, *c)
}

// print says what came of a life, and shows the first differences that nothing explains.
func (n *numbers) print(out io.Writer, name string, most int) {
	fmt.Fprintf(out, "%-22s calls %5d (%d refused), phases %2d, saved rulesets and sets %3d, differences %d", name, n.calls, n.refused,
		len(n.phases), n.saved, len(n.differ))
	for _, reason := range slices.Sorted(maps.Keys(n.explained)) {
		fmt.Fprintf(out, ", explained %d (%s)", n.explained[reason], reason)
	}
	fmt.Fprintln(out)
	for i := range n.differ[:min(most, len(n.differ))] {
		c := &n.differ[i]
		theirs, _ := toolrun.Steady(c.Real)
		ours, _ := toolrun.Steady(c.Fake)
		fmt.Fprintf(out, "DIFFERENCE %d of %s%s\n%s\n%s", i+1, name, atPhase(c), c, toolrun.Diff(theirs.Lines(), ours.Lines()))
	}
	if left := len(n.differ) - most; left > 0 {
		fmt.Fprintf(out, "%d more differences of %s\n", left, name)
	}
}

func atPhase(c *call) string {
	if c.Phase == "" {
		return ""
	}
	return ", at the end of phase " + c.Phase
}

// total is what came of all lives.
type total struct {
	lives, broken           int
	calls, saved, explained int
	differences             int
}

// add counts a life; err says that it did not come to its end.
func (t *total) add(n *numbers, err error) {
	t.lives++
	if err != nil || n.calls == 0 || n.saved == 0 {
		t.broken++ // a life without calls has compared nothing
	}
	if n == nil {
		return
	}
	t.calls += n.calls
	t.saved += n.saved
	t.differences += len(n.differ)
	for _, count := range n.explained {
		t.explained += count
	}
}

func (t *total) held() bool { return t.broken == 0 && t.differences == 0 }

func (t *total) print(out io.Writer) {
	fmt.Fprintf(out, "programs: %d lives, %d did not come to their end, %d calls, %d saved rulesets and sets, differences %d, explained %d\n",
		t.lives, t.broken, t.calls, t.saved, t.differences, t.explained)
}
