package forall_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestLawForgettingMakesNoDifference forgets after every destination, or after a few.
func TestLawForgettingMakesNoDifference(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		h, f := lawFates(t, ruleset(drawnRules(t)), nil)
		o := forall.Options{Families: only4, Chance: forall.Exact}
		g, err := forall.Of(h, o.ForgettingAfter(rapid.SampledFrom([]int{1, 50, 300}).Draw(t, "nodes")))
		require.NoError(t, err)
		require.True(t, f.Equal(g))
	})
}

// TestForgettingServices does so with services in both languages.
func TestForgettingServices(t *testing.T) {
	for _, s := range []services{{count: 40}, {count: 40, native: true}} {
		h := s.host(t)
		f := fatesOf(t, h, nil)
		for _, nodes := range []int{1, 1000} {
			g, err := forall.Of(h, forall.Options{Families: only4}.ForgettingAfter(nodes))
			require.NoError(t, err)
			require.True(t, f.Equal(g))
		}
	}
}

// TestServicesOfNFTables compares the fates of services with walks, and says the same in another order.
func TestServicesOfNFTables(t *testing.T) {
	s := services{count: 40, native: true}
	f := agrees(t, s.host(t), 2000/sample.Every(4))
	s.reversed = true
	g, err := forall.Of(s.host(t), forall.Options{Chance: forall.Exact, Against: f})
	require.NoError(t, err)
	require.True(t, f.Equal(g))
}
