package forall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

func fatesOf(t testing.TB, h *packetsim.Host, beside *forall.Fates) *forall.Fates {
	t.Helper()
	f, err := forall.Of(h, forall.Options{Families: only4, Against: beside})
	require.NoError(t, err)
	return f
}

// TestOrderMakesNoDifference writes the same services in another order.
func TestOrderMakesNoDifference(t *testing.T) {
	f := fatesOf(t, (&services{count: 30}).host(t), nil)
	for _, beside := range []*forall.Fates{nil, f} {
		g := fatesOf(t, (&services{count: 30, reversed: true}).host(t), beside)
		assert.True(t, f.Equal(g))
		assert.Empty(t, slices.Collect(f.Diff(g)))
	}
}

// TestDifferencesHaveWitnesses plants faults: each is found, and its witness has other fates on the two hosts.
func TestDifferencesHaveWitnesses(t *testing.T) {
	sound := (&services{count: 30}).host(t)
	f := fatesOf(t, sound, nil)
	for name, fault := range map[string]*services{
		"port": {count: 30, port: 9090}, "masquerade": {count: 30, unmarked: true}, "service": {count: 29},
	} {
		t.Run(name, func(t *testing.T) {
			faulty := fault.host(t)
			g := fatesOf(t, faulty, f)
			require.False(t, f.Equal(g))
			found := slices.Collect(f.Diff(g))
			require.NotEmpty(t, found)
			assert.Len(t, slices.Collect(g.Diff(f)), len(found))
			for _, d := range found {
				assert.NotEqual(t, d.Here, d.There)
				here, err := f.At(d.Witness)
				require.NoError(t, err)
				assert.Equal(t, d.Here, here, d.Witness.Full())
				assert.NotEqual(t, walk(t, sound, &d), walk(t, faulty, &d), d.Witness.Full())
			}
		})
	}
}

// walk is what becomes of a witness, with its probabilities.
func walk(t *testing.T, h *packetsim.Host, d *forall.Difference) map[string]float64 {
	t.Helper()
	outcomes, err := h.Verdicts(d.Witness)
	require.NoError(t, err)
	all := map[string]float64{}
	for i := range outcomes {
		o := &outcomes[i]
		all[o.Summary()+" "+o.Final.Src.String()+" "+o.DNAT] += o.Probability
	}
	return all
}

// TestWritingMakesNoDifference says the same in other words: comments, a chain of its own, a split rule, LOG.
func TestWritingMakesNoDifference(t *testing.T) {
	const plain = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -d 10.0.0.0/8 -p tcp -m tcp --dport 80 -j ACCEPT\n" +
		"-A FORWARD -s 192.0.2.1/32 -j REJECT --reject-with icmp-port-unreachable\nCOMMIT\n"
	f := fatesOf(t, saved(t, plain), nil)
	for name, text := range map[string]string{
		"a comment": strings.Replace(plain, "-j ACCEPT", "-m comment --comment \"web\" -j ACCEPT", 1),
		"a chain": strings.NewReplacer(":OUTPUT ACCEPT [0:0]\n", ":OUTPUT ACCEPT [0:0]\n:WEB - [0:0]\n",
			"--dport 80 -j ACCEPT", "--dport 80 -j WEB",
			"COMMIT", "-A WEB -j ACCEPT\nCOMMIT").Replace(plain),
		"two halves": strings.Replace(plain, "-A FORWARD -d 10.0.0.0/8 -p tcp -m tcp --dport 80 -j ACCEPT\n",
			"-A FORWARD -d 10.128.0.0/9 -p tcp -m tcp --dport 80 -j ACCEPT\n-A FORWARD -d 10.0.0.0/9 -p tcp -m tcp --dport 80 -j ACCEPT\n", 1),
		"a log": strings.Replace(plain, "-A FORWARD -s", "-A FORWARD -j LOG\n-A FORWARD -s", 1),
	} {
		for _, beside := range []*forall.Fates{nil, f} {
			assert.True(t, f.Equal(fatesOf(t, saved(t, text), beside)), name)
		}
	}
	g := fatesOf(t, saved(t, strings.Replace(plain, "--dport 80", "--dport 81", 1)), f)
	assert.False(t, f.Equal(g))
}

// TestBothLanguagesAreAlike says the same in iptables and in nftables.
func TestBothLanguagesAreAlike(t *testing.T) {
	ipt := "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.50000000000 " +
		"-j DNAT --to-destination 10.244.0.2:8080\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.3:8080\n" +
		"-A POSTROUTING ! -s 10.244.0.0/16 -o eth0 -j MASQUERADE\nCOMMIT\n"
	nft := `table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		ip daddr 10.96.0.1 tcp dport 80 dnat to numgen random mod 2 map { 0 : 10.244.0.3, 1 : 10.244.0.2 }:8080
	}
	chain output { type nat hook output priority dstnat; policy accept; }
	chain input { type nat hook input priority srcnat; policy accept; }
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr != 10.244.0.0/16 oifname "eth0" masquerade
	}
}
`
	f := fatesOf(t, saved(t, ipt), nil)
	g := fatesOf(t, saved(t, nft), f)
	if !assert.True(t, f.Equal(g)) {
		for d := range f.Diff(g) {
			t.Log(d.Witness.Full(), d.Here, d.There)
		}
	}
}

func saved(t testing.TB, text string) *packetsim.Host {
	t.Helper()
	h, err := snapshot.HostOfSave("rules", strings.NewReader(text), snapshot.RulesOptions{Devices: []string{"veth1"}, Family: netfilter.IPv4})
	require.NoError(t, err)
	return h
}

// TestDevicesOfOneHostOnly compares hosts that differ in the name of a device: of packets by it nothing is known on the other one, and
// all others are treated alike.
func TestDevicesOfOneHostOnly(t *testing.T) {
	rules := "*filter\n:INPUT DROP [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n"
	var fates [2]*forall.Fates
	for i, device := range []string{"veth1", "veth2"} {
		h, err := snapshot.HostOfSave("rules", strings.NewReader(rules), snapshot.RulesOptions{Devices: []string{device}, Family: netfilter.IPv4})
		require.NoError(t, err)
		fates[i] = fatesOf(t, h, fates[0])
	}
	found := slices.Collect(fates[0].Diff(fates[1]))
	require.NotEmpty(t, found)
	for _, d := range found {
		assert.False(t, d.Here.Known() && d.There.Known(), "%s: %s, %s", d.Space.String(), d.Here, d.There)
		assert.NotContains(t, d.Space.In, "eth0")
	}
}
