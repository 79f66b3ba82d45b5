package forall_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// nodeHost is a node of two on one network, with pods of its own behind veth1.
func nodeHost(t require.TestingT, name, own, pods, otherPods, other, rules string) *packetsim.Host {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	saved, err := snapshot.HostOfSave("rules", strings.NewReader(rules), snapshot.RulesOptions{Family: netfilter.IPv4})
	require.NoError(t, err)
	h, err := packetsim.NewHost(packetsim.HostConfig{
		Name: name,
		Devices: []packetsim.Device{
			{Name: "lo", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("127.0.0.1/8")}}},
			{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: prefix(own + "/24")}}}, {Name: "veth1", Up: true},
		},
		Routes: []packetsim.Route{{Dst: prefix("0.0.0.0/0"), Via: addr("172.18.0.1"), Dev: "eth0"}, {Dst: prefix(pods), Dev: "veth1"},
			{Dst: prefix(otherPods), Via: addr(other), Dev: "eth0"}},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: saved.Netfilter(),
	})
	require.NoError(t, err)
	return h
}

// twoNodes are nodes a and b with rules.
func twoNodes(t require.TestingT, a, b string) [2]*packetsim.Host {
	return [2]*packetsim.Host{
		nodeHost(t, "a", "172.18.0.3", "10.244.1.0/24", "10.244.2.0/24", "172.18.0.4", a),
		nodeHost(t, "b", "172.18.0.4", "10.244.2.0/24", "10.244.1.0/24", "172.18.0.3", b),
	}
}

func throughNodes(t require.TestingT, hosts [2]*packetsim.Host) *forall.Fates {
	f, err := forall.Of(hosts[0], forall.Options{Families: only4, Chance: forall.Exact, Name: "a", Through: []forall.Node{{"b", hosts[1]}}})
	require.NoError(t, err)
	return f
}

const (
	toOther = "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.50000000000 " +
		"-j DNAT --to-destination 10.244.1.5:8080\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.2.5:8080\n" +
		"-A POSTROUTING ! -s 10.244.0.0/16 -o eth0 -j MASQUERADE\nCOMMIT\n"
	guarded = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -d 10.244.2.5/32 ! -s 10.244.1.0/24 -j DROP\nCOMMIT\n"
)

// TestPacketsGoThroughNodes follows packets from a node to the next one.
func TestPacketsGoThroughNodes(t *testing.T) {
	hosts := twoNodes(t, toOther, guarded)
	f := throughNodes(t, hosts)
	for packet, want := range map[string][]string{
		"tcp 10.244.1.9:1000 > 10.96.0.1:80 in veth1": {"0.5: accept out of veth1, to 10.244.1.5 port 8080 on a",
			"0.5: accept out of veth1, to 10.244.2.5 port 8080 on a > b"},
		"tcp 192.0.2.7:1000 > 10.96.0.1:80 in eth0":    {"0.5: drop on a > b"}, // masqueraded: b sees a
		"tcp 10.244.1.9:1000 > 172.18.0.4:22 in veth1": {"accept local", "on a > b"},
		"tcp 10.244.1.9:1000 > 172.18.0.9:22 in veth1": {"accept out of eth0 on a"},
		"tcp 172.18.0.3:1000 > 172.18.0.4:22 local":    {"accept local", "on a > b"},
	} {
		in, err := inet.ParseInput(packet)
		require.NoError(t, err)
		d, err := f.At(in)
		require.NoError(t, err)
		for _, text := range want {
			assert.Contains(t, d.String(), text, packet)
		}
		otherwise, err := f.Confirm(forall.New, in, d, 1e-9)
		require.NoError(t, err)
		assert.Empty(t, otherwise, packet)
	}
	for _, o := range []forall.Options{{Replies: true}, {Classes: []forall.Class{forall.Invalid}}} {
		o.Through = []forall.Node{{"b", hosts[1]}}
		_, err := forall.Of(hosts[0], o)
		require.Error(t, err)
	}
}

// TestLawFatesThroughNodesAreJourneys sends random packets of node a through a network of both nodes with random rules, and compares where
// they end.
func TestLawFatesThroughNodesAreJourneys(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		more := func(rules []string) string {
			if rapid.Bool().Draw(t, "to the other node") {
				rules = append(rules, "nat -A OUTPUT -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.2.5:8080\n",
					"nat -A PREROUTING -d 10.96.0.0/16 -p tcp -j DNAT --to-destination 172.18.0.4:22\n", "nat -A POSTROUTING -o eth0 -j MASQUERADE\n")
			}
			return ruleset(rules)
		}
		hosts := twoNodes(t, more(drawnRules(t)), more(drawnRules(t)))
		f := throughNodes(t, hosts)
		n := network.New()
		for _, h := range hosts {
			require.NoError(t, n.AddHost(h))
		}
		require.NoError(t, n.Segment("nodes", network.Port{Host: "a", Device: "eth0"}, network.Port{Host: "b", Device: "eth0"}))
		drawnPackets(t, f, 30, func(class forall.Class, in inet.Input, want forall.Distribution) {
			confirmed(t, f, class, in, want)
			if in.Local {
				sameJourneys(t, n, in, want)
			}
		})
	})
}

// sameJourneys sends a packet of node a and compares the nodes on its way, and whether it arrives, with fates.
func sameJourneys(t *rapid.T, n *network.Network, in inet.Input, want forall.Distribution) {
	journeys, err := n.Send("a", in.Packet)
	require.NoError(t, err)
	have, should := map[string]float64{}, map[string]float64{}
	for i := range journeys {
		var way []string
		for _, hop := range journeys[i].Hops {
			way = append(way, hop.Host)
		}
		arrives := journeys[i].End == network.EndDelivered || journeys[i].End == network.EndLost
		have[ended(strings.Join(way, " > "), arrives)] += journeys[i].Probability
	}
	for _, s := range want {
		should[ended(s.Fate.Way, s.Fate.Arrives())] += s.Probability
	}
	require.Len(t, have, len(should), "%s: %v, %v", in.Full(), have, should)
	for end, p := range should {
		require.InDelta(t, p, have[end], 1e-9, "%s: %v, %v", in.Full(), have, should)
	}
}

func ended(way string, arrives bool) string {
	if arrives {
		return way + ": arrives"
	}
	return way + ": does not arrive"
}
