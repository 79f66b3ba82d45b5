package netns

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
)

// tally counts ways.
type tally struct {
	ways  []scenarios.Way
	times []int
	tries int
}

func (t *tally) add(w scenarios.Way) {
	t.tries++
	same := func(o scenarios.Way) bool {
		return o.End == w.End && o.Host == w.Host && o.Server == w.Server && o.Client.Addr() == w.Client.Addr() && o.Sender == w.Sender &&
			o.With == w.With && o.Rule == w.Rule && o.Reason == w.Reason && o.Heard == w.Heard && o.Why == w.Why && o.Masqueraded == w.Masqueraded
	}
	if i := slices.IndexFunc(t.ways, same); i >= 0 {
		t.times[i]++
		return
	}
	t.ways, t.times = append(t.ways, w), append(t.times, 1)
}

// observed are the ways with their shares. What came of one try that chance had no
// part in is certain.
func (t *tally) observed() *scenarios.Observed {
	seen := &scenarios.Observed{Ways: t.ways}
	if t.tries > 1 {
		seen.Samples = t.tries
	}
	for i := range t.ways {
		t.ways[i].Probability = float64(t.times[i]) / float64(t.tries)
	}
	return seen
}
