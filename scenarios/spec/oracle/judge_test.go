package oracle_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// judgedState is smallState, with what a test changes.
func judgedState(change func(*oracle.Cluster)) *oracle.Spec {
	c := smallState()
	if change != nil {
		change(c)
	}
	return oracle.New(c)
}

var (
	webAttempt = oracle.Attempt{From: "10.244.1.3", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("172.30.0.1:80")}
	client     = netip.MustParseAddrPort("10.244.1.3:40000")
)

// arrival is a way to a pod's port 8080, with the client's own address.
func arrival(pod string, chance float64) oracle.Way {
	return oracle.Way{
		Probability: chance, End: oracle.Delivered, Host: pod, Heard: true,
		Sender: client, Client: client, Server: netip.AddrPortFrom(netip.MustParseAddr(pod), 8080),
	}
}

func thirds() []oracle.Way {
	return []oracle.Way{arrival("10.244.1.2", 1.0/3), arrival("10.244.2.2", 1.0/3), arrival("10.244.3.2", 1.0/3)}
}

func broken(violations []oracle.Violation) string {
	if len(violations) == 0 {
		return ""
	}
	return violations[0].Clause.Name
}

func TestJudgeNamesTheClause(t *testing.T) {
	stopped := func(end oracle.End) []oracle.Way {
		w := oracle.Way{Probability: 1, End: end, Host: "node1", Sender: client, Client: client, Server: webAttempt.To}
		w.Heard = end == oracle.Rejected
		return []oracle.Way{w}
	}
	change := func(what func(w *oracle.Way)) []oracle.Way {
		ways := thirds()
		what(&ways[1])
		return ways
	}
	withNotReady := func(c *oracle.Cluster) { c.Slices[0].Endpoints[2].Conditions.Ready = new(bool) }
	without := func(c *oracle.Cluster) { c.Slices[0].Endpoints = nil }
	for _, row := range []struct {
		name  string
		state func(*oracle.Cluster)
		ways  []oracle.Way
		want  string
	}{
		{"as it should be", nil, thirds(), ""},
		{"no way", nil, nil, "cluster-ip-served"},
		{"rejected", nil, stopped(oracle.Rejected), "cluster-ip-served"},
		{"dropped", nil, stopped(oracle.Dropped), "cluster-ip-served"},
		{"untranslated", nil, stopped(oracle.Lost), "cluster-ip-served"},
		{"another chance", nil, append(thirds()[:1], arrival("10.244.2.2", 0.5), arrival("10.244.3.2", 1.0/6)), "equal-chances"},
		{"an endpoint left out", nil, []oracle.Way{arrival("10.244.1.2", 0.5), arrival("10.244.2.2", 0.5)}, "ready-endpoints"},
		{"masqueraded", nil, change(func(w *oracle.Way) { w.Client = netip.MustParseAddrPort("192.168.0.2:1") }), "pod-source-kept"},
		{"masqueraded to the same", nil, change(func(w *oracle.Way) { w.Masqueraded = true }), "pod-source-kept"},
		{"not heard", nil, change(func(w *oracle.Way) { w.Heard = false }), "replies-come-back"},
		{"refused by the endpoint", nil, change(func(w *oracle.Way) { w.End = oracle.Refused }), "cluster-ip-served"},
		{"an endpoint that is not ready", withNotReady, thirds(), "ready-endpoints"},
		{"no endpoint's port", nil, change(func(w *oracle.Way) { w.Server = netip.MustParseAddrPort("10.244.2.2:9") }), "cluster-ip-served"},
		{"no endpoint", without, stopped(oracle.Rejected), ""},
		{"no endpoint, dropped", without, stopped(oracle.Dropped), "no-endpoint-rejects"},
		{"no endpoint, untouched", without, stopped(oracle.Lost), "no-endpoint-rejects"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, broken(judgedState(row.state).Judge(webAttempt, row.ways)))
		})
	}
}

func TestJudgeOfWhatIsUntouched(t *testing.T) {
	a := oracle.Attempt{From: "10.244.1.3", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("10.244.2.3:80")}
	way := arrival("10.244.2.3", 1)
	way.Server = a.To
	s := judgedState(nil)
	assert.Empty(t, broken(s.Judge(a, []oracle.Way{way})))
	for name, change := range map[string]func(*oracle.Way){
		"source":      func(w *oracle.Way) { w.Client = netip.MustParseAddrPort("192.168.0.2:1") },
		"destination": func(w *oracle.Way) { w.Server = netip.MustParseAddrPort("10.244.2.3:81") },
		"dropped":     func(w *oracle.Way) { w.End = oracle.Dropped },
		"not heard":   func(w *oracle.Way) { w.Heard = false },
	} {
		other := way
		change(&other)
		assert.Equal(t, "other-traffic-untouched", broken(s.Judge(a, []oracle.Way{other})), name)
	}
}

func TestNodesAreJudgedByWhatTheyWereTold(t *testing.T) {
	s := judgedState(nil)
	old := judgedState(func(c *oracle.Cluster) { c.Services = nil })
	onNode2 := oracle.Attempt{From: "10.244.2.3", Protocol: corev1.ProtocolTCP, To: webAttempt.To}
	views := s.With(map[string]*oracle.Spec{"node2": old})
	assert.Equal(t, oracle.ToEndpoint, views.Expect(webAttempt).Fate)
	assert.Equal(t, oracle.Untouched, views.Expect(onNode2).Fate)
	assert.Equal(t, oracle.ToEndpoint, s.Expect(onNode2).Fate)
}

func TestBetween(t *testing.T) {
	full, none := judgedState(nil), judgedState(func(c *oracle.Cluster) { c.Slices[0].Endpoints = nil })
	one := judgedState(func(c *oracle.Cluster) { c.Slices[0].Endpoints = c.Slices[0].Endpoints[:1] })
	rejected := []oracle.Way{{
		Probability: 1, End: oracle.Rejected, Host: "node1", Sender: client, Client: client, Server: webAttempt.To, Heard: true,
	}}
	passed := []oracle.Way{{Probability: 1, End: oracle.Lost, Host: "router", Sender: client, Client: client, Server: webAttempt.To}}
	lost := []oracle.Way{arrival("10.244.1.2", 1)}
	lost[0].End, lost[0].Heard = oracle.Lost, false
	for _, row := range []struct {
		name          string
		before, after *oracle.Spec
		ways          []oracle.Way
		want          string
	}{
		{"as before", full, one, thirds(), ""},
		{"as after", full, one, []oracle.Way{arrival("10.244.1.2", 1)}, ""},
		{"neither", full, one, []oracle.Way{arrival("10.244.2.2", 1)}, "before-or-after"},
		{"rejected until the nat table is in, first the filter table", none, full, passed, ""},
		{"to nobody before it is rejected", full, none, passed, "before-or-after"},
		{"rejected early", full, none, rejected, ""},
		{"rejected for nothing", full, one, rejected, "before-or-after"},
		{"lost on its way to the endpoint", none, one, lost, "before-or-after"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, broken(row.before.Between(row.after, webAttempt, row.ways)))
		})
	}
}

// TestLocalhostIsRoutedLast: a node that begins to serve node ports at localhost may lose packets to its endpoints, and to nobody else; it
// may not when it served them before.
func TestLocalhostIsRoutedLast(t *testing.T) {
	state := func(services bool, localhost bool, endpoints int) *oracle.Spec {
		return judgedState(func(c *oracle.Cluster) {
			c.Services[0].Spec.Type = corev1.ServiceTypeNodePort
			c.Services[0].Spec.Ports[0].NodePort = 30080
			c.Slices[0].Endpoints = c.Slices[0].Endpoints[:endpoints]
			c.Nodes[0].Config.IPTables.LocalhostNodePorts = &localhost
			if !services {
				c.Services = nil
			}
		})
	}
	a := oracle.Attempt{From: "node1", Source: netip.MustParseAddrPort("127.0.0.1:40000"), Protocol: corev1.ProtocolTCP,
		To: netip.MustParseAddrPort("127.0.0.1:30080")}
	sender := netip.MustParseAddrPort("127.0.0.1:40000")
	way := func(end oracle.End, server string) []oracle.Way {
		return []oracle.Way{{Probability: 1, End: end, Host: "node1", Sender: sender, Client: sender, Server: netip.MustParseAddrPort(server)}}
	}
	lost, elsewhere := way(oracle.Lost, "10.244.1.2:8080"), way(oracle.Lost, "10.244.2.2:8080")
	mixed := append(slices.Clone(lost), way(oracle.Delivered, "10.244.2.2:8080")...)
	mixed[0].Probability, mixed[1].Probability = 0.5, 0.5
	for _, row := range []struct {
		name          string
		before, after *oracle.Spec
		ways          []oracle.Way
		want          string
	}{
		{"before the first sync", state(false, true, 1), state(true, true, 1), lost, ""},
		{"turned on", state(true, false, 1), state(true, true, 1), lost, ""},
		{"one of two", state(true, false, 2), state(true, true, 2), mixed, ""},
		{"served before", state(true, true, 1), state(true, true, 1), lost, "before-or-after"},
		{"turned off", state(true, true, 1), state(true, false, 1), lost, "before-or-after"},
		{"to no endpoint", state(false, true, 1), state(true, true, 1), elsewhere, "before-or-after"},
		{"dropped", state(false, true, 1), state(true, true, 1), way(oracle.Dropped, "10.244.1.2:8080"), "before-or-after"},
		{"no endpoint", state(false, true, 0), state(true, true, 0), lost, "before-or-after"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, broken(row.before.Between(row.after, a, row.ways)))
		})
	}
}

func TestAffinityOverTime(t *testing.T) {
	sticky := func(c *oracle.Cluster) {
		seconds := int32(100)
		c.Services[0].Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		c.Services[0].Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
	gone := func(c *oracle.Cluster) {
		sticky(c)
		c.Slices[0].Endpoints = c.Slices[0].Endpoints[1:]
	}
	s := judgedState(sticky)
	start := time.Unix(0, 0)
	again := []oracle.Way{arrival("10.244.1.2", 1)}
	made := func() *oracle.Affinity {
		m := &oracle.Affinity{}
		m.Made(s, webAttempt, arrival("10.244.1.2", 1.0/3), start)
		return m
	}
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	assert.Empty(t, broken((&oracle.Affinity{}).Judge(s, webAttempt, start, thirds())))
	assert.Empty(t, broken(made().Judge(s, webAttempt, at(50), again)))
	assert.Equal(t, "affinity-sticks", broken(made().Judge(s, webAttempt, at(50), thirds())))
	assert.Empty(t, broken(made().Judge(s, webAttempt, at(100), again)), "the very second")
	assert.Empty(t, broken(made().Judge(s, webAttempt, at(100), thirds())), "the very second")
	assert.Empty(t, broken(made().Judge(s, webAttempt, at(102), thirds())))
	assert.Equal(t, "affinity-ends", broken(made().Judge(s, webAttempt, at(102), again)))

	without := judgedState(gone)
	halves := []oracle.Way{arrival("10.244.2.2", 0.5), arrival("10.244.3.2", 0.5)}
	m := made()
	m.Synced(without)
	assert.Empty(t, broken(m.Judge(without, webAttempt, at(10), halves)))
	m.Synced(s)
	assert.Empty(t, broken(m.Judge(s, webAttempt, at(20), thirds())), "it was away in between")
	assert.Empty(t, broken(m.Judge(s, webAttempt, at(20), again)), "it was away in between")
	away := func(change func(*corev1.ServiceSpec)) *oracle.Spec {
		return judgedState(func(c *oracle.Cluster) {
			sticky(c)
			for i, node := range []string{"node2", "node1", "node1"} {
				c.Slices[0].Endpoints[i].Hints = &discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: node}}}
			}
			change(&c.Services[0].Spec)
		})
	}
	m = made()
	m.Synced(away(func(*corev1.ServiceSpec) {}))
	assert.Empty(t, broken(m.Judge(s, webAttempt, at(20), thirds())), "hints gave it to another node, and no policy asks for local endpoints")
	m = made()
	m.Synced(away(func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }))
	assert.Equal(t, "affinity-sticks", broken(m.Judge(s, webAttempt, at(20), thirds())), "packets from outside went on to it")

	m = made()
	m.Forget("node1")
	assert.Empty(t, broken(m.Judge(s, webAttempt, at(20), thirds())))
	answer := m.Expect(s, webAttempt, at(20))
	var names []string
	for _, c := range answer.Clauses() {
		names = append(names, c.Name)
	}
	assert.Contains(t, names, "affinity-forgotten")
}

// udp is a state whose first service is one of UDP.
func udp(change func(*oracle.Cluster)) *oracle.Spec {
	return judgedState(func(c *oracle.Cluster) {
		protocol := corev1.ProtocolUDP
		c.Services[0].Spec.Ports[0].Protocol = protocol
		c.Slices[0].Ports[0].Protocol = &protocol
		if change != nil {
			change(c)
		}
	})
}

func TestUDPFlows(t *testing.T) {
	a := webAttempt
	a.Protocol = corev1.ProtocolUDP
	s := udp(nil)
	first := arrival("10.244.1.2", 1.0/3)
	on := []oracle.Way{arrival("10.244.1.2", 1)}
	rejected := []oracle.Way{{Probability: 1, End: oracle.Rejected, Host: "node1", Sender: client, Client: client, Server: a.To}}
	untouched := []oracle.Way{{Probability: 1, End: oracle.Lost, Host: "router", Sender: client, Client: client, Server: a.To}}
	none := udp(func(c *oracle.Cluster) { c.Slices[0].Endpoints = nil })
	unserved := udp(func(c *oracle.Cluster) { c.Services = c.Services[1:] })
	elsewhere := udp(func(c *oracle.Cluster) { c.Slices[0].Endpoints = c.Slices[0].Endpoints[1:] })
	terminating := udp(func(c *oracle.Cluster) {
		yes, no := true, false
		c.Slices[0].Endpoints[0].Conditions.Ready, c.Slices[0].Endpoints[0].Conditions.Terminating = &no, &yes
	})
	later := oracle.Later{From: oracle.FromClient}
	flow := func(synced ...*oracle.Spec) *oracle.Flow {
		f := s.Keep(a, first)
		for _, next := range synced {
			f.Synced(next)
		}
		return f
	}
	assert.Empty(t, broken(flow().Judge(later, on)))
	assert.Equal(t, "live-connection-survives", broken(flow(s).Judge(later, rejected)))
	assert.Empty(t, broken(flow(none).Judge(later, rejected)))
	assert.Equal(t, "stale-udp-flow", broken(flow(none).Judge(later, on)))
	assert.Equal(t, "stale-udp-flow", broken(flow(elsewhere).Judge(later, on)))
	assert.Equal(t, "stale-udp-flow", broken(flow(unserved).Judge(later, on)))
	assert.Empty(t, broken(flow(unserved).Judge(later, untouched)))
	assert.Empty(t, broken(flow(terminating).Judge(later, on)), "it may go on while the endpoint terminates")
	assert.Equal(t, "stale-udp-flow", broken(flow(none, s).Judge(later, on)), "it was cleaned up in between, and is as new")

	restarted := flow()
	restarted.Restarted("node1")
	restarted.Synced(unserved)
	assert.Empty(t, broken(restarted.Judge(later, on)), "no node knows the service any more")
	goneOn := flow()
	goneOn.Restarted("node1")
	goneOn.Went(later, on[0])
	goneOn.Synced(unserved)
	assert.Empty(t, broken(goneOn.Judge(later, on)), "a datagram does not tell it")
	other := flow()
	other.Synced(none, "node2")
	assert.Empty(t, broken(other.Judge(later, on)), "another node's sync cleans up nothing")
	idle := flow()
	idle.Idle(time.Minute)
	assert.Empty(t, broken(idle.Judge(later, on)))
	assert.Empty(t, broken(idle.Judge(later, thirds())))

	blackHole := none.Keep(a, untouched[0])
	blackHole.Synced(s)
	assert.Equal(t, "stale-udp-flow", broken(blackHole.Judge(later, untouched)))
	assert.Empty(t, broken(blackHole.Judge(later, thirds())))
}

func TestTCPFlows(t *testing.T) {
	s := judgedState(nil)
	first := arrival("10.244.2.2", 1.0/3)
	on := []oracle.Way{arrival("10.244.2.2", 1)}
	none := judgedState(func(c *oracle.Cluster) { c.Services = nil })
	lost := []oracle.Way{{Probability: 1, End: oracle.Lost, Host: "router", Sender: client, Client: client, Server: webAttempt.To}}
	fromClient, fromServer := oracle.Later{From: oracle.FromClient}, oracle.Later{From: oracle.FromServer}
	f := s.Keep(webAttempt, first)
	f.Synced(none)
	assert.Empty(t, broken(f.Judge(fromClient, on)), "it outlives its service")
	assert.Equal(t, "live-connection-survives", broken(f.Judge(fromClient, lost)))
	assert.Equal(t, "replies-come-back", broken(f.Judge(fromServer, lost)))

	invalid := oracle.Later{From: oracle.FromServer, OutOfWindow: true}
	dropped := []oracle.Way{{Probability: 1, End: oracle.Dropped, Host: "node2"}}
	assert.Empty(t, broken(f.Judge(invalid, dropped)))
	stray := []oracle.Way{{Probability: 1, End: oracle.Delivered, Host: "10.244.1.3"}}
	assert.Equal(t, "invalid-packet-dropped", broken(f.Judge(invalid, stray)))
	liberal := judgedState(func(c *oracle.Cluster) { c.Nodes[0].Liberal = true })
	assert.True(t, liberal.Keep(webAttempt, first).Expect(invalid).Open)

	f.Went(oracle.Later{From: oracle.FromClient, Reset: true}, on[0])
	require.True(t, f.Expect(fromClient).Open, "nothing is said after a reset")
	f = s.Keep(webAttempt, first)
	f.Moved(judgedState(func(c *oracle.Cluster) { c.Pods = c.Pods[:2] }))
	require.True(t, f.Expect(fromClient).Open, "its endpoint is no more")
}

func TestMartiansStayOut(t *testing.T) {
	s := judgedState(nil)
	martians := s.Martians()
	require.NotEmpty(t, martians)
	for _, a := range martians {
		sender := netip.MustParseAddrPort("203.0.113.2:40000")
		out := []oracle.Way{{Probability: 1, End: oracle.Lost, Host: a.Via, Sender: sender, Client: sender, Server: a.To}}
		assert.Empty(t, broken(s.Judge(a, out)))
		in := []oracle.Way{{Probability: 1, End: oracle.Delivered, Host: a.Via, Sender: sender, Client: sender, Server: a.To, Heard: true}}
		assert.Equal(t, "loopback-from-outside", broken(s.Judge(a, in)))
		gone := []oracle.Way{{
			Probability: 1, End: oracle.Delivered, Host: a.Via, Sender: sender, Client: sender, Server: netip.MustParseAddrPort("10.244.1.99:8080"),
		}}
		assert.Equal(t, "node-port-served", broken(s.Judge(a, gone)), "no process that listens on loopback hears what is sent elsewhere")
	}
}

// TestNodePortAtANewAddress judges what a node sends to its own node port, at an address that it got after its proxier last looked. Until
// that is served there, it is like any address that is not served.
func TestNodePortAtANewAddress(t *testing.T) {
	state := func(found string) *oracle.Spec {
		return judgedState(func(c *oracle.Cluster) {
			c.Services[0].Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			c.Slices[0].Endpoints = c.Slices[0].Endpoints[1:] // none on node1
			c.Nodes[0].Config.NodePortAddresses = []string{"192.168.0.0/24"}
			c.Nodes[0].Found = []netip.Addr{netip.MustParseAddr(found)}
		})
	}
	own := netip.MustParseAddrPort("192.168.0.2:40000")
	a := oracle.Attempt{From: "node1", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("192.168.0.2:30001")}
	ends := func(end oracle.End) []oracle.Way {
		return []oracle.Way{{Probability: 1, End: end, Host: "node1", Sender: own, Client: own, Server: a.To, Heard: end == oracle.Refused}}
	}
	before, after := state("192.168.0.9"), state("192.168.0.2")
	assert.Empty(t, broken(before.Judge(a, ends(oracle.Refused))), "untouched")
	assert.Empty(t, broken(before.Judge(a, ends(oracle.Dropped))), "stopped as what is under policy Local")
	assert.Empty(t, broken(before.Between(after, a, ends(oracle.Dropped))))
	assert.NotEmpty(t, broken(before.Judge(a, ends(oracle.Rejected))), "there are endpoints")
	assert.NotEmpty(t, broken(after.Judge(a, ends(oracle.Dropped))), "it is served now")
}

// TestAttemptsCoverTheirState asks each attempt of a state: each has a client, an answer, and is there once.
func TestAttemptsCoverTheirState(t *testing.T) {
	s := judgedState(nil)
	seen := map[oracle.Attempt]bool{}
	fates := map[oracle.Fate]int{}
	for _, a := range s.Attempts() {
		assert.False(t, seen[a], "%+v is there twice", a)
		seen[a] = true
		answer := s.Expect(a)
		assert.False(t, answer.Open, "%+v", a)
		fates[answer.Fate]++
	}
	assert.Greater(t, fates[oracle.ToEndpoint], 60)
	assert.Greater(t, fates[oracle.Untouched], 20)
	for _, a := range s.Concerning() {
		t.Errorf("%+v concerns nothing that changed", a)
	}
}
