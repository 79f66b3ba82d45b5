package forall_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// forwarding is a host with rules of family inet that a chain at a hook has.
func forwarding(t testing.TB, hook, policy string, rules ...string) *packetsim.Host {
	t.Helper()
	text := "table inet f {\n\tchain c {\n\t\ttype filter hook " + hook + " priority 0; policy " + policy + ";\n\t\t" +
		strings.Join(rules, "\n\t\t") + "\n\t}\n}\n"
	h, err := snapshot.HostOfSave("rules", strings.NewReader(text), snapshot.RulesOptions{Devices: []string{"veth1"},
		Local: []netip.Addr{netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("fd00::3")}})
	require.NoError(t, err)
	return h
}

// TestHeadersThatPacketsNeedNotHave: a rule that writes the greatest segment changes no fate, and passes by what is no TCP.
func TestHeadersThatPacketsNeedNotHave(t *testing.T) {
	const tcp, udp, tcp6, udp6 = "tcp 192.0.2.1:1000 > 10.9.9.9:80 in eth0", "udp 192.0.2.1:1000 > 10.9.9.9:80 in eth0",
		"tcp [2001:db8::1]:1000 > [fd99::1]:80 in eth0", "udp [2001:db8::1]:1000 > [fd99::1]:80 in eth0"
	const accept, drop = "accept out of eth0", "drop"
	for rule, want := range map[string][4]string{ // of the packets above; empty: it is not known
		"tcp option maxseg size set 1400 drop":               {drop, accept, drop, accept},
		"tcp flags syn tcp option maxseg size set rt mtu":    {accept, accept, accept, accept},
		"tcp option maxseg size set rt mtu drop":             {drop, accept, drop, accept},
		"tcp option maxseg exists drop":                      {"", accept, "", accept},
		"tcp option maxseg missing drop":                     {"", drop, "", drop},
		"tcp option maxseg size 1400 drop":                   {"", accept, "", accept},
		"rt mtu 1400 drop":                                   {"", "", "", ""},
		"rt ip nexthop 192.0.2.1 drop":                       {"", "", "", ""},
		"ip option rr exists drop":                           {accept, accept, accept, accept},
		"ip option rr missing drop":                          {drop, drop, accept, accept},
		"exthdr hbh exists drop":                             {accept, accept, accept, accept},
		"exthdr hbh missing drop":                            {accept, accept, drop, drop},
		"tcp option maxseg size set 1400 ip ttl 64 continue": {accept, accept, accept, accept},
	} {
		t.Run(rule, func(t *testing.T) {
			h := forwarding(t, "forward", "accept", rule)
			f, err := forall.Of(h, forall.Options{Chance: forall.Exact})
			require.NoError(t, err)
			known := map[string]string{}
			for i, packet := range []string{tcp, udp, tcp6, udp6} {
				if want[i] != "" {
					known[packet] = want[i]
				} else {
					in, err := inet.ParseInput(packet)
					require.NoError(t, err)
					fates, err := f.At(in)
					require.NoError(t, err)
					assert.False(t, fates.Known(), fates.String())
				}
			}
			haveFates(t, f, known)
		})
	}
}

// TestWitnessesAreLikely: of packets that are treated otherwise one is shown that somebody may send.
func TestWitnessesAreLikely(t *testing.T) {
	ports := []uint16{80, 443, 8080, 53}
	for name, rules := range map[string][]string{
		"a policy":             nil,
		"all but some ports":   {"tcp dport { 22, 80 } accept", "udp dport 53 accept"},
		"all but TCP":          {"meta l4proto tcp accept"},
		"all but two networks": {"ip saddr 10.0.0.0/8 accept", "ip daddr 0.0.0.0/1 accept"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fatesOf(t, forwarding(t, "forward", "accept", rules...), nil)
			g := fatesOf(t, forwarding(t, "forward", "drop", rules...), f)
			found := slices.Collect(f.Diff(g))
			require.Len(t, found, 1)
			in := found[0].Witness
			assert.Contains(t, []string{"tcp", "udp"}, in.Proto.String(), in.String())
			assert.Contains(t, ports, in.DstPort, in.String())
			assert.NotEqual(t, in.Src, in.Dst)
			assert.Equal(t, "eth0", in.In)
			for a := range f.Apart(g, &forall.Comparison{Family: netfilter.IPv4}) {
				in, _ := a.Witness()
				assert.Contains(t, []string{"tcp", "udp"}, in.Proto.String(), in.String())
				assert.Contains(t, ports, in.DstPort, in.String())
			}
		})
	}
}
