package differ

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
)

// The values come from tables of the distribution.
func TestChiSquaredTail(t *testing.T) {
	for _, c := range []struct {
		x    float64
		n    int
		tail float64
	}{
		{3.841, 1, 0.05}, {6.635, 1, 0.01}, {5.991, 2, 0.05}, {18.307, 10, 0.05}, {124.342, 100, 0.05}, {23.928, 1, 1e-6}, {0, 3, 1},
		{1, 4, 0.9098},
	} {
		assert.InEpsilon(t, c.tail, chiSquaredTail(c.x, c.n), 0.01, "%v with %d", c.x, c.n)
	}
}

func TestFitTellsFairDrawsFromUnfairOnes(t *testing.T) {
	const half, rare = 1 << 30, 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	sample := func(k, real uint32, n int) (draws []draw) {
		for range n {
			draws = append(draws, draw{k, r.Uint32()>>1 < real})
		}
		return draws
	}
	fair := append(sample(half, half, 3000), sample(rare, rare, 100)...)
	assert.Greater(t, fitDraws(fair).P, 1e-3)
	assert.Equal(t, 1, fitDraws(fair).Freedom, "the rare draws are too few to count")
	assert.Less(t, fitDraws(sample(half, half/4*5, 3000)).P, falseAlarm)
	assert.Equal(t, 1.0, fitDraws(nil).P)
}

// TestGuideFallsTheWayOfItsOutcome walks a tree of draws and goes each way again.
func TestGuideFallsTheWayOfItsOutcome(t *testing.T) {
	probabilities := []uint32{1 << 29, 1 << 30, 3 << 28}
	walk := func(c packetsim.Chance) string {
		path := ""
		for _, k := range probabilities {
			if c.Draw(k) {
				path += "1"
				if k == 1<<30 {
					break
				}
			} else {
				path += "0"
			}
			c.Draw(0)
		}
		return path
	}
	var paths []string
	var outcomes []packetsim.Outcome
	require.NoError(t, packetsim.Enumerate(func(c packetsim.Chance) error {
		paths = append(paths, walk(c))
		return nil
	}, func(p float64) error {
		outcomes = append(outcomes, packetsim.Outcome{Probability: p})
		return nil
	}))
	require.Len(t, paths, 6)
	for n, path := range paths {
		assert.Equal(t, path, walk(newGuide(outcomes, n)))
	}
}
