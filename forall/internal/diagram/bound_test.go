package diagram

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestLawWithin gives computations up at some point: what is computed afterwards is what it would have been, and nothing half-made is left.
func TestLawWithin(t *testing.T) {
	sample.Checks(t, 30)
	givenUp := 0
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		f := function(t, s, 0, 3)
		by := make([]ID, 3)
		for i := range by {
			by[i] = function(t, s, 0, 0)
		}
		of := func(a Atom) ID { return by[a] }
		m := s.Mark()
		most := s.Bytes() + rapid.IntRange(0, 2000).Draw(t, "bytes")
		var made ID
		if s.Within(most, func() { made = s.Replace(f, of) }) {
			require.Equal(t, made, s.Replace(f, of))
		} else {
			givenUp++
			require.Greater(t, s.Bytes()+100, most)
		}
		require.Empty(t, s.outs)
		require.Empty(t, s.bounds)
		require.Empty(t, s.ids)
		require.Empty(t, s.places)
		before := s.Replace(f, of)
		want := map[[smallVars]uint64]map[Atom]uint64{}
		points(s, func(p func(Var) Value) { want[pointOf(p)] = at(s, before, p) })
		s.Release(m)
		after := s.Replace(f, of)
		points(s, func(p func(Var) Value) { require.Equal(t, want[pointOf(p)], at(s, after, p)) })
	})
	assert.NotZero(t, givenUp)
}

func pointOf(p func(Var) Value) (at [smallVars]uint64) {
	for v := range at {
		at[v] = p(Var(v)).Low
	}
	return at
}

func TestWithinPassesOtherPanicsOn(t *testing.T) {
	assert.PanicsWithValue(t, "another", func() { small().Within(1, func() { panic("another") }) })
}

// TestLawArena keeps lists, and forgets some: the others stay as they are, and the room is used again.
func TestLawArena(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.IntRange(0, 700), 1, 12)
		var a arena[ID]
		number := ID(0)
		add := func(n int) (place, []ID) {
			list := make([]ID, n)
			for i := range list {
				number++
				list[i] = number
			}
			return a.add(list[:n/2], list[n/2:]), append([]ID{}, list...)
		}
		keep := lists.Draw(t, "kept")
		var places []place
		var want [][]ID
		for _, n := range keep {
			p, list := add(n)
			places, want = append(places, p), append(want, list)
		}
		m, more, room := a.mark(), lists.Draw(t, "forgotten"), 0
		for range 3 {
			for _, n := range more {
				p, list := add(n)
				require.Equal(t, list, append([]ID{}, a.at(p)...))
			}
			if room == 0 {
				room = len(a.blocks)
			}
			require.Len(t, a.blocks, room)
			a.release(m)
			require.Equal(t, m, a.mark())
		}
		for i, p := range places {
			require.Equal(t, want[i], append([]ID{}, a.at(p)...))
		}
	})
}
