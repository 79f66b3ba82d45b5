package forall_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// drawnHairpins are services of kube-proxy's mode nftables whose endpoints and set of hairpins do not quite fit together.
func drawnHairpins(t *rapid.T) string {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	endpoint := func() (string, string) {
		return one("pod", "10.244.0.2", "10.244.0.3", "10.244.0.4", "10.244.1.2", "172.18.0.3"), one("port", "80", "8080")
	}
	var services, hairpins []string
	for i := range 3 {
		var draws []string
		for e := range 2 {
			pod, port := endpoint()
			draws = append(draws, fmt.Sprintf("%d : %s . %s", e, pod, port))
		}
		services = append(services, fmt.Sprintf("\t\tip daddr 10.96.0.%d meta l4proto %s dnat ip to numgen random mod 2 map { %s }\n", i+1,
			one("protocol", "tcp", "udp"), strings.Join(draws, ", ")))
	}
	if rapid.IntRange(0, 9).Draw(t, "direct") == 0 { // a destination that is a target
		services = append(services, "\t\tip daddr 10.244.0.0/24 meta l4proto tcp dnat ip to 10.244.0.2 : 8080\n")
	}
	if rapid.Bool().Draw(t, "many") { // so that destinations are not told apart by what others are translated to
		var draws []string
		for i := range 300 {
			draws = append(draws, fmt.Sprintf("%d : 10.244.%d.%d", i, 8+i/250, i%250))
		}
		services = append(services, "\t\tip daddr 10.97.0.1 ip daddr 10.97.0.2 dnat ip to numgen random mod 300 map { "+
			strings.Join(draws, ", ")+" }\n")
	}
	for range rapid.IntRange(1, 6).Draw(t, "hairpins") {
		pod, port := endpoint()
		from := pod
		if rapid.IntRange(0, 19).Draw(t, "other") == 0 {
			from = "10.244.0.9"
		}
		hairpins = append(hairpins, fmt.Sprintf("%s . %s . %s . %s", from, pod, one("protocol", "tcp", "udp"), port))
	}
	slices.Sort(hairpins)
	first := one("before", "", "", "\t\tip daddr 10.244.0.3 mark set 0x1\n", "\t\tip saddr 10.244.0.0/24 snat to 172.18.0.3\n",
		"\t\tip daddr . meta l4proto { 10.244.0.2 . tcp, 10.244.0.4 . tcp } mark set 0x2\n", "\t\tip saddr 10.244.0.2 accept\n")
	return "table ip t {\n\tset hairpin {\n\t\ttype ipv4_addr . ipv4_addr . inet_proto . inet_service\n\t\telements = { " +
		strings.Join(slices.Compact(hairpins), ", ") + " }\n\t}\n\n" +
		"\tchain pre {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n" + strings.Join(services, "") + "\t}\n\n" +
		"\tchain out {\n\t\ttype nat hook output priority dstnat; policy accept;\n" + strings.Join(services, "") + "\t}\n\n" +
		"\tchain post {\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n" + first +
		one("state", "\t\tct status dnat ", "\t\tct status dnat ", "\t\t", "\t\tip saddr 10.0.0.0/8 ") +
		"ip saddr . ip daddr . meta l4proto . th dport @hairpin " + one("verdict", "masquerade", "drop") + "\n\t}\n\n" +
		"\tchain late {\n\t\ttype filter hook postrouting priority 200; policy accept;\n" + one("late", "", "",
		"\t\tip saddr . ip daddr . meta l4proto . th dport @hairpin mark set 0x4\n",
		"\t\tip saddr . ip daddr . meta l4proto . th dport != @hairpin mark set 0x8\n") + "\t}\n}\n"
}

func hairpinHost(t require.TestingT, text string) *packetsim.Host {
	h, err := snapshot.HostOfSave("hairpins", strings.NewReader(text), snapshot.RulesOptions{Devices: []string{"veth1", "cni0"},
		Family: netfilter.IPv4, Local: []netip.Addr{netip.MustParseAddr("172.18.0.3")}})
	require.NoError(t, err, text)
	return h
}

// TestLawOfGroups works the fates out with and without groups of endpoints, and compares them with walks.
func TestLawOfGroups(t *testing.T) {
	sample.Checks(t, 12)
	var asked int
	rapid.Check(t, func(t *rapid.T) {
		text := drawnHairpins(t)
		h := hairpinHost(t, text)
		o := forall.Options{Families: only4, Chance: forall.Exact}
		f, err := forall.Of(h, o)
		require.NoError(t, err)
		g, err := forall.Of(h, o.Alone())
		require.NoError(t, err)
		require.True(t, f.Equal(g), text)
		require.Equal(t, f.Size(), g.Size())
		r := walked.Compare(f, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), 20)
		require.Empty(t, r.Wrong, r.Text()+text)
		asked += r.Asked
	})
	assert.NotZero(t, asked)
}

// TestEndpointsAreWalkedInGroups counts the destinations that are walked for services of mode nftables, and where a rule asks more of
// endpoints.
func TestEndpointsAreWalkedInGroups(t *testing.T) {
	h := (&services{count: 60, native: true}).host(t)
	o := forall.Options{Families: only4}
	f, err := forall.Of(h, o)
	require.NoError(t, err)
	g, err := forall.Of(h, o.Alone())
	require.NoError(t, err)
	assert.True(t, f.Equal(g))
	views, failed := forall.Views(h, o)
	assert.False(t, failed)
	assert.Less(t, views, 100, "60 services have 300 endpoints")
	views, _ = forall.Views(h, o.Alone())
	assert.Greater(t, views, 300)
	asks := strings.Replace((&services{count: 60, native: true}).nft(), "ct status dnat ip saddr", "ip saddr", 1)
	_, failed = forall.Views(hairpinHost(t, asks), o)
	assert.True(t, failed, "whether a packet to an endpoint comes from itself is not asked behind a translation only")
}
