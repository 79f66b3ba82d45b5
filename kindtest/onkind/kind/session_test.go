package kind

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

// shop is a service of TCP with one endpoint, and one of UDP with two.
const shop = `name: a
steps: [{sync: true}]
topology: {pods: [{name: client, node: node1}, {name: one, node: node2}, {name: two, node: node2}], outside: [{name: internet, addresses: [203.0.113.7]}]}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 8080}]
  endpoints: [{addresses: [10.244.2.101], nodeName: node2}]
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.42, ports: [{port: 53, protocol: UDP}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}}
  addressType: IPv4
  ports: [{port: 5353, protocol: UDP}]
  endpoints: [{addresses: [10.244.2.101], nodeName: node2}, {addresses: [10.244.2.102], nodeName: node2}]
`

// opened is a session of a scenario on a scripted cluster, whose proxies write at once.
func opened(t *testing.T, text string) (*Session, *script) {
	t.Helper()
	b, s := scripted(t)
	s.dial = answerSentinel
	s.exec = func(_ string, c probe.Command) string {
		if c.Argv[0] == "sysctl" {
			return "0\n"
		}
		return ""
	}
	parsed, err := scenarios.Read("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	c, err := scenarios.Resolve(parsed)
	require.NoError(t, err)
	session, err := b.Start(t.Context(), c)
	require.NoError(t, err)
	s.forgetLog()
	return session.(*Session), s
}

func answerSentinel(_, _ string, d probe.Dial) probe.Result {
	if d.To.Port() > firstPort && d.To.Port() < firstPort+ports {
		return probe.Result{End: probe.Answered, Server: "outside"}
	}
	return probe.Result{End: probe.Silent}
}

func attempt(to, keep string) scenarios.Attempt {
	a := scenarios.Attempt{From: "client", Via: "node1", Keep: keep}
	if err := a.To.UnmarshalText([]byte(to)); err != nil {
		panic(err)
	}
	return a
}

// endpointsAnswer has the pods of the pool that stand for the endpoints answer in turn, each as it does.
func endpointsAnswer(s *Session, port uint16, names ...string) func(client netip.AddrPort) probe.Result {
	var mu sync.Mutex
	turn := 0
	return func(client netip.AddrPort) probe.Result {
		mu.Lock()
		defer mu.Unlock()
		host, _ := s.mapping.Host(names[turn%len(names)])
		turn++
		return probe.Result{End: probe.Answered, Token: fmt.Sprint(turn), From: client, Client: client, Server: host.Agent,
			At: netip.AddrPortFrom(host.Addresses[0], port)}
	}
}

// clientAt is the client's own address in the cluster.
func clientAt(s *Session) netip.AddrPort {
	host, _ := s.mapping.Host("client")
	return netip.AddrPortFrom(host.Addresses[0], clientPort)
}

func TestAKeptConnectionCarriesDataBothWays(t *testing.T) {
	session, s := opened(t, shop)
	answer := endpointsAnswer(session, 8080, "one")
	s.dial = func(_, _ string, d probe.Dial) probe.Result { return answer(d.From) }
	seen, err := session.Connect(t.Context(), attempt("tcp 172.30.0.41:80", "kept"))
	require.NoError(t, err)
	require.Len(t, seen.Ways, 1)
	assert.Equal(t, "10.244.2.101:8080", seen.Ways[0].Server.String())
	assert.Equal(t, "10.244.1.100:40000", seen.Ways[0].Client.String())
	clusterIP := session.mapping.clusterIP(addr("172.30.0.41"))
	assert.Equal(t, []string{fmt.Sprintf("dial worker-0 tcp %s:80 keep=kept", clusterIP)}, s.asked("dial"),
		"made once: chance has no part in it")

	s.speak = func(_, _ string, speech probe.Speech) probe.Result {
		if speech.Side == scenarios.SideServer {
			return probe.Result{End: probe.Answered}
		}
		return answer(clientAt(session))
	}
	s.forgetLog()
	seen, err = session.Follow(t.Context(), scenarios.FlowPacket{Of: "kept", From: scenarios.SideClient, Send: scenarios.PacketData})
	require.NoError(t, err)
	require.Len(t, seen.Ways, 1)
	assert.Zero(t, seen.Samples, "sent once")
	way := seen.Ways[0]
	assert.Equal(t, scenarios.Delivered, way.End)
	assert.True(t, way.Heard)
	assert.Equal(t, "one", way.Host)
	assert.Equal(t, "10.244.2.101:8080", way.Server.String())
	asked := s.asked("capture", "speak", "release")
	at := slices.Index(asked, "speak worker-0 data of kept for the client")
	assert.ElementsMatch(t, []string{
		"capture control-plane", "capture outside", "capture worker", "capture worker-0", "capture worker2", "capture worker2-0",
	}, asked[:at], "all look on before it is sent")
	assert.Len(t, asked, 2*at+1, "and none any more afterwards")

	seen, err = session.Follow(t.Context(), scenarios.FlowPacket{Of: "kept", From: scenarios.SideServer, Send: scenarios.PacketData})
	require.NoError(t, err)
	assert.Contains(t, s.asked("speak"), "speak worker2-0 data of kept for the server")
	way = seen.Ways[0]
	assert.Equal(t, "client", way.Host)
	assert.Equal(t, "10.244.1.100:40000", way.Server.String(), "the client's socket has taken it")
	assert.Equal(t, "172.30.0.41:80", way.Client.String(), "as from the address that it called")
}

// TestLaterPacketsComeByTheNodeOfTheirConnection, though another connection from outside has come by another one since.
func TestLaterPacketsComeByTheNodeOfTheirConnection(t *testing.T) {
	session, s := opened(t, shop)
	answer := endpointsAnswer(session, 8080, "one")
	s.dial = func(_, _ string, d probe.Dial) probe.Result { return answer(d.From) }
	kept := attempt("tcp 172.30.0.41:80", "kept")
	kept.From = "internet"
	_, err := session.Connect(t.Context(), kept)
	require.NoError(t, err)
	other := attempt("tcp 172.30.0.41:80", "")
	other.From, other.Via = "internet", "node2"
	_, err = session.Connect(t.Context(), other)
	require.NoError(t, err)
	s.forgetLog()
	s.speak = func(string, string, probe.Speech) probe.Result { return answer(clientAt(session)) }
	_, err = session.Follow(t.Context(), scenarios.FlowPacket{Of: "kept", From: scenarios.SideClient, Send: scenarios.PacketData})
	require.NoError(t, err)
	asked := s.asked("exec outside: ip", "speak")
	route := fmt.Sprintf("route replace %s/32 via 172.18.0.4", session.mapping.clusterIP(addr("172.30.0.41")))
	require.NotEmpty(t, asked)
	assert.Contains(t, asked[0], route, "by node1, before it is sent")
}

// TestAConnectionIsKeptOnTheWayThatIsPicked, and none of the others.
func TestAConnectionIsKeptOnTheWayThatIsPicked(t *testing.T) {
	session, s := opened(t, shop)
	answer := endpointsAnswer(session, 5353, "two", "one", "one", "one")
	s.dial = func(_, _ string, d probe.Dial) probe.Result { return answer(clientAt(session)) }
	a := attempt("udp 172.30.0.42:53", "kept")
	a.Pick = endpoint("10.244.2.102:5353")
	seen, err := session.Connect(t.Context(), a)
	require.NoError(t, err)
	assert.Equal(t, "10.244.2.102:5353", seen.Ways[seen.Kept].Server.String())
	assert.Equal(t, agent{"worker2", "worker2-1"}, session.flows["kept"].server)
	kept, dropped := 0, s.asked("drop")
	for _, line := range s.asked("dial") {
		if strings.HasSuffix(line, "keep=kept") {
			kept++
		}
	}
	assert.Len(t, dropped, 2*(kept-1), "both ends of those that came to the other endpoint")
	assert.Equal(t, kept-1, len(s.asked("exec worker: conntrack -D")), "and the nodes forget them")
	assert.Equal(t, 3, kept)
}

// TestADatagramThatBeginsAnewIsSentManyTimes, from one state each, and once more on the way that stays.
func TestADatagramThatBeginsAnewIsSentManyTimes(t *testing.T) {
	session, s := opened(t, shop)
	first := endpointsAnswer(session, 5353, "one")
	s.dial = func(_, _ string, d probe.Dial) probe.Result { return first(clientAt(session)) }
	_, err := session.Connect(t.Context(), attempt("udp 172.30.0.42:53", "kept"))
	require.NoError(t, err)

	again := endpointsAnswer(session, 5353, "one", "two")
	s.speak = func(string, string, probe.Speech) probe.Result { return again(clientAt(session)) }
	packet := scenarios.FlowPacket{Of: "kept", From: scenarios.SideClient, Send: scenarios.PacketData, Pick: endpoint("10.244.2.102:5353")}
	s.forgetLog()
	seen, err := session.Follow(t.Context(), packet)
	require.NoError(t, err)
	require.Len(t, seen.Ways, 2)
	assert.Equal(t, 10, seen.Samples)
	assert.InDelta(t, 0.5, seen.Ways[0].Probability, 1e-9)
	assert.Equal(t, "10.244.2.102:5353", seen.Ways[seen.Kept].Server.String())
	const speaks = 10 + 2 // the first one more comes to the other endpoint
	assert.Len(t, s.asked("speak"), speaks)
	forgotten := s.asked("speak", "exec worker: conntrack -D")
	assert.Len(t, forgotten, 2*speaks-1, "the node forgets each of them")
	assert.Contains(t, forgotten[len(forgotten)-1], "speak", "but for the last one, which stays")
	assert.Equal(t, agent{"worker2", "worker2-1"}, session.flows["kept"].server)

	from, to := session.flows["kept"].from, session.flows["kept"].to
	s.exec = func(machine string, c probe.Command) string {
		if machine != "worker" || c.Argv[0] != "conntrack" {
			return ""
		}
		return fmt.Sprintf("udp 17 27 src=%s dst=%s sport=%d dport=%d src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 mark=0 use=1\n", from.Addr(),
			to.Addr(), from.Port(), to.Port())
	}
	s.forgetLog()
	seen, err = session.Follow(t.Context(), packet)
	require.NoError(t, err)
	assert.Len(t, seen.Ways, 1)
	assert.Len(t, s.asked("speak"), 1, "a flow that the node knows has one way")
	assert.Empty(t, s.asked("exec worker: conntrack -D"))
}

// TestNobodySpeaksForAServerThatWasNotReached.
func TestNobodySpeaksForAServerThatWasNotReached(t *testing.T) {
	session, _ := opened(t, shop)
	session.flows["kept"] = &flow{attempt: attempt("tcp 172.30.0.41:80", "kept"), client: agent{"worker", "worker-0"}}
	_, err := session.Follow(t.Context(), scenarios.FlowPacket{Of: "kept", From: scenarios.SideServer, Send: scenarios.PacketData})
	assert.ErrorContains(t, err, "flow of kept: no server was reached")
}

// TestAScenarioIsTakenAwayInOrder: its objects first, and what packets need to be refused by last. That the proxies have forgotten them
// is waited for only where they listen for one.
func TestAScenarioIsTakenAwayInOrder(t *testing.T) {
	for about, row := range map[string]struct {
		checks map[string]int32
		want   []string
	}{
		"no health check": {nil, []string{"api delete", "reset", "forget", "ip"}},
		"a health check":  {map[string]int32{"default/web": 30100}, []string{"api delete", "api change", "dial", "reset", "forget", "ip"}},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session, s := opened(t, shop)
				answer := endpointsAnswer(session, 8080, "one")
				s.dial = func(_, _ string, d probe.Dial) probe.Result { return answer(d.From) }
				_, err := session.Connect(t.Context(), attempt("tcp 172.30.0.41:80", "kept"))
				require.NoError(t, err)
				s.dial = answerSentinel
				session.knows.checks = row.checks
				s.forgetLog()
				require.NoError(t, session.Close())
				assert.Equal(t, row.want, stagesOf(s.asked("")))
				last := s.asked("exec outside: ip")
				require.Len(t, last, 1)
				assert.Contains(t, last[0], "address del 203.0.113.7/32 dev eth0")
				for _, node := range []string{"worker", "worker2", "control-plane"} {
					assert.Contains(t, strings.Join(s.asked("exec "+node+": ip"), "\n"), "route del 203.0.113.7/32 via 172.18.0.5 dev eth0")
				}
				assert.NoError(t, session.Close(), "nothing is left to be put back")
			})
		})
	}
}

// TestWhatFailsKeepsNothingElseFromBeingPutBack.
func TestWhatFailsKeepsNothingElseFromBeingPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, s := opened(t, shop)
		s.refuse = func(asked string) error {
			if strings.HasPrefix(asked, "api delete services web") || strings.HasPrefix(asked, "reset worker-0") {
				return errors.New("cannot " + asked)
			}
			return nil
		}
		err := session.Close()
		assert.ErrorContains(t, err, "cannot api delete services web")
		assert.ErrorContains(t, err, "cannot reset worker-0")
		assert.Contains(t, s.asked("api delete"), "api delete services dns")
		assert.Len(t, s.asked("exec outside: ip"), 1)
	})
}

// TestAForeignKubeProxyIsLeftAsItIs from the start of a session to its end.
func TestAForeignKubeProxyIsLeftAsItIs(t *testing.T) {
	parsed, err := scenarios.Read("in.yaml", strings.NewReader(shop))
	require.NoError(t, err)
	c, err := scenarios.Resolve(parsed)
	require.NoError(t, err)
	for about, foreign := range map[string]bool{"ours": false, "the cluster's own": true} {
		b, s := scripted(t)
		s.dial = answerSentinel
		s.exec = func(_ string, c probe.Command) string {
			if c.Argv[0] == "sysctl" {
				return "1\n"
			}
			return ""
		}
		if foreign {
			b.facts.Foreign = kindsOwn("iptables")
		}
		session, err := b.Start(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, session.Close())
		assert.Equal(t, foreign, len(s.asked("configure", "restart")) == 0, about)
		settings := slices.DeleteFunc(s.asked("exec"), func(line string) bool { return !strings.Contains(line, liberal) })
		assert.Equal(t, foreign, len(settings) == 0, about)
	}
}

// stagesOf are the kinds of what was asked, in order, each once.
func stagesOf(log []string) []string {
	var out []string
	for _, line := range log {
		words := strings.Fields(line)
		stage := words[0]
		switch stage {
		case "api":
			switch words[1] {
			case "get", "list":
				continue
			case "update", "patch":
				stage += " change"
			default:
				stage += " " + words[1]
			}
		case "exec":
			stage = words[2]
		case "serve":
			continue
		}
		if !slices.Contains(out, stage) {
			out = append(out, stage)
		}
	}
	return out
}

// TestListsAreForgottenButForWhatWasThere.
func TestListsAreForgottenButForWhatWasThere(t *testing.T) {
	kept := remembered{"worker", listed{"KUBE-SEP-A", "10.244.1.2"}}
	elsewhere := remembered{"worker2", listed{"KUBE-SEP-A", "10.244.1.3"}}
	before := map[remembered]moment{kept: {}, elsewhere: {}}

	b, s := scripted(t)
	s.forgetLog()
	require.NoError(t, newMemory(b).forget(t.Context(), []string{"worker"}, before))
	asked := s.asked("exec")
	require.Len(t, asked, 1)
	assert.Contains(t, asked[0], " forget KUBE-SEP-A:src=10.244.1.2: ", "what was there on this node stays")

	b, s = scripted(t)
	b.facts.Mode = modeNFTables
	s.exec = func(_ string, c probe.Command) string {
		if c.Argv[len(c.Argv)-1] != setListing {
			return ""
		}
		return "100.00 \ntable ip kube-proxy {\n\tset KUBE-SEP-A {\n\t\telements = { 10.0.0.1 expires 1s }\n\t}\n\tset affinity-a {\n" +
			"\t\ttimeout 3h\n" +
			"\t\telements = { 10.244.1.2 expires 2h59m59s, 10.244.1.9 timeout 3h expires 1h,\n\t\t\t     10.244.1.10 expires 1h }\n\t}\n}\n100.01\n"
	}
	before = map[remembered]moment{{"worker", listed{"affinity-a", "10.244.1.2"}}: {}}
	require.NoError(t, newMemory(b).forget(t.Context(), []string{"worker"}, before))
	script := s.asked("exec worker: sh -s")
	require.Len(t, script, 1)
	assert.Equal(t, 2, strings.Count(script[0], "nft delete element ip kube-proxy affinity-a"))
	assert.Contains(t, script[0], "'{ 10.244.1.9 }'")
	assert.Contains(t, script[0], "'{ 10.244.1.10 }'")
	assert.NotContains(t, script[0], "10.244.1.2 ")
}

// TestNothingLeadsToAFamilyThatTheClusterHasNot: a service may have an address of it all the same.
func TestNothingLeadsToAFamilyThatTheClusterHasNot(t *testing.T) {
	b, s := scripted(t)
	six := func(addresses []netip.Addr) []netip.Addr {
		return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return !a.Is6() })
	}
	for i := range b.facts.Nodes {
		b.facts.Nodes[i].Addresses = six(b.facts.Nodes[i].Addresses)
	}
	b.facts.Outside.Addresses = six(b.facts.Outside.Addresses)
	s.forgetLog()
	l := newLinks(b)
	require.NoError(t, l.leadNowhere(t.Context(), []netip.Addr{netip.MustParseAddr("198.51.100.1")}, b.facts.Nodes[0].Name))
	assert.Empty(t, s.asked(""))
	require.NoError(t, l.leadNowhere(t.Context(), []netip.Addr{netip.MustParseAddr("2001:db8:ffff::1")}, b.facts.Nodes[0].Name))
	assert.NotEmpty(t, s.asked(""))
}
