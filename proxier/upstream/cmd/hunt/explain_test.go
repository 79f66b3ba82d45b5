package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	"github.com/chainwalk/chainwalk/scenarios/trial"
)

// sameCause are findings that come of what another one comes of.
var sameCause = map[string]string{
	"flush-of-table-nat": "flush-of-one-table", "flush-of-table-filter": "flush-of-one-table", "flush-opens-loopback": "flush-of-one-table",
}

// unseen are findings that the judge does not see in these steps, and why.
var unseen = map[string]string{
	"held-lock-taken-for-flush": "costs of syncs during a fault are not judged",
}

// TestFindingsAreToldApart has the hunt judge the steps of each finding, whatever they expect, and say by itself what violations come of.
func TestFindingsAreToldApart(t *testing.T) {
	all, err := scenarios.Load("../../testdata/findings")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, s := range all {
		name := strings.TrimSuffix(filepath.Base(s.Pos.File), ".yaml")
		t.Run(name, func(t *testing.T) {
			again := func(ctx context.Context, o trial.Options) (*trial.Report, error) { return trial.Run(ctx, s, o) }
			report, err := again(t.Context(), trial.Options{Proxier: peers.Process})
			require.NoError(t, err)
			if why := unseen[name]; why != "" {
				assert.Empty(t, report.Findings, why)
				return
			}
			require.NotEmpty(t, report.Findings, "the judge finds nothing")
			require.NoError(t, explain(t.Context(), report, again, nil))
			want, ok := sameCause[name]
			if !ok {
				want = name
			}
			for _, f := range report.Findings {
				if f.Clause == oracle.NoSyncForNothing {
					assert.Equal(t, syncsForNothing, f.Cause)
					continue
				}
				assert.Equal(t, want, f.Cause, "%s after step %d: want %s, got %s", f.Clause.Name, f.Step, f.Want, f.Got)
			}
		})
	}
}

// TestWhatNoMendHoldsIsOfNoKnownCause has every kube-proxy, however mended, break the same, and one with all mends something else too.
func TestWhatNoMendHoldsIsOfNoKnownCause(t *testing.T) {
	again := func(context.Context, trial.Options) (*trial.Report, error) {
		return &trial.Report{Findings: []trial.Finding{{Clause: oracle.StaleUDPFlow, Step: 1}, {Clause: oracle.NeverPanics, Step: 2}}}, nil
	}
	report := &trial.Report{Findings: []trial.Finding{{Clause: oracle.StaleUDPFlow, Step: 1}}}
	require.NoError(t, explain(t.Context(), report, again, nil))
	require.Len(t, report.Findings, 2)
	for _, f := range report.Findings {
		assert.Empty(t, f.Cause)
	}
}
