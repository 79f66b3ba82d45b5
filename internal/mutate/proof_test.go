package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProof(t *testing.T) {
	for _, row := range []struct {
		lines []string
		want  string
	}{
		{[]string{"alike", "alike"}, "equivalent over all first packets of 2 rulesets, 0 of them written otherwise"},
		{[]string{"alike", "otherwise", "alike"}, "equivalent over all first packets of 3 rulesets, 1 of them written otherwise"},
		{[]string{"otherwise", "apart P: drop, and without it accept", "apart Q: x"},
			"2 of 3 rulesets treat some packet otherwise: P: drop, and without it accept"},
	} {
		var p proof
		for _, line := range row.lines {
			require.NoError(t, p.add(line))
		}
		assert.Equal(t, row.want, p.String())
	}
	assert.Error(t, new(proof).add("alikeness"))
}
