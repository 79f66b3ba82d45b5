package cases_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// failsWithAffinity stands for a difference that needs a service with affinity and a sync after it.
func failsWithAffinity(c *cases.Case) bool {
	at := slices.IndexFunc(c.Steps, func(s cases.Step) bool {
		return s.Service != nil && s.Service.Spec.SessionAffinity == v1.ServiceAffinityClientIP
	})
	return at >= 0 && slices.ContainsFunc(c.Steps[at:], func(s cases.Step) bool { return s.Do == cases.Sync })
}

func TestShrinkKeepsWhatFailsAndNothingElse(t *testing.T) {
	shrunk := 0
	for number := range uint64(10) {
		c := cases.Generated(1, number)
		if !failsWithAffinity(c) {
			continue
		}
		before, err := c.Marshal()
		require.NoError(t, err)
		small := cases.Shrink(c, 1000, failsWithAffinity)
		after, err := c.Marshal()
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after), "the given case must stay as it is")
		require.True(t, failsWithAffinity(small))
		assert.Len(t, small.Steps, 2)
		assert.Empty(t, small.Steps[0].Service.Spec.ExternalIPs)
		assert.Empty(t, small.Steps[0].Service.Spec.Ports)
		assert.Equal(t, cases.Settings{}, small.Settings)
		shrunk++
	}
	assert.Positive(t, shrunk)
}

func TestShrinkStopsAfterSoManyTries(t *testing.T) {
	tries := 0
	cases.Shrink(cases.Generated(1, 1), 10, func(*cases.Case) bool { tries++; return true })
	assert.Equal(t, 10, tries)
}
