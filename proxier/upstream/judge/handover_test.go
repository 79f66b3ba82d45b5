package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

func TestHandOverLeavesNothing(t *testing.T) {
	report := NewReport()
	for number := range uint64(20) {
		c := cases.Generated(4712, number)
		for _, back := range []bool{false, true} {
			differences, err := HandOver(c, len(c.Steps)/2, back, report)
			require.NoError(t, err)
			require.Empty(t, differences, "case %d, back %v", number, back)
		}
	}
	assert.Equal(t, 40, report.HandOvers)
	assert.Greater(t, report.Stale, 20)
	assert.Greater(t, report.Rules, 1000)
	assert.Greater(t, report.Packets, 1000)
}

// The service goes while nobody runs: its chains and its rule for the node port must go.
func TestHandOverWhileTheServiceGoes(t *testing.T) {
	c := plainCase()
	after := len(c.Steps)
	c.Steps = append(c.Steps, cases.Step{DeleteService: "default/web"}, cases.Step{Do: cases.Sync})
	for _, back := range []bool{false, true} {
		first, next, err := handOver(&c.Settings, back)
		require.NoError(t, err)
		objects := cases.NewObjects()
		for i := range c.Steps[:after] {
			objects.Apply(&c.Steps[i], first)
			play(c.Steps[i].Do, first)
		}
		had := ownChains("", first, v1.IPv4Protocol)
		started, err := next()
		require.NoError(t, err)
		assert.Equal(t, had, ownChains("", started, v1.IPv4Protocol), "nothing is written before the first sync")
		differences, err := HandOver(c, after, back, NewReport())
		require.NoError(t, err)
		assert.Empty(t, differences)
	}
}

// What is too much, or missing, after the first sync is found.
func TestHandOverFindsWhatIsLeft(t *testing.T) {
	for name, rules := range map[string][][]string{
		"a stale chain":        {{"-t", "nat", "-N", "KUBE-SVC-STALE"}},
		"a stale rule":         {{"-t", "nat", "-I", "KUBE-SERVICES", "-d", "172.30.0.1", "-j", "KUBE-NODEPORTS"}},
		"a rule that is gone":  {{"-t", "nat", "-D", "KUBE-MARK-MASQ", "1"}},
		"a table that is void": {{"-t", "filter", "-F"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := plainCase()
			objects := cases.NewObjects()
			for i := range c.Steps {
				objects.Apply(&c.Steps[i])
			}
			ours, err := peers.NewChainwalk(&c.Settings)
			require.NoError(t, err)
			started := &saboteur{Peer: ours, rules: rules}
			deliver(objects, objects.SortedSlices(), started)
			h := handedOver{settings: &c.Settings, objects: objects, started: started, errs: started.Sync()}
			differences, err := h.compare(v1.IPv4Protocol, NewReport())
			require.NoError(t, err)
			assert.NotEmpty(t, differences)
			differences, err = h.compare(v1.IPv6Protocol, NewReport())
			require.NoError(t, err)
			assert.Empty(t, differences)
		})
	}
}
