package live

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// A node whose conntrack is full takes no new connection: doctor, why and trace name that. The limit is one for the whole machine, so no
// test in namespaces makes it.
func TestConntrackThatIsFullIsNamed(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	cluster.AllPackets = true
	for _, taken := range cluster.Snapshots {
		taken.Conntrack = nil
		for port := uint16(1); port <= 2; port++ { // connections of another time, which nobody answers to any more
			there := snapshot.Tuple{Proto: inet.TCP, Src: netip.MustParseAddr("10.9.0.1"), Dst: netip.MustParseAddr("10.9.0.2"), SrcPort: port,
				DstPort: 80}
			back := snapshot.Tuple{Proto: inet.TCP, Src: there.Dst, Dst: there.Src, SrcPort: there.DstPort, DstPort: port}
			taken.Conntrack = append(taken.Conntrack,
				snapshot.Connection{Original: there, Reply: back, State: "TIME_WAIT", Timeout: 100, Replied: true, Assured: true})
		}
		taken.Sysctls["net.netfilter.nf_conntrack_max"] = "2"
	}
	report := examined(t, cluster)
	require.NotEmpty(t, report.Findings)
	assert.Equal(t, cause.ConntrackFull, report.Findings[0].Code, screenOf(t, report))
	assert.Equal(t, "net.netfilter.nf_conntrack_max = 2", report.Findings[0].What)
	w, err := cluster.Why(t.Context(), aClient, web)
	require.NoError(t, err)
	assert.Equal(t, WhyNo, w.Answer)
	require.NotEmpty(t, w.Causes)
	assert.Equal(t, cause.ConntrackFull, w.Causes[0].Code)
	in, err := inet.ParseInput("tcp 10.244.2.2:40000 > 10.96.125.22:80")
	require.NoError(t, err)
	view, err := cluster.View(in.Src, in.Dst)
	require.NoError(t, err)
	followed, err := view.Follow(in, "")
	require.NoError(t, err)
	causes, err := view.Causes(followed)
	require.NoError(t, err)
	require.NotEmpty(t, causes)
	assert.Equal(t, cause.ConntrackFull, causes[0].Code)
}
