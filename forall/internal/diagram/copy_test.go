package diagram

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestCopiesPutValuesIn copies functions whose second variable tells values of the third one apart: each of several copies with other
// values and atoms, into another store or the same.
func TestCopiesPutValuesIn(t *testing.T) {
	sample.Checks(t, 30)
	const who = 1
	rapid.Check(t, func(t *rapid.T) {
		s := small()
		to := small()
		if rapid.Bool().Draw(t, "same") {
			to = s
		}
		moved := Atom(0)
		c := Copier{To: to, From: s, Who: who, As: func(a Atom) (Atom, bool) {
			if a == 1 {
				return moved, true
			}
			return a, false
		}}
		functions := []ID{function(t, s, 0, 2), function(t, s, 0, 2)}
		for range 3 {
			f := rapid.SampledFrom(functions).Draw(t, "function")
			moved = Atom(rapid.IntRange(5, 9).Draw(t, "moved"))
			c.Is = nil
			for _, v := range rapid.Permutation([]uint64{0, 1, 2, 3, 4, 5}).Draw(t, "values")[:rapid.IntRange(0, 3).Draw(t, "many")] {
				c.Is = append(c.Is, Number(v))
			}
			copied := c.Copy(f)
			points(to, func(point func(Var) Value) {
				number := uint64(0)
				for i, v := range c.Is {
					if v == point(who+1) {
						number = uint64(i + 1)
					}
				}
				if number > s.Limit(who).Low {
					return
				}
				want := at(s, f, func(v Var) Value {
					if v == who {
						return Number(number)
					}
					return point(v)
				})
				if weight, is := want[1]; is {
					delete(want, 1)
					want[moved] = weight
				}
				require.Equal(t, want, at(to, copied, point))
			})
			for stack := []ID{copied}; len(stack) > 0; stack = stack[1:] {
				if !to.IsLeaf(stack[0]) {
					require.NotEqual(t, Var(who), to.Decides(stack[0]))
					stack = append(stack, to.Kids(stack[0])...)
				}
			}
		}
	})
}
