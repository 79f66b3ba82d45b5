package kind

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// glimpse is a packet that an agent has seen, in short.
type glimpse struct {
	agent, machine string
	point          probe.Point
	device, packet string
}

func sightings(t *testing.T, glimpses []glimpse) map[agent][]sighting {
	t.Helper()
	out := map[agent][]sighting{}
	for i, g := range glimpses {
		a := agent{g.machine, g.agent}
		s, ok := readSighting(a, probe.Sighting{Point: g.point, Device: g.device, Packet: g.packet, When: time.Unix(int64(i), 0)})
		require.True(t, ok, g.packet)
		out[a] = append(out[a], s)
	}
	return out
}

// TestAJourneyEndsWhereThePacketWasSeenLast follows packets of the small scenario: client is the pod worker-0, server the pod worker2-0.
func TestAJourneyEndsWhereThePacketWasSeenLast(t *testing.T) {
	const (
		asSent = "tcp 10.244.2.2:33000 > 10.96.0.129:80"
		to     = "tcp 10.244.2.2:33000 > 10.244.1.2:8080"
		masqed = "tcp 172.18.0.4:33000 > 10.244.1.2:8080"
	)
	client := agent{"worker", "worker-0"}
	sent := glimpse{"worker-0", "worker", probe.Out, "eth0", asSent}
	inFirst := glimpse{"worker", "worker", probe.In, "vetha", asSent}
	for _, row := range []struct {
		what string
		seen []glimpse
		want arrival
	}{
		{"it stops on the first node", []glimpse{sent, inFirst},
			arrival{host: "node1", client: endpoint("10.244.1.100:33000"), server: endpoint("172.30.0.41:80"), device: "vetha"}},
		{"it stops on the second", []glimpse{
			{"worker2", "worker2", probe.In, "eth0", to}, inFirst, {"worker", "worker", probe.Out, "eth0", to}, sent,
		}, arrival{host: "node2", client: endpoint("10.244.1.100:33000"), server: endpoint("10.244.2.101:8080"), device: "eth0"}},
		{"it comes to the pod", []glimpse{
			sent, {"worker2", "worker2", probe.In, "eth0", to}, {"worker2", "worker2", probe.Out, "vethb", to}, inFirst,
			{"worker", "worker", probe.Out, "eth0", to},
		}, arrival{host: "server", arrived: true, client: endpoint("10.244.1.100:33000"), server: endpoint("10.244.2.101:8080"),
			device: "vethb"}},
		{"it comes back to its own node", []glimpse{
			sent, inFirst, {"worker", "worker", probe.Out, "eth0", asSent}, {"worker2", "worker2", probe.In, "eth0", asSent},
			{"worker2", "worker2", probe.Out, "eth0", "tcp 172.18.0.3:33000 > 10.244.2.2:8080"},
			{"worker", "worker", probe.In, "eth0", "tcp 172.18.0.3:33000 > 10.244.2.2:8080"},
			{"worker", "worker", probe.Out, "vetha", "tcp 172.18.0.3:33000 > 10.244.2.2:8080"},
		}, arrival{host: "client", arrived: true, client: endpoint("192.168.0.3:33000"), server: endpoint("10.244.1.100:8080"), device: "vetha"}},
		{"nobody has the address", []glimpse{
			sent, inFirst, {"worker", "worker", probe.Out, "eth0", asSent}, {"outside", "outside", probe.In, "eth0", asSent},
		}, arrival{host: scenarios.RouterName, wire: true, client: endpoint("10.244.1.100:33000"), server: endpoint("172.30.0.41:80"),
			device: "eth0"}},
		{"a machine outside gets it", []glimpse{
			sent, inFirst, {"worker", "worker", probe.Out, "eth0", "tcp 172.18.0.4:7 > 203.0.113.2:80"},
			{"outside", "outside", probe.In, "eth0", "tcp 172.18.0.4:7 > 203.0.113.2:80"},
		}, arrival{host: "internet", arrived: true, client: endpoint("192.168.0.2:7"), server: endpoint("203.0.113.2:80"), device: "eth0"}},
		{"a node gets it", []glimpse{
			sent, inFirst, {"worker", "worker", probe.Local, "", "tcp 10.244.2.2:33000 > 172.18.0.4:80"},
		}, arrival{host: "node1", arrived: true, client: endpoint("10.244.1.100:33000"), server: endpoint("192.168.0.2:80")}},
		{"it leaves a node and nobody sees it again", []glimpse{
			sent, inFirst, {"worker", "worker", probe.Out, "eth0", masqed},
		}, arrival{host: "node1", wire: true, client: endpoint("192.168.0.2:33000"), server: endpoint("10.244.2.101:8080"), device: "eth0"}},
	} {
		t.Run(row.what, func(t *testing.T) {
			_, m := mapped(t, smallDual)
			require.Equal(t, addr("10.96.0.129"), m.clusterIP(addr("172.30.0.41")))
			got, ok := arrivalOf(&Backend{facts: *threeNodes()}, m, journey(sightings(t, row.seen), client))
			require.True(t, ok)
			assert.Equal(t, row.want, got)
		})
	}
	_, m := mapped(t, smallDual)
	_, ok := arrivalOf(&Backend{facts: *threeNodes()}, m, journey(nil, client))
	assert.False(t, ok)
}

// ended is what judge says of a packet with a result at the client.
func ended(t *testing.T, a arrival, r probe.Result) scenarios.Way {
	t.Helper()
	w := scenarios.Way{Sender: endpoint("10.244.1.100:40000"), With: r.With}
	endOf(&w, a, &r)
	return w
}

func TestTheEndIsWhatBothTheWayAndTheClientSay(t *testing.T) {
	refused := probe.Result{End: probe.Refused, With: "icmp-port-unreachable"}
	silent := probe.Result{End: probe.Silent}
	for _, row := range []struct {
		what  string
		a     arrival
		r     probe.Result
		end   scenarios.End
		heard bool
	}{
		{"nobody listens there", arrival{host: "server", arrived: true}, refused, scenarios.Refused, true},
		{"a rule refuses it", arrival{host: "node1"}, refused, scenarios.Rejected, true},
		{"a rule drops it", arrival{host: "node1"}, silent, scenarios.Dropped, false},
		{"the answer is lost", arrival{host: "server", arrived: true}, silent, scenarios.Delivered, false},
		{"nobody takes it", arrival{host: scenarios.RouterName, wire: true}, refused, scenarios.Lost, false},
	} {
		t.Run(row.what, func(t *testing.T) {
			w := ended(t, row.a, row.r)
			assert.Equal(t, row.end, w.End)
			assert.Equal(t, row.heard, w.Heard)
			assert.Equal(t, row.a.host, w.Host)
			assert.Equal(t, row.a.wire, w.OnTheWire)
		})
	}
}

func TestASinglePacketLeavesOrStays(t *testing.T) {
	in, err := inet.ParseInput("tcp 10.244.1.100:4000 > 172.30.0.41:80 in client")
	require.NoError(t, err)
	at := func(p probe.Point, device, packet string) glimpse {
		return glimpse{"worker", "worker", p, device, packet}
	}
	first := at(probe.In, "vetha", "tcp 10.244.2.2:4007 > 10.96.0.129:80")
	for _, row := range []struct {
		what string
		seen []glimpse
		want scenarios.Way
	}{
		{"dropped", []glimpse{first},
			scenarios.Way{End: scenarios.Dropped, Server: endpoint("172.30.0.41:80"), Client: endpoint("10.244.1.100:4000")}},
		{"to a pod of the node", []glimpse{first, at(probe.Out, "vethb", "tcp 10.244.2.2:4007 > 10.244.2.2:8080")},
			scenarios.Way{End: scenarios.Delivered, Out: "client", Server: endpoint("10.244.1.100:8080"), Client: endpoint("10.244.1.100:4000")}},
		{"to another node, masqueraded", []glimpse{first, at(probe.Out, "eth0", "tcp 172.18.0.4:61000 > 10.244.1.2:8080")},
			scenarios.Way{End: scenarios.Delivered, Out: "eth0", Server: endpoint("10.244.2.101:8080"), Client: endpoint("192.168.0.2:61000"),
				Masqueraded: scenarios.Yes}},
		{"it stays", []glimpse{first, at(probe.Local, "", "tcp 10.244.2.2:4007 > 172.18.0.4:80")},
			scenarios.Way{End: scenarios.Delivered, Out: "local", Server: endpoint("192.168.0.2:80"), Client: endpoint("10.244.1.100:4000")}},
	} {
		t.Run(row.what, func(t *testing.T) {
			c, m := mapped(t, smallDual)
			m.clusterIP(addr("172.30.0.41"))
			s := &traffic{stage: &stage{mapping: m, cluster: c}}
			mapped := in
			mapped.SrcPort = 4007
			way := s.sentWay("node1", &in, &mapped, sightings(t, row.seen)[agent{"worker", "worker"}])
			assert.Len(t, way.Forward, len(row.seen))
			way.Forward, way.Probability = nil, 0
			row.want.Host, row.want.Heard, row.want.Sender = "node1", true, endpoint("10.244.1.100:4000")
			assert.Equal(t, row.want, way)
		})
	}
}

// TestWhatIsDeliveredCameInBefore: two sockets tell an agent of it, in any order.
func TestWhatIsDeliveredCameInBefore(t *testing.T) {
	at := time.Unix(7, 0)
	client := agent{"outside", "outside"}
	seen := map[agent][]sighting{}
	for a, of := range map[agent][]probe.Sighting{
		client:               {{Point: probe.Out, Device: "eth0"}},
		{"worker", "worker"}: {{Point: probe.Local, When: at}, {Point: probe.In, Device: "eth0", When: at}},
	} {
		for _, one := range of {
			one.Packet = "udp 203.0.113.2:7 > 172.18.0.4:80"
			s, ok := readSighting(a, one)
			require.True(t, ok)
			seen[a] = append(seen[a], s)
		}
	}
	way := journey(seen, client)
	require.Len(t, way, 3)
	assert.Equal(t, probe.Local, way[2].Point)
}

// TestAPacketIsLookedForUntilItHasArrived: one that was sent past a socket may be under way still when somebody looks.
func TestAPacketIsLookedForUntilItHasArrived(t *testing.T) {
	const packet = "tcp 10.244.2.2:33000 > 10.244.1.2:8080"
	in := probe.Sighting{Point: probe.In, Device: "eth0", Packet: packet, When: time.Unix(1, 0)}
	local := probe.Sighting{Point: probe.Local, Packet: packet, When: time.Unix(2, 0)}
	for about, row := range map[string]struct {
		later [][]probe.Sighting
		last  []probe.Sighting
		takes time.Duration
	}{
		"it was there already":       {nil, []probe.Sighting{in, local}, 0},
		"it comes while one looks":   {[][]probe.Sighting{{}, {in}}, []probe.Sighting{in, local}, 2 * shortestWay},
		"it stops":                   {nil, []probe.Sighting{in}, shortestWay},
		"nobody ever sees it":        {nil, nil, settleTimes * shortestWay},
		"it comes after a long time": {[][]probe.Sighting{{}, {}, {}}, []probe.Sighting{in, local}, 3 * shortestWay},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, s := scripted(t)
			s.later, s.sightings = row.later, row.last
			w := &watch{backend: b, name: "x", agents: []agent{{"worker", "worker"}}}
			began := time.Now()
			seen, err := w.arrivedOf(t.Context(), w.agents[0], "print")
			require.NoError(t, err, about)
			assert.Len(t, seen, len(row.last), about)
			assert.Equal(t, row.takes, time.Since(began), about)
		})
	}
}
