package live

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/users/large"
)

// largeCluster is a cluster of services with some endpoints each, and what is wrong with it.
func largeCluster(tb testing.TB, services, endpoints int, fault large.Fault) *Cluster {
	c, err := large.New(services, endpoints)
	require.NoError(tb, err)
	require.NoError(tb, c.Break(fault))
	return &Cluster{Objects: c.Objects, Config: c.Config, Snapshots: c.Snapshots, AllPackets: true, MostDevices: 300}
}

// One thing that breaks a large cluster is one screen.
func TestALargeClusterIsOneScreen(t *testing.T) {
	const services = 41 // more than a screen has lines
	sound, err := largeCluster(t, services, 1, large.Sound).Examine(t.Context())
	require.NoError(t, err)
	require.Empty(t, sound.Findings, screenOf(t, sound))
	for fault, code := range map[large.Fault]cause.Code{
		large.HalfTheRules: cause.RuleMissing, large.ForwardingOff: cause.ForwardingOff, large.ForwardDrop: cause.Policy,
	} {
		report, err := largeCluster(t, services, 1, fault).Examine(t.Context())
		require.NoError(t, err)
		text := screenOf(t, report)
		require.NotEmpty(t, report.Findings)
		assert.Equal(t, code, report.Findings[0].Code, text)
		assert.Len(t, report.Findings[0].Services, services, text)
	}
}

// BenchmarkExamine examines a cluster of which one node has lost half of its rules.
func BenchmarkExamine(b *testing.B) {
	for _, services := range []int{100, 300, 1000} {
		b.Run(fmt.Sprintf("%d services", services), func(b *testing.B) {
			c := largeCluster(b, services, 5, large.HalfTheRules)
			b.ReportAllocs()
			for b.Loop() {
				report, err := c.Examine(b.Context())
				require.NoError(b, err)
				require.NotEmpty(b, report.Findings)
			}
		})
	}
}
