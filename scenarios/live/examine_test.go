package live

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingIsWrongWithTheRecordedCluster(t *testing.T) {
	for _, tools := range []string{"legacy", "nft"} {
		t.Run(tools, func(t *testing.T) {
			report, err := recorded(t, tools, dumpNodes...).Examine(t.Context())
			require.NoError(t, err)
			var b strings.Builder
			require.NoError(t, report.WriteText(&b))
			t.Log(b.String())
			assert.Empty(t, report.Findings)
		})
	}
}
