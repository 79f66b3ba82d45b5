package internal_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/ddmin"
)

// shortest runs List over the numbers from 0 to n-1.
func shortest(n int, fails func([]int) bool) []int {
	var list []int
	for i := range n {
		list = append(list, i)
	}
	left := ddmin.List(n, func(at, size int) bool {
		shorter := slices.Delete(slices.Clone(list), at, at+size)
		if !fails(shorter) {
			return false
		}
		list = shorter
		return true
	})
	if left != len(list) {
		panic("List lost count")
	}
	return list
}

func TestListKeepsWhatItNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		var needed []int
		for i := range n {
			if rapid.IntRange(0, 9).Draw(t, "needed") == 0 {
				needed = append(needed, i)
			}
		}
		got := shortest(n, func(list []int) bool {
			return !slices.ContainsFunc(needed, func(i int) bool { return !slices.Contains(list, i) })
		})
		assert.Equal(t, needed, append([]int(nil), got...))
	})
}

func TestListEndsWithALocalMinimum(t *testing.T) {
	// An even number of elements fails, so that no single one can go.
	got := shortest(9, func(list []int) bool { return len(list)%2 == 1 })
	assert.Len(t, got, 1)
	// Elements that can go only once others went.
	got = shortest(8, func(list []int) bool {
		return slices.Contains(list, 7) && (slices.Contains(list, 2) || !slices.Contains(list, 5))
	})
	assert.Equal(t, []int{7}, got)
}

func TestListAsksLittleWhereAllCanGo(t *testing.T) {
	asked := 0
	assert.Zero(t, ddmin.List(1000, func(int, int) bool { asked++; return true }))
	assert.Less(t, asked, 20)
}
