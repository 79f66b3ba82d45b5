package trial

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
)

// The proxier is sound in everything that the shipped scenarios do.
func TestShippedScenariosHold(t *testing.T) {
	all, err := scenarios.Load("../testdata/cases")
	require.NoError(t, err)
	var sum Figures
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			report, err := Run(t.Context(), s, Options{})
			require.NoError(t, err)
			sum.Merge(&report.Figures)
			for _, f := range report.Findings {
				assert.Fail(t, f.Clause.Name, "%s: step %d %s %v %+v\nwant %s\ngot  %s", s.Pos.File, f.Step, f.Node, f.Point, f.Attempt, f.Want, f.Got)
			}
		})
	}
	t.Logf("%+v", sum)
}

// The port beside port 1 is none that a client can call.
func TestServiceOnPortOne(t *testing.T) {
	s, err := scenarios.Read("port-one.yaml", strings.NewReader(`
name: port one
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 1}]}}
steps:
- sync: true
`))
	require.NoError(t, err)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

// The same case gives the same report, with its findings and figures.
func TestReportsAreTheSame(t *testing.T) {
	s := read(t, cluster+web("")+dns("")+webGoes)
	proxier := without(`-j REJECT`)
	first, err := Run(t.Context(), s, Options{Proxier: proxier, Stop: 100, Rules: true})
	require.NoError(t, err)
	require.NotEmpty(t, first.Findings)
	for range 3 {
		again, err := Run(t.Context(), s, Options{Proxier: proxier, Stop: 100, Rules: true})
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

// A case that cannot be run is an error and no finding.
func TestCasesOutOfOrder(t *testing.T) {
	_, err := Run(t.Context(), &scenarios.Scenario{Topology: scenarios.Topology{Pods: []scenarios.Pod{{Name: "p", Node: "nowhere"}}}}, Options{})
	require.ErrorContains(t, err, "nowhere")

	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = Run(ctx, read(t, cluster+nothing), Options{})
	require.ErrorIs(t, err, context.Canceled)
}
