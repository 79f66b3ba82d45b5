package sample

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestSomeAreEveryNth(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	t.Setenv("CHAINWALK_ALL", "")
	t.Setenv("CHAINWALK_COMMIT", "")
	assert.Equal(t, []int{0, 3, 6}, Some(t, all, 3))
	assert.Equal(t, 3, Every(3))
	assert.Equal(t, []int{0, 3, 6}, Nth(all, 3))
	assert.Equal(t, all, Nth(all, 1))
	assert.Empty(t, Nth([]int{}, 3))
	t.Setenv("CHAINWALK_COMMIT", "1805")
	assert.Equal(t, []int{1, 5}, Some(t, all, 4))
	assert.Equal(t, []int{5}, Some(t, all, 8))
	t.Setenv("CHAINWALK_ALL", "1")
	assert.Equal(t, all, Some(t, all, 3))
	assert.Equal(t, 1, Every(3))
}

// TestCommitsInARowTakeAll holds that n commits in a row take each case of a test that takes one of n, and that what is no number is
// refused.
func TestCommitsInARowTakeAll(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv("CHAINWALK_ALL", "")
	for n := 1; n <= 8; n++ {
		var joined []int
		for commit := 1805; commit < 1805+n; commit++ {
			t.Setenv("CHAINWALK_COMMIT", strconv.Itoa(commit))
			joined = append(joined, Some(t, all, n)...)
		}
		assert.ElementsMatch(t, all, joined, "one of %d", n)
	}
	for _, wrong := range []string{"x", "-1", "1/4", " 1"} {
		_, err := parseCommit(wrong)
		assert.ErrorContains(t, err, "CHAINWALK_COMMIT is "+strconv.Quote(wrong))
	}
}

// TestPartsAreTheWhole holds that each case is in one part of all, and that what is no part is refused.
func TestPartsAreTheWhole(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	var joined []int
	for k := 1; k <= 4; k++ {
		t.Setenv("CHAINWALK_PART", fmt.Sprintf("%d/4", k))
		joined = append(joined, Part(t, all)...)
	}
	assert.ElementsMatch(t, all, joined)
	t.Setenv("CHAINWALK_PART", "2/4")
	assert.Equal(t, []int{1, 5, 9}, Part(t, all))
	t.Setenv("CHAINWALK_PART", "")
	assert.Equal(t, all, Part(t, all))
	for _, wrong := range []string{"2", "0/4", "5/4", "1/0", "-1/4", "a/b", "/", "1/4/2", " 1/4"} {
		_, err := inPart(wrong, 0)
		assert.ErrorContains(t, err, "CHAINWALK_PART is "+strconv.Quote(wrong), wrong)
	}
}

// TestFewerExamplesAreDrawn counts what rapid draws in a test that asks for fewer, and behind it.
func TestFewerExamplesAreDrawn(t *testing.T) {
	count := func(t *testing.T) (n int) {
		rapid.Check(t, func(*rapid.T) { n++ })
		return n
	}
	all, few := count(t), 7
	if takesAll() || checksAreSaid() {
		few = all
	}
	t.Run("few", func(t *testing.T) {
		Checks(t, 7)
		assert.Equal(t, few, count(t))
	})
	assert.Equal(t, all, count(t), "the next test draws as many as before")
}
