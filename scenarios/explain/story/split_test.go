package story

import (
	"io"
	"testing"

	"pgregory.net/rapid"
)

// TestSplitLosesNothing: what outcomes share and what one has of its own, put together, is that outcome, whatever the lines are; and it can
// be written.
func TestSplitLosesNothing(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) Line {
		return Line{Hook: rapid.SampledFrom([]string{"", "FORWARD"}).Draw(t, "hook"), Kind: Rule,
			Text: rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "text")}
	})
	passage := rapid.Custom(func(t *rapid.T) Passage {
		return Passage{Host: rapid.SampledFrom([]string{"one", "other"}).Draw(t, "host"), Lines: rapid.SliceOfN(line, 0, 12).Draw(t, "lines")}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := Story{Outcomes: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Outcome {
			return Outcome{Probability: 0.5, Passages: rapid.SliceOfN(passage, 1, 3).Draw(t, "passages")}
		}), 1, 9).Draw(t, "outcomes")}
		split := splitOf(s.Outcomes)
		for i := range s.Outcomes {
			var joined []part
			for gap, own := range split.own[i] {
				joined = append(joined, own...)
				if gap < len(split.shared) {
					joined = append(joined, split.shared[gap])
				}
			}
			want := s.Outcomes[i].parts()
			if len(joined) != len(want) {
				t.Fatalf("outcome %d: %d parts of %d", i, len(joined), len(want))
			}
			for n := range want {
				if !want[n].same(&joined[n]) {
					t.Fatalf("outcome %d: part %d is %+v, want %+v", i, n, joined[n], want[n])
				}
			}
		}
		seen := map[int]bool{}
		for _, group := range s.groups() {
			for _, place := range group {
				if seen[place] || place >= len(s.Outcomes) || s.Outcomes[place].likeness() != s.Outcomes[group[0]].likeness() {
					t.Fatalf("%v of the groups %v of %d outcomes", group, s.groups(), len(s.Outcomes))
				}
				seen[place] = true
			}
		}
		if len(seen) != len(s.Outcomes) {
			t.Fatalf("the groups %v have %d of %d outcomes", s.groups(), len(seen), len(s.Outcomes))
		}
		for _, o := range []TextOptions{{}, {Apart: true}, {Summary: true}, {Color: true}} {
			if err := s.WriteText(io.Discard, o); err != nil {
				t.Fatal(err)
			}
		}
	})
}
