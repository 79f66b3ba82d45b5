package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEnumerateFollowsEveryPath(t *testing.T) {
	var got []string
	var weights []float64
	path := ""
	err := Enumerate(func(c Chance) error {
		path = ""
		for _, k := range []uint32{certain / 2, 0, certain, certain / 4} {
			if c.Draw(k) {
				path += "1"
			} else {
				path += "0"
			}
			if path == "1" {
				return nil
			}
		}
		return nil
	}, func(p float64) error {
		got, weights = append(got, path), append(weights, p)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"1", "0011", "0010"}, got)
	assert.Equal(t, []float64{0.5, 0.125, 0.375}, weights)
}

func TestEnumerateAddsUpToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draws := rapid.SliceOfN(rapid.Uint32Range(0, certain), 0, 8).Draw(t, "draws")
		sum := 0.0
		err := Enumerate(func(c Chance) error {
			for _, k := range draws {
				c.Draw(k)
			}
			return nil
		}, func(p float64) error { sum += p; return nil })
		require.NoError(t, err)
		require.InDelta(t, 1, sum, 1e-12)
	})
}

func TestEnumerateGivesUp(t *testing.T) {
	err := Enumerate(func(c Chance) error {
		for range 20 {
			c.Draw(certain / 2)
		}
		return nil
	}, func(float64) error { return nil })
	require.ErrorIs(t, err, errTooManyOutcomes)
}

func TestSeededChanceRepeats(t *testing.T) {
	a, b := SeededChance(7), SeededChance(7)
	trues := 0
	for range 1000 {
		drawn := a.Draw(certain / 4)
		require.Equal(t, drawn, b.Draw(certain/4))
		if drawn {
			trues++
		}
	}
	assert.InDelta(t, 250, trues, 60)
}
