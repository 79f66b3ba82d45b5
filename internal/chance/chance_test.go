package chance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCountsFit(t *testing.T) {
	for _, tc := range []struct {
		name        string
		count       int
		tries       int
		probability float64
		fits        bool
	}{
		{"the only endpoint, every time", 100, 100, 1, true},
		{"the only endpoint, but once", 99, 100, 1, false},
		{"a half, five standard deviations below", 25, 100, 0.5, false},
		{"a half, somewhat less", 26, 100, 0.5, true},
		{"a half, five standard deviations above", 75, 100, 0.5, false},
		{"a quarter in place of a half", 250, 1000, 0.5, false},
		{"one of a hundred, never drawn", 0, 100, 0.01, true},
		{"one of a hundred, drawn six times, as one of them is in twenty runs", 6, 100, 0.01, true},
		{"one of a hundred, drawn ten times", 10, 100, 0.01, false},
		{"a third in place of one of a hundred", 33, 100, 0.01, false},
		{"many tries", 10_150, 100_000, 0.1, true},
		{"many tries, too many hits", 10_600, 100_000, 0.1, false},
		{"what cannot be, never", 0, 100, 0, true},
		{"what cannot be, once", 1, 100, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.fits, Fits(tc.count, tc.tries, tc.probability))
		})
	}
}

// TestCountsAreSeldomRefused adds up what would be refused though all is well.
func TestCountsAreSeldomRefused(t *testing.T) {
	const tries = 100
	for endpoints := 2; endpoints <= 100; endpoints++ {
		probability, refused := 1/float64(endpoints), 0.0
		for count := range tries + 1 {
			if below, above := tails(count, tries, probability); !Fits(count, tries, probability) {
				refused += below + above - 1 // the probability of just this count
			}
		}
		assert.Less(t, refused, 2*TooRare, fmt.Sprint(endpoints, " endpoints"))
	}
}
