package packetsim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/netfilter"
)

// nftLab is a host whose rules both tools write.
type nftLab struct {
	t    *testing.T
	host *Host
	nft  *fakenft.Tools
	ipt  map[netfilter.Dialect]*fakeipt.Kernel

	clock *clocktesting.FakeClock
}

// newNFTLab has the dialects of iptables in their order.
func newNFTLab(t *testing.T, sysctls map[string]string, dialects ...netfilter.Dialect) *nftLab {
	t.Helper()
	l := &nftLab{t: t, ipt: map[netfilter.Dialect]*fakeipt.Kernel{}, clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}
	space := netfilter.New(l.clock)
	for _, d := range dialects {
		l.ipt[d] = fakeipt.New(fakeipt.Options{Dialect: d, Namespace: space})
	}
	l.nft = fakenft.New(fakenft.Options{Namespace: space})
	set := map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}
	for key, value := range sysctls {
		set[key] = value
	}
	var err error
	l.host, err = NewHost(HostConfig{Name: "node", Devices: testDevices(), Routes: testRoutes(), Netfilter: space, Sysctls: set})
	require.NoError(t, err)
	return l
}

// load runs nft.
func (l *nftLab) load(rules string) {
	l.t.Helper()
	var out, errs bytes.Buffer
	require.Zero(l.t, l.nft.Run([]string{"nft", "-f", "-"}, strings.NewReader(rules), &out, &errs), &errs)
}

// way is the chains and verdicts that a packet meets.
func (l *nftLab) way(packet string) ([]string, *Outcome) {
	l.t.Helper()
	o, err := l.host.Step(parse(l.t, packet), SeededChance(1))
	require.NoError(l.t, err)
	way := []string{}
	for _, s := range o.Steps {
		way = append(way, s.Table+" "+s.Chain+" "+s.Verdict)
	}
	return way, &o
}

const toServer = "tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"

// TestNFTOrder: in which order base chains are met, and how one of them ends (nf_hook_entries_grow in net/netfilter/core.c, nft_do_chain).
// The rows are what Linux 6.18 did with real packets; chains are written as they were registered.
func TestNFTOrder(t *testing.T) {
	for name, c := range map[string]struct {
		rules []string // each a transaction
		way   []string
	}{
		"of one priority the one registered last is first": {[]string{
			"table ip a { chain c { type filter hook forward priority 0; counter; }; }",
			"table ip b { chain c { type filter hook forward priority 0; counter; }; }",
		}, []string{"b c continue", "b c accept", "a c continue", "a c accept"}},
		"in one transaction too": {[]string{
			"table ip a { chain c1 { type filter hook forward priority 0; counter; }; " +
				"chain c2 { type filter hook forward priority 0; counter; }; }",
		}, []string{"a c2 continue", "a c2 accept", "a c1 continue", "a c1 accept"}},
		"inet and ip stand in one list": {[]string{
			"table ip a { chain c { type filter hook forward priority 0; }; }",
			"table inet b { chain c { type filter hook forward priority 0; }; }",
			"table ip6 x { chain c { type filter hook forward priority 0; }; }",
		}, []string{"b c accept", "a c accept"}},
		"accept ends one base chain": {[]string{
			"table ip a { chain c { type filter hook forward priority 0; accept; counter; }; }",
			"table ip b { chain c { type filter hook forward priority 5; drop; }; }",
		}, []string{"a c accept", "b c drop"}},
		"drop ends all": {[]string{
			"table ip a { chain c { type filter hook forward priority 0; drop; }; }",
			"table ip b { chain c { type filter hook forward priority 5; accept; }; }",
		}, []string{"a c drop"}},
		"accept in a chain that was jumped to ends the base chain": {[]string{
			"table ip a { chain d { accept; }; chain c { type filter hook forward priority 0; jump d; drop; }; }",
		}, []string{"a c jump d", "a d accept"}},
		"nat stands at its own place, whatever priority its chains have": {[]string{
			`table ip a { chain n { type nat hook prerouting priority -160; counter; };
			chain f { type filter hook prerouting priority -150; ct mark 1; };
			chain late { type nat hook prerouting priority 50; counter; }; chain g { type filter hook prerouting priority -99; }; }`,
		}, []string{"a f accept", "a n continue", "a n accept", "a late continue", "a late accept", "a g accept"}},
		"the chain that binds is the last one of nat": {[]string{
			"table ip a { chain n { type nat hook prerouting priority -100; dnat to 10.244.0.12; }; }",
			"table ip b { chain n { type nat hook prerouting priority -90; dnat to 10.244.0.11; }; }",
		}, []string{"a n accept"}},
		"accept in nat binds nothing": {[]string{
			"table ip a { chain n { type nat hook prerouting priority -100; accept; }; }",
			"table ip b { chain n { type nat hook prerouting priority -90; dnat to 10.244.0.12; }; }",
		}, []string{"a n accept", "b n accept"}},
		"of nat chains of one priority the one registered last binds": {[]string{
			"table ip a { chain n { type nat hook prerouting priority -100; dnat to 10.244.0.11; }; }",
			"table ip b { chain n { type nat hook prerouting priority -100; dnat to 10.244.0.12; }; }",
		}, []string{"b n accept"}},
		"a drop in one nat chain ends all": {[]string{
			"table ip a { chain n { type nat hook prerouting priority -100; ct state new drop; }; }",
			"table ip b { chain n { type nat hook prerouting priority -90; dnat to 10.244.0.12; }; }",
		}, []string{"a n drop"}},
		"no conntrack, no nat chain": {[]string{
			"table ip a { chain n { type nat hook prerouting priority -100; counter; }; }",
		}, []string{}},
		"a chain behind the reject of another one is not met": {[]string{
			"table ip a { chain c { type filter hook prerouting priority 0; reject; }; chain d { type filter hook prerouting priority 1; }; }",
		}, []string{"a c drop"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newNFTLab(t, nil, netfilter.NFT)
			for _, rules := range c.rules {
				l.load(rules)
			}
			way, _ := l.way(toServer)
			assert.Equal(t, c.way, way)
		})
	}
}

// TestNFTBesideIptables: the first chain that binds wins, whatever language it is written in, and a firewall in one language is not passed
// by an accept in the other.
func TestNFTBesideIptables(t *testing.T) {
	const native = "table ip n { chain c { type nat hook prerouting priority -100; meta l4proto tcp dnat to 10.244.0.12:80; }; }"
	iptables := "*nat\n-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.11:80\nCOMMIT\n"
	forwardDrops := "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"
	for name, c := range map[string]struct {
		dialect netfilter.Dialect
		first   bool // iptables' rules are written first
		rules   string
		dnat    string
		verdict Verdict
	}{
		"iptables-nft, then native":    {netfilter.NFT, true, iptables, "10.244.0.12:80", Accept},
		"native, then iptables-nft":    {netfilter.NFT, false, iptables, "10.244.0.11:80", Accept},
		"iptables-legacy, then native": {netfilter.Legacy, true, iptables, "10.244.0.12:80", Accept},
		"native, then iptables-legacy": {netfilter.Legacy, false, iptables, "10.244.0.11:80", Accept},
		"FORWARD drops, legacy":        {netfilter.Legacy, false, forwardDrops, "10.244.0.12:80", Drop},
		"FORWARD drops, nft":           {netfilter.NFT, true, forwardDrops, "10.244.0.12:80", Drop},
	} {
		t.Run(name, func(t *testing.T) {
			l := newNFTLab(t, nil, c.dialect)
			if !c.first {
				l.load(native)
			}
			restoreInto(t, l.ipt[c.dialect], netfilter.IPv4, c.rules)
			if c.first {
				l.load(native)
			}
			_, o := l.way(toServer)
			assert.Equal(t, c.dnat, o.DNAT)
			assert.Equal(t, c.verdict, o.Verdict)
		})
	}
}
