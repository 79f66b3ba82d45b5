package diagram

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/sample"
)

// small is a space whose points can all be looked at.
func small() *Store { return NewStore(Number(7), Number(3), Number(5)) }

const smallVars = 4 // the last is true or false

// function draws a function, with open atoms below the bound and ends.
func function(t *rapid.T, s *Store, from Var, open int) ID {
	if from == smallVars || rapid.IntRange(0, 4).Draw(t, "stop") == 0 {
		var shares []Share
		left := Certain
		for range rapid.IntRange(0, 2).Draw(t, "shares") {
			half := left.Times(Fraction(1, 3))
			shares = append(shares, Share{atom(t, open), half})
			left = left.Times(Fraction(2, 3))
		}
		return s.Leaf(append(shares, Share{atom(t, open), left}))
	}
	v := Var(rapid.IntRange(int(from), smallVars-1).Draw(t, "variable"))
	var last []Value
	var kids []ID
	for at := uint64(0); at <= s.Limit(v).Low; {
		end := rapid.Uint64Range(at, s.Limit(v).Low).Draw(t, "end")
		last, kids = append(last, Number(end)), append(kids, function(t, s, v+1, open))
		at = end + 1
	}
	return s.Node(v, last, kids)
}

func atom(t *rapid.T, open int) Atom { return Atom(rapid.IntRange(-3, open-1).Draw(t, "atom")) }

// points calls f with every point.
func points(s *Store, f func(func(Var) Value)) {
	var p [smallVars]uint64
	var each func(v Var)
	each = func(v Var) {
		if v == smallVars {
			f(func(v Var) Value { return Number(p[v]) })
			return
		}
		for p[v] = 0; p[v] <= s.Limit(v).Low; p[v]++ {
			each(v + 1)
		}
	}
	each(0)
}

// at is the distribution of a point.
func at(s *Store, id ID, point func(Var) Value) map[Atom]uint64 {
	d := map[Atom]uint64{}
	for _, share := range s.Shares(s.At(id, point)) {
		d[share.Atom] = share.Weight.residue
	}
	return d
}

// TestReplaceMixes compares what Replace makes with what it should be at every point.
func TestReplaceMixes(t *testing.T) {
	sample.Checks(t, 30)
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		f := function(t, s, 0, 3)
		by := []ID{function(t, s, 0, 2), function(t, s, 0, 2), function(t, s, 0, 2)}
		made := s.Replace(f, func(a Atom) ID { return by[a] })
		points(s, func(point func(Var) Value) {
			want := map[Atom]uint64{}
			for _, share := range s.Shares(s.At(f, point)) {
				of := map[Atom]uint64{share.Atom: 1}
				if share.Atom >= 0 {
					of = at(s, by[share.Atom], point)
				}
				for a, w := range of {
					want[a] = (want[a] + times(w, share.Weight.residue)) % prime
				}
			}
			require.Equal(t, want, at(s, made, point))
		})
	})
}

// TestEqualFunctionsAreOneNode builds a function again from its points.
func TestEqualFunctionsAreOneNode(t *testing.T) {
	sample.Checks(t, 30)
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		f := function(t, s, 0, 3)
		var build func(v Var, p [smallVars]uint64) ID
		build = func(v Var, p [smallVars]uint64) ID {
			if v == smallVars {
				return s.At(f, func(v Var) Value { return Number(p[v]) })
			}
			var last []Value
			var kids []ID
			for i := uint64(0); i <= s.Limit(v).Low; i++ {
				p[v] = i
				last, kids = append(last, Number(i)), append(kids, build(v+1, p))
			}
			return s.Node(v, last, kids)
		}
		require.Equal(t, f, build(0, [smallVars]uint64{}))
		other := small()
		copier := Copier{To: other, From: s, As: func(a Atom) (Atom, bool) { return a, false }}
		copied := copier.Copy(f)
		points(s, func(point func(Var) Value) { require.Equal(t, at(s, f, point), at(other, copied, point)) })
	})
}

// TestPairsAreTheDifferences holds Pairs to what differs at points, and to the cheapest of all ways there.
func TestPairsAreTheDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		f, g := function(t, s, 0, 2), function(t, s, 0, 2)
		found, cheapest := map[[2]ID]bool{}, map[[2]ID]int{}
		cost := func(e Edge) int { return int(e.First.Low*3+uint64(e.Var)) % 4 }
		s.Pairs(f, g, cost, func(path []Edge, a, b ID) bool {
			sum := 0
			for _, e := range path {
				sum += cost(e)
			}
			if least, known := cheapest[[2]ID{a, b}]; !known || sum < least {
				cheapest[[2]ID{a, b}] = sum
			}
			found[[2]ID{a, b}] = true
			point := func(v Var) Value {
				for _, e := range path {
					if e.Var == v {
						return e.Last
					}
				}
				return Value{}
			}
			require.Equal(t, [2]ID{a, b}, [2]ID{s.At(f, point), s.At(g, point)})
			return true
		})
		var ways func(a, b ID, sum int)
		ways = func(a, b ID, sum int) {
			v := min(s.Decides(a), s.Decides(b))
			if s.IsLeaf(a) && s.IsLeaf(b) {
				if a != b {
					require.LessOrEqual(t, cheapest[[2]ID{a, b}], sum)
				}
				return
			}
			s.Both(a, b, func(i Interval, a, b ID) bool {
				ways(a, b, sum+cost(Edge{v, i}))
				return true
			})
		}
		ways(f, g, 0)
		counts, all := map[[2]ID]float64{}, 0.0
		points(s, func(point func(Var) Value) {
			all++
			if p := [2]ID{s.At(f, point), s.At(g, point)}; p[0] != p[1] {
				require.True(t, found[p])
				counts[p]++
			}
		})
		s.ShareOfPairs(f, g, func(a, b ID, share float64) {
			require.InDelta(t, counts[[2]ID{a, b}]/all, share, 1e-12)
			delete(counts, [2]ID{a, b})
		})
		require.Empty(t, counts)
	})
}

// TestPathsFillTheSpace counts the points of all boxes.
func TestPathsFillTheSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		f := function(t, s, 0, 2)
		share := 0.0
		count := 0.0
		s.Paths(f, func(path []Edge, _ ID) bool {
			part := 1.0
			for _, e := range path {
				part *= e.Size() / (s.Limit(e.Var).Float() + 1)
			}
			share += part
			count++
			return true
		})
		require.InDelta(t, 1, share, 1e-12)
		require.InDelta(t, count, s.CountPaths(f), 0)
	})
}

func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var drawn [2][]Interval
		for i := range drawn {
			for range rapid.IntRange(0, 4).Draw(t, "intervals") {
				first, last := rapid.Uint64Range(0, 15).Draw(t, "first"), rapid.Uint64Range(0, 15).Draw(t, "last")
				drawn[i] = append(drawn[i], Interval{Number(first), Number(last)})
			}
		}
		in := func(is []Interval, v Value) bool {
			for _, i := range is {
				if i.Has(v) {
					return true
				}
			}
			return false
		}
		a, b := SetOf(drawn[0]...), SetOf(drawn[1]...)
		for n := range uint64(16) {
			v := Number(n)
			assert.Equal(t, in(drawn[0], v), a.Has(v))
			assert.Equal(t, !a.Has(v), a.Not(Number(15)).Has(v))
			assert.Equal(t, a.Has(v) && b.Has(v), a.And(b).Has(v))
		}
		assert.Equal(t, len(a.And(b)) > 0, a.Meets(b))
	})
}

func TestWeights(t *testing.T) {
	third := Fraction(1, 3)
	assert.True(t, third.Plus(third).Plus(third).Equal(Certain))
	assert.True(t, third.Rest().Equal(Fraction(2, 3)))
	assert.True(t, Fraction(1, 2).Times(Fraction(1, 2)).Equal(Fraction(1, 4)))
	assert.False(t, Fraction(715827883, 1<<31).Equal(third))
	assert.True(t, Fraction(0, 5).IsZero())
	v := Value{1, 0}
	assert.Equal(t, v, v.Prev().Next())
	assert.InDelta(t, math.Pow(2, 64), Interval{Last: Value{0, math.MaxUint64}}.Size(), 0)
}

// TestRenameWhere decides a variable that is true or false, and renames atoms.
func TestRenameWhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		f, last := function(t, s, 0, 3), Var(smallVars)
		both := s.Replace(f, func(a Atom) ID { return s.Choose(last, Set{Point(Number(1))}, s.One(a+10), s.One(a)) })
		more := func(a Atom) Atom { return a + 1 }
		require.Equal(t, s.Rename(f, more), s.RenameWhere(both, last, false, more))
		require.Equal(t, s.Rename(f, func(a Atom) Atom {
			if a >= 0 {
				a += 10
			}
			return a + 1
		}), s.RenameWhere(both, last, true, more))
		require.Equal(t, both, s.Rename(both, func(a Atom) Atom { return a }), "Rename decides nothing afterwards")
	})
}
