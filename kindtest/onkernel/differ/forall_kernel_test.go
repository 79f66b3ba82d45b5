//go:build linux

package differ

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// tables are rules of IPv4 in either language with what rows put into them: rules of nat's PREROUTING, of filter's FORWARD and INPUT,
// and of nat's POSTROUTING.
const (
	iptTables = "*raw\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A PREROUTING -j TRACE\n-A OUTPUT -j TRACE\nCOMMIT\n" +
		"*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n%s%s%sCOMMIT\n" +
		"*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n%sCOMMIT\n"
	nftTables = "table ip raw {\n\tchain PREROUTING { type filter hook prerouting priority -300; meta nftrace set 1; }\n" +
		"\tchain OUTPUT { type filter hook output priority -300; meta nftrace set 1; }\n}\n" +
		"table ip nat {\n\tchain PREROUTING { type nat hook prerouting priority -100; %s }\n" +
		"\tchain OUTPUT { type nat hook output priority -100; %s }\n\tchain POSTROUTING { type nat hook postrouting priority 100; %s }\n}\n" +
		"table ip filter {\n\tchain FORWARD { type filter hook forward priority 0; %s }\n}\n"
)

// changed is a change of rules, as a rule that only one side has: by its chain.
type changed struct {
	language                        string
	prerouting, output, postrouting [2]string
	forward                         [2]string
}

func (c *changed) text(side int) string {
	tables := iptTables
	if c.language == "nftables" {
		tables = nftTables
	}
	return fmt.Sprintf(tables, c.prerouting[side], c.output[side], c.postrouting[side], c.forward[side])
}

// TestKernelWitnessesOfDiff sends the packets by which two rulesets differ through the real kernel, with the one and with the other: it
// does what was said of them.
func TestKernelWitnessesOfDiff(t *testing.T) {
	needKernel(t)
	labs := labsOf(t)
	ipt := map[string]changed{
		"a port is opened": {forward: [2]string{
			"-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\n-A FORWARD -j DROP\n",
			"-A FORWARD -p tcp -m multiport --dports 80,443 -j ACCEPT\n-A FORWARD -j DROP\n",
		}},
		"a packet is rejected": {forward: [2]string{
			"-A FORWARD -s 10.78.1.3/32 -j DROP\n", "-A FORWARD -s 10.78.1.3/32 -j REJECT --reject-with icmp-port-unreachable\n",
		}},
		"another endpoint": {prerouting: [2]string{
			"-A PREROUTING -d 10.198.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.78.2.2:8080\n",
			"-A PREROUTING -d 10.198.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.78.2.3:8080\n",
		}},
		"an endpoint for the node": {output: [2]string{
			"", "-A OUTPUT -d 10.198.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.78.2.3:8080\n",
		}},
		"a masquerade": {postrouting: [2]string{"", "-A POSTROUTING -s 10.78.1.2/32 -o cwds -j MASQUERADE\n"}},
	}
	rows := map[string]changed{
		"a port is opened, nftables": {language: "nftables", forward: [2]string{
			"tcp dport 80 accept; drop;", "tcp dport { 80, 443 } accept; drop;",
		}},
		"another endpoint, nftables": {language: "nftables", prerouting: [2]string{
			"ip daddr . tcp dport vmap { 10.198.0.1 . 443 : drop }; ip daddr 10.198.0.1 tcp dport 80 dnat to 10.78.2.2:8080;",
			"ip daddr . tcp dport vmap { 10.198.0.1 . 443 : drop }; ip daddr 10.198.0.1 tcp dport 80 dnat to 10.78.2.3:8080;",
		}},
		"a masquerade, nftables": {language: "nftables", postrouting: [2]string{"", "ip saddr 10.78.1.2 oifname cwds masquerade;"}},
	}
	for name, row := range ipt {
		for _, language := range []string{"legacy", "nft"} {
			row.language = language
			rows[name+", "+language] = row
		}
	}
	sent := 0
	for name, row := range rows {
		t.Run(name, func(t *testing.T) { sent += row.compare(t, labs) })
	}
	t.Log(sent, "packets sent")
}

// compare sends the witnesses of a change, and says how many.
func (c *changed) compare(t *testing.T, labs map[netfilter.Dialect]*lab) (sent int) {
	var hosts [2]*packetsim.Host
	var fates [2]*forall.Fates
	for side := range hosts {
		dialect, argv := restoring(c.language, netfilter.IPv4)
		var loaded string
		hosts[side], loaded = hostOf(t, dialect, argv, c.text(side))
		require.Equal(t, c.text(side), loaded, "no rule is refused")
		var err error
		fates[side], err = forall.Of(hosts[side], forall.Options{Families: []netfilter.Family{netfilter.IPv4}, Against: fates[0]})
		require.NoError(t, err)
	}
	found := slices.Collect(fates[0].Diff(fates[1]))
	require.NotEmpty(t, found)
	for _, d := range found {
		from := map[string]string{clientDev: clientPlace, serverDev: serverPlace, "": nodePlace}[d.Witness.In]
		if from == "" || !d.Here.Known() || !d.There.Known() {
			continue // a packet that nobody can send by lo, and what is not known
		}
		for side, want := range []forall.Distribution{d.Here, d.There} {
			c.send(t, labs, side, from, &d.Witness, want)
			sent++
		}
	}
	assert.Positive(t, sent)
	return sent
}

// send sends a witness with the rules of a side.
func (c *changed) send(t *testing.T, labs map[netfilter.Dialect]*lab, side int, from string, in *inet.Input, want forall.Distribution) {
	walked := walkCase{Dialect: netfilter.Dialect(c.language), Family: 4, Rules: c.text(side),
		Sends: []send{{From: from, Packet: inet.Input{Packet: in.Packet}.Full()}}}
	if c.language == "nftables" {
		walked.Dialect, walked.Rules, walked.NFT = netfilter.NFT, "", c.text(side)
	}
	v, err := judge(&walked, &labKernel{lab: labs[walked.Dialect]})
	require.NoError(t, err)
	require.Empty(t, v.Disagreement, in.Full())
	require.Empty(t, v.Refused, in.Full())
	require.False(t, v.RulesRefused, c.text(side))
	require.Len(t, v.Answer.Sends, 1)
	require.Len(t, want, 1, "a kernel makes one of several draws")
	seen := strings.Join(v.Answer.Sends[0].Seen, "\n")
	f := &want[0].Fate
	switch {
	case f.Verdict == packetsim.Drop:
		assert.Empty(t, seen, "%s: %s", in.Full(), f)
	case f.Verdict == packetsim.Reject:
		assert.Contains(t, seen, from+": icmp", "%s: %s", in.Full(), f)
	case f.To == packetsim.ToForward:
		dst, src := in.Dst, in.Src
		if f.Dst.IsValid() {
			dst = f.Dst
		}
		if f.Src.IsValid() {
			src = f.Src
		}
		assert.Contains(t, seen, placeOf(f.Out)+": "+in.Proto.String()+" "+src.String(), "%s: %s", in.Full(), f)
		assert.Contains(t, seen, "> "+dst.String(), "%s: %s", in.Full(), f)
	}
}
