package trial

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
)

// TestAFamilyWithNothingToWriteMayFailSilently has the sync after an hour write what waits in IPv4, and fail in IPv6, where nothing waits.
func TestAFamilyWithNothingToWriteMayFailSilently(t *testing.T) {
	s, err := scenarios.Read("families.yaml", strings.NewReader(`
name: one family has nothing to write
topology: {ipFamily: dual, nodes: 1}
steps:
- fault: {family: ipv6, restoreFails: 1}
- fault: {restoreFails: 1}
- apply: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.2, ports: [{port: 80}]}}]
  syncMayFail: true
- advance: 3600s
- sync: true
  syncMayFail: true
`))
	require.NoError(t, err)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}
