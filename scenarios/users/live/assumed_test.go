package live

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// A node without routes to other nodes' pods gives their packets to the router, which may know the way or not: each answer begins with
// that.
func TestWhatTheRouterKnowsIsSaidFirst(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	cluster.AllPackets = false
	worker := cluster.Snapshots[1]
	worker.Routes = slices.DeleteFunc(worker.Routes, func(r snapshot.Route) bool {
		return r.Dst.String() == "10.244.1.0/24" || r.Dst.String() == "10.244.0.0/24"
	})
	report := examined(t, cluster)
	assert.Regexp(t, "^nothing is wrong, if the router 172.18.0.1 knows the way to 10.244.0.2, 10.244.0.3, .* and [0-9]+ more pods: ",
		screenOf(t, report))
	w, err := cluster.Why(t.Context(), aClient, web)
	require.NoError(t, err)
	assert.Regexp(t, "^yes, if the router 172.18.0.1 knows the way to 10.244.1.2 and 10.244.1.3: pod/shop/one-", whyText(t, w))
	in, err := inet.ParseInput("tcp 10.244.2.2:40000 > 10.96.125.22:80")
	require.NoError(t, err)
	view, err := cluster.View(in.Src, in.Dst)
	require.NoError(t, err)
	followed, err := view.Follow(in, "")
	require.NoError(t, err)
	assert.Equal(t, []string{"the router 172.18.0.1 knows the way to 10.244.1.2 and 10.244.1.3"}, followed.Assumed)
	sound := small(t, "legacy", dumpNodes...)
	assert.Empty(t, examined(t, sound).Assumed)
}

// Where there are too many connections to follow each for what it meets that is not walked, the answer begins with how many were not.
func TestWhatWasNotFollowedIsSaidFirst(t *testing.T) {
	for _, tc := range []struct {
		name   string
		device string // the table's chain is about packets that come by it
		want   string
	}{
		{"a doubt", "", "^undecided: [0-9]+ of [0-9]+ connections were not followed, and may meet what is not walked or not known; " +
			"unless table netdev fw .*, nothing is wrong with [0-9]+ connections on 3 nodes"},
		{"which none met that was followed", "none", "^undecided: [0-9]+ of [0-9]+ connections were not followed, and may meet what is not " +
			"walked or not known; nothing is wrong with [0-9]+ connections on 3 nodes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := small(t, "legacy", dumpNodes...)
			cluster.Snapshots[1].NFTables = []snapshot.NFTable{
				{Family: "netdev", Name: "fw", Chains: []snapshot.NFChain{{Name: "in", Hook: "ingress", Device: tc.device}}},
			}
			cluster.doubted = 100
			report := examined(t, cluster)
			assert.Regexp(t, tc.want, screenOf(t, report))
			assert.Equal(t, State{"undecided", "open"}, report.State())
			followed := report.Connections - report.NotFollowed
			assert.Positive(t, report.NotFollowed)
			assert.Greater(t, followed, 50)
			cluster.doubted = 0
			assert.Zero(t, examined(t, cluster).NotFollowed)
		})
	}
}

// A pod that calls another node's port of a Local service, with the endpoint on its own node, gets no answer: nobody promised one, and
// doctor says it.
func TestWhatGetsNoAnswerIsSaid(t *testing.T) {
	report := examined(t, recorded(t, "legacy", dumpNodes...))
	text := textOf(t, report)
	assert.Empty(t, report.Findings)
	assert.Positive(t, report.Unanswered)
	assert.Regexp(t, `\nnote: [0-9]+ connections get no answer, and Kubernetes promises none \(`+
		string(cause.ReplyElsewhere)+`\), such as TCP `, text)
}

// Without route_localnet, calls of node ports at loopback addresses are lost: that is the cause, and not the order of services in a chain
// that they share, which means nothing. Where nothing says what it is, nothing is wrong for sure.
func TestRouteLocalnetIsTheCause(t *testing.T) {
	const key = "net.ipv4.conf.all.route_localnet"
	off := small(t, "nft", dumpNodes...)
	off.Snapshots[1].Sysctls[key] = "0"
	report := examined(t, off)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, cause.RouteLocalnet, report.Findings[0].Code)
	unknown := small(t, "nft", dumpNodes...)
	delete(unknown.Snapshots[1].Sysctls, key)
	unknown.Snapshots[1].LacksSettings(false, "no file has it")
	report = examined(t, unknown)
	assert.Empty(t, report.Findings)
	assert.Regexp(t, "^undecided: unless "+key+" is 0", screenOf(t, report))
}
