package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

const findings = "../../testdata/findings"

// sameCause are findings that come of what another one comes of.
var sameCause = map[string]string{
	"flush-of-table-nat": "flush-of-one-table", "flush-of-table-filter": "flush-of-one-table", "flush-opens-loopback": "flush-of-one-table",
	"flows-of-node-port-without-endpoints": "flows-of-service-without-endpoints", // until v1.36
	"nft-service-cidrs-wait":               "service-cidrs-wait",
	"nft-deleted-table":                    "deleted-table-not-noticed",
	"nft-node-addresses-wait":              "node-addresses-not-noticed", // until v1.36
	"nft-endpoint-without-node-name":       "endpoint-without-node-name",
	"nft-comment-kept":                     "comment-kept",
	"nft-affinity-timeout-kept":            "affinity-timeout-kept",
	"nft-failed-start-forgotten":           "failed-start-forgotten",
}

// unseen are findings that the judge does not see in these steps, and why.
var unseen = map[string]string{
	"held-lock-taken-for-flush":           "costs of syncs during a fault are not judged",
	"nft-echo-request-refused":            "the specification leaves open what becomes of it (ping-of-cluster-ip)",
	"nft-source-ranges-without-endpoints": "the specification lets a client outside of the ranges be dropped (source-ranges)",
}

// unjudged are findings that are not judged, and why.
var unjudged = map[string]string{
	"nft-shared-address": "kube-proxy takes what the services claim from a Go map: what one play has says nothing for a mend or against it",
	"nft-long-name":      "the first sync fails, so that there is no state to judge", // until v1.36
}

// judgedFindings are the findings that the linked kube-proxy has, without those that are not judged.
func judgedFindings(t *testing.T) map[string]*scenarios.Scenario {
	files := broken(t, findings)
	for name := range unjudged {
		delete(files, name)
	}
	return files
}

// broken are the scenarios of a folder that the linked kube-proxy breaks, by name.
func broken(t *testing.T, folder string) map[string]*scenarios.Scenario {
	all, err := scenarios.Load(folder)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	out := map[string]*scenarios.Scenario{}
	for _, s := range all {
		if scenarios.Run(t.Context(), s, sim.Backend{Options: sim.Options{Proxier: peers.Process}}).Failed() {
			out[strings.TrimSuffix(filepath.Base(s.Pos.File), ".yaml")] = s
		}
	}
	return out
}

// judged is what the judge says of a scenario with kube-proxy, and how to ask again.
func judged(t *testing.T, s *scenarios.Scenario) (*trial.Report, fuzz.Again) {
	again := func(ctx context.Context, o trial.Options) (*trial.Report, error) { return trial.Run(ctx, s, o) }
	report, err := again(t.Context(), trial.Options{Proxier: peers.Process})
	require.NoError(t, err)
	return report, again
}

// anything asks of cases of both modes.
var anything = &asker{mends: peers.AllMends()}

// TestFindingsAreToldApart has the hunt judge the steps of each finding, whatever they expect, and say by itself what violations come of.
func TestFindingsAreToldApart(t *testing.T) {
	for name, s := range judgedFindings(t) {
		t.Run(name, func(t *testing.T) {
			report, again := judged(t, s)
			if why := unseen[name]; why != "" {
				assert.Empty(t, report.Violations, why)
				return
			}
			require.NotEmpty(t, report.Violations, "the judge finds nothing")
			ask := &asker{mends: peers.Doing(strings.HasPrefix(name, "nft-"))}
			require.NoError(t, ask.explain(t.Context(), report, again))
			want, ok := sameCause[name]
			if !ok || peers.Minor >= 37 && name == "flows-of-node-port-without-endpoints" {
				want = name
			}
			var causes []string
			for _, f := range report.Violations {
				causes = append(causes, f.Cause)
				if f.Clause == oracle.NoSyncForNothing {
					assert.Equal(t, peers.SameNotTold.String(), f.Cause)
					continue
				}
				if f.Clause == oracle.SecondSyncWritesNothing && f.Cause == peers.SameNotRestored.String() {
					continue
				}
				assert.Equal(t, want, f.Cause, "%s after step %d: want %s, got %s", f.Clause.Name, f.Step, f.Want, f.Got)
			}
			assert.Contains(t, causes, want)
		})
	}
}

// onTheTrackRecord are the files of the track record that kube-proxy breaks, v1.36 and v1.37 alike, and what that comes of.
var onTheTrackRecord = map[string]string{
	"110334-unused-chains-kept":                  "slice-loses-its-service",
	"112604-udp-changes-lost-by-conntrack":       "slice-loses-its-service",
	"112604-udp-changes-lost-by-failure":         "slice-loses-its-service",
	"139628-udp-flows-without-endpoints-kept":    "slice-loses-its-service",
	"19029-udp-flows-to-gone-endpoints-kept":     "slice-loses-its-service",
	"34006-no-op-written":                        "", // the judge bounds what a sync writes that was told of something, and does not forbid it
	"42473-udp-flows-of-former-addresses-kept":   "flows-of-deleted-service",
	"48370-udp-flows-untranslated-kept":          "flows-of-changed-service",
	"59368-udp-flows-of-external-addresses-kept": "slice-loses-its-service",
	"81517-flush-missed":                         "flush-of-one-table",
	"none-conntrack-before-rules":                "flows-of-deleted-service",
	"loopback-closed-in-both-modes":              "loopback-opened-by-restart",
}

// onTheTrackRecordInModeNFTables are those of mode nftables that kube-proxy breaks. docs/findings.md says what they come of; the hunt has
// no names for these causes.
var onTheTrackRecordInModeNFTables = []string{
	"130119-nft-clients-lost-by-restart", "135800-nft-hairpin-keeps-source", "135800-nft-hairpin-of-unplaced-endpoints",
	"none-nft-echo-refused", "none-nft-service-cidrs-wait", "none-nft-deleted-table-stays-away",
	"none-nft-unused-chains-kept", // no fault: it waits for a second by the clock of the machine, which is not the scenario's
}

// nodeAddresses is the file that kube-proxy breaks before v1.37, which starts again when the addresses in the Node object change.
const nodeAddresses = "none-nft-node-addresses-wait"

// byChance is the file that kube-proxy breaks in some runs, as its maps have no order: the owner of an address that two services want.
const byChance = "none-nft-owner-of-the-day"

// TestTrackRecordIsToldApart plays the files of the track record with kube-proxy, and has the hunt say what those come of that it breaks.
func TestTrackRecordIsToldApart(t *testing.T) {
	broken := broken(t, "../../../../scenarios/testdata/regress")
	delete(broken, byChance)
	if peers.Minor < 37 {
		assert.Contains(t, broken, nodeAddresses)
		delete(broken, nodeAddresses)
	}
	assert.ElementsMatch(t, append(slices.Collect(maps.Keys(onTheTrackRecord)), onTheTrackRecordInModeNFTables...),
		slices.Collect(maps.Keys(broken)))
	for name, s := range broken {
		if slices.Contains(onTheTrackRecordInModeNFTables, name) {
			continue
		}
		report, again := judged(t, s)
		require.NoError(t, anything.explain(t.Context(), report, again))
		var causes []string
		for _, f := range report.Violations {
			causes = append(causes, f.Cause)
		}
		if cause := onTheTrackRecord[name]; cause == "" {
			assert.Empty(t, causes, name)
		} else {
			assert.Contains(t, causes, cause, name)
		}
	}
}

// tcpAlone is a case without UDP, in which a sync is made of a change and nothing goes wrong. In the end each node is told again of all.
const tcpAlone = `name: nothing but TCP
topology: {nodes: 1}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.2, ports: [{port: 80}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80}]
  endpoints: [{addresses: [10.244.1.10]}]
steps:
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
    addressType: IPv4
    ports: [{port: 80}]
    endpoints: [{addresses: [10.244.1.10]}, {addresses: [10.244.1.11]}]
`

func scenario(t *testing.T, text string) *scenarios.Scenario {
	file := filepath.Join(t.TempDir(), "case.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	all, err := scenarios.Load(file)
	require.NoError(t, err)
	return all[0]
}

// TestCostsAreNotOfFlows has what kube-proxy does for nothing come of that, and not of a mend of connections.
func TestCostsAreNotOfFlows(t *testing.T) {
	report, again := judged(t, scenario(t, tcpAlone))
	require.NoError(t, anything.explain(t.Context(), report, again))
	causes := map[*oracle.Clause]string{}
	for _, f := range report.Violations {
		causes[f.Clause] = f.Cause
	}
	assert.Equal(t, map[*oracle.Clause]string{
		oracle.NoSyncForNothing: "syncs-for-nothing", oracle.SecondSyncWritesNothing: "restores-for-nothing",
	}, causes)
}

// all is more findings than there are clauses.
const all = 1000

// TestMendsBreakNothing has a case in which there is nothing to mend but costs: a kube-proxy with a mend of something else breaks what
// it breaks without, and nothing more.
func TestMendsBreakNothing(t *testing.T) {
	s := scenario(t, tcpAlone)
	clauses := func(proxier node.Proxier) (out []string) {
		report, err := trial.Run(t.Context(), s, trial.Options{Proxier: proxier, Stop: all})
		require.NoError(t, err)
		for _, f := range report.Violations {
			out = append(out, f.Clause.Name)
		}
		return out
	}
	unmended := clauses(peers.Process)
	assert.Equal(t, unmended, clauses(peers.Mended(peers.Placebo)), "the placebo")
	for _, m := range peers.AllMends().List() {
		if got := clauses(peers.Mended(peers.MendsOf(m))); m == peers.SameNotRestored || m == peers.SameNotTold {
			assert.Less(t, len(got), len(unmended), m.String())
		} else {
			assert.Equal(t, unmended, got, m.String())
		}
	}
	assert.Empty(t, clauses(peers.Mended(peers.AllMends())), "all of them")
}

// TestThePlaceboExplainsNothing has the placebo hold none of the findings.
func TestThePlaceboExplainsNothing(t *testing.T) {
	for name, s := range judgedFindings(t) {
		report, again := judged(t, s)
		e := &explanation{ctx: t.Context(), again: again}
		e.begin()
		for i := range report.Violations {
			holds, err := e.holds(&report.Violations[i], peers.Placebo, 1)
			require.NoError(t, err)
			assert.False(t, holds, "%s: %s", name, report.Violations[i].Clause.Name)
		}
	}
}

// TestWhatChanceHidesIsOfNoKnownCause has a violation come up in every other play, whatever is mended: that it does not come up once
// says nothing for the mend that was tried then.
func TestWhatChanceHidesIsOfNoKnownCause(t *testing.T) {
	for seed := range uint64(50) {
		chance := rand.New(rand.NewPCG(seed, 0))
		again := func(_ context.Context, o trial.Options) (*trial.Report, error) {
			if len(o.Except) == 0 || chance.IntN(2) == 0 {
				return &trial.Report{}, nil
			}
			return &trial.Report{Violations: []trial.Violation{{Clause: oracle.StaleUDPFlow, Step: 1}}}, nil
		}
		report := &trial.Report{Violations: []trial.Violation{{Clause: oracle.StaleUDPFlow, Step: 1}}}
		require.NoError(t, anything.explain(t.Context(), report, again))
		assert.Empty(t, report.Violations[0].Cause, "seed %d", seed)
	}
}

// TestAMendExplainsItsClausesOnly has a violation vanish with any mend, and only those that are there for its clause be believed.
func TestAMendExplainsItsClausesOnly(t *testing.T) {
	for clause, want := range map[*oracle.Clause]string{
		oracle.NoSyncForNothing: "syncs-for-nothing", oracle.CostByChange: "restores-for-nothing",
		oracle.SecondSyncWritesNothing: "restores-for-nothing", oracle.StaleUDPFlow: "duplicates-by-chance",
	} {
		calls := 0
		again := func(context.Context, trial.Options) (*trial.Report, error) {
			calls++ // all mends, the placebo, the first mend of the clause, the placebo
			before, tries := 1, plays
			if peers.Breaking(clause)&peers.Costs() != 0 {
				before, tries = costComes, costTries
			}
			if calls > 1 && calls <= 1+before || calls > 1+before+tries {
				return &trial.Report{Violations: []trial.Violation{{Clause: clause, Step: 1}}}, nil
			}
			return &trial.Report{}, nil
		}
		report := &trial.Report{Violations: []trial.Violation{{Clause: clause, Step: 1}}}
		require.NoError(t, anything.explain(t.Context(), report, again))
		assert.Equal(t, want, report.Violations[0].Cause, clause.Name)
	}
}

// TestCostsAreExplainedInFewPlays has two clauses about costs broken in each play but those with their mends: both share the plays with the
// placebo, and what a clause is broken by twice is asked once.
func TestCostsAreExplainedInFewPlays(t *testing.T) {
	told, written := trial.Violation{Clause: oracle.NoSyncForNothing, Step: 1}, trial.Violation{Clause: oracle.SecondSyncWritesNothing, Step: 1}
	calls := 0
	again := func(_ context.Context, o trial.Options) (*trial.Report, error) {
		calls++
		switch {
		case calls > 1 && calls <= 1+costComes:
			assert.NotContains(t, o.Except, told.Clause)
			assert.NotContains(t, o.Except, written.Clause)
			return &trial.Report{Violations: []trial.Violation{told, written}}, nil
		case calls > 1:
			assert.Len(t, o.Except, len(oracle.Clauses())-1)
			assert.Equal(t, 1, o.Until)
		}
		return &trial.Report{}, nil
	}
	report := &trial.Report{Violations: []trial.Violation{told, written, told}}
	require.NoError(t, anything.explain(t.Context(), report, again))
	assert.Equal(t, 1+costComes+2*costTries, calls)
	var causes []string
	for _, f := range report.Violations {
		causes = append(causes, f.Cause)
	}
	assert.Equal(t, []string{"syncs-for-nothing", "restores-for-nothing", "syncs-for-nothing"}, causes)
}

// TestWhatNoMendHoldsIsOfNoKnownCause has every kube-proxy, however mended, break the same, and one with all mends something else too.
func TestWhatNoMendHoldsIsOfNoKnownCause(t *testing.T) {
	again := func(context.Context, trial.Options) (*trial.Report, error) {
		return &trial.Report{Violations: []trial.Violation{{Clause: oracle.StaleUDPFlow, Step: 1}, {Clause: oracle.NeverPanics, Step: 2}}}, nil
	}
	report := &trial.Report{Violations: []trial.Violation{{Clause: oracle.StaleUDPFlow, Step: 1}}}
	require.NoError(t, anything.explain(t.Context(), report, again))
	require.Len(t, report.Violations, 2)
	for _, f := range report.Violations {
		assert.Empty(t, f.Cause)
	}
}
