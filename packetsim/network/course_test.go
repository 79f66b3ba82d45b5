package network

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestEstablishAlongIsEstablishQuietly makes each way of some connections in two networks, once found anew and once along its course, and
// sends an answer, of which a probe keeps nothing.
func TestEstablishAlongIsEstablishQuietly(t *testing.T) {
	for _, c := range []Connect{
		{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")},
		{From: "outside", Proto: inet.TCP, To: netip.MustParseAddrPort("192.168.0.1:30080")},
		{From: "a1", Proto: inet.UDP, To: netip.MustParseAddrPort("10.96.0.10:53")},
	} {
		var courses []Course
		ways, err := newNetLab(t, labRules).Courses(c, nil, func(_ *Reached, course Course) { courses = append(courses, course.Clone()) })
		require.NoError(t, err)
		require.Len(t, courses, len(ways))
		require.NotEmpty(t, ways)
		for i := range ways {
			found, along := newNetLab(t, labRules), newNetLab(t, labRules)
			want, err := found.EstablishQuietly(c, func(all []Reached) int {
				assert.Equal(t, ways, all)
				return i
			})
			require.NoError(t, err)
			got, reached, err := along.EstablishAlong(c, courses[i])
			require.NoError(t, err)
			assert.Equal(t, ways[i], reached)
			assert.Equal(t, want.Connection, got.Connection)
			assert.Equal(t, conntracks(found), conntracks(along))

			probed, err := got.Probe(FromServer, FlowPacket{})
			require.NoError(t, err)
			assert.Equal(t, conntracks(found), conntracks(along), "a probe keeps nothing")
			sent, err := want.Reach(FromServer, FlowPacket{})
			require.NoError(t, err)
			assert.Equal(t, sent, probed)
		}
	}
}

func conntracks(l *netLab) map[string]any {
	out := map[string]any{}
	for _, name := range l.Hosts() {
		out[name] = l.Host(name).Conntrack()
	}
	return out
}
