package diagram

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCloseEndsAtVariables puts a leaf where some variables decide, and nowhere else.
func TestCloseEndsAtVariables(t *testing.T) {
	s := small()
	is := func(v Var, at uint64, yes, no ID) ID { return s.Choose(v, SetOf(Point(Number(at))), yes, no) }
	close1 := func(root ID) ID {
		return s.Close(root, func(v Var) (ID, bool) {
			if v == 0 {
				return 0, false
			}
			return s.One(Atom(10 + v)), true
		})
	}
	open1, open2 := s.One(11), s.One(12)
	one, two := s.One(1), s.One(2)
	assert.Equal(t, one, close1(one))
	assert.Equal(t, is(0, 3, one, two), close1(is(0, 3, one, two)), "no such variable decides")
	assert.Equal(t, is(0, 3, open1, two), close1(is(0, 3, is(1, 2, one, two), two)))
	assert.Equal(t, open1, close1(is(0, 3, is(1, 2, one, two), is(1, 3, two, one))), "both sides are closed alike")
	deep := is(0, 3, is(1, 2, is(2, 1, one, two), two), is(2, 1, two, one))
	assert.Equal(t, is(0, 3, open1, open2), close1(deep), "the first one names the leaf")
}
