package packetsim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// loadedHost is a node whose rules are a dump.
func loadedHost(t require.TestingT, six bool, d netfilter.Dialect, dump string, policy indexPolicy) *Host {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	k := fakeipt.New(fakeipt.Options{Clock: clock, Dialect: d})
	family := netfilter.IPv4
	if six {
		family = netfilter.IPv6
	}
	require.NoError(t, k.Load(family, "dump.txt", strings.NewReader(dump)), dump)
	h, err := NewHost(HostConfig{
		Name: "node", Devices: testDevices(), Routes: testRoutes(), Netfilter: k.Namespace(), Clock: clock,
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"},
	})
	require.NoError(t, err)
	h.indexing = policy
	return h
}

// TestOpaqueRulesThatPacketsMeet: the packet is tcp 10.244.0.11:40000 > 10.244.0.12:80, and the rule the second of FORWARD.
func TestOpaqueRulesThatPacketsMeet(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, row := range []struct {
			rule  string
			unmet string // the extension that the error names, "" if the packet goes on
		}{
			{"-m geoip --source-country DE -j DROP", "match geoip"},
			{"-p tcp -m tcp --dport 80 -m geoip --source-country DE -j DROP", "match geoip"},
			{"-p tcp -m geoip --source-country DE -m tcp --dport 80 -j DROP", "match geoip"},
			{"-m geoip --source-country DE -m ipp2p --bit -j DROP", "match geoip"},
			{"-m comment --comment x -j TARPIT --tarpit", "target TARPIT"},
			{"-j LOGMARK", "target LOGMARK"},
			{"-m geoip --source-country DE -j CHAIN", "match geoip"},
			{"-m geoip --source-country DE -m statistic --mode nth --every 2 --packet 1 -j DROP", "match geoip"},
			{"-m geoip --source-country DE -m limit --limit 1/hour --limit-burst 1", "match geoip"},
			{"-m geoip --source-country DE -m quota --quota 0 -j DROP", "match geoip"},
			{"-m geoip --source-country DE -m connlimit --connlimit-above 9 --connlimit-mask 32 --connlimit-saddr -j DROP", "match geoip"},
			{"-m geoip --source-country DE -m time --timestart 08:00:00 --timestop 09:00:00 -j DROP", ""},
			{"-m geoip --source-country DE -m ttl --ttl-eq 7 -j DROP", ""},
			{"-s 10.244.0.99/32 -m geoip --source-country DE -j DROP", ""},
			{"-o eth0 -m geoip --source-country DE -j DROP", ""},
			{"-p udp -m geoip --source-country DE -j DROP", ""},
			{"-p tcp -m tcp --dport 81 -m geoip --source-country DE -j DROP", ""},
			{"-p tcp -m geoip --source-country DE -m tcp --dport 81 -j DROP", ""},
			{"-m geoip --source-country DE -m ipp2p --bit -m mark --mark 0x7 -j DROP", ""},
			{"-p tcp -m tcp --dport 81 -j TARPIT --tarpit", ""},
			{"-m conntrack --ctstate ESTABLISHED -j LOGMARK", ""},
		} {
			dump := "*filter\n:FORWARD ACCEPT [0:0]\n:CHAIN - [0:0]\n-A FORWARD -p 99\n-A FORWARD " + row.rule + "\n-A CHAIN -j DROP\nCOMMIT\n"
			h := loadedHost(t, false, d, dump, neverIndex)
			outcomes, err := h.Walk(parse(t, tcpHTTP))
			if row.unmet == "" {
				require.NoError(t, err, row.rule)
				assert.Equal(t, Accept, outcomes[0].Verdict, row.rule)
				continue
			}
			var opaque *OpaqueError
			require.ErrorAs(t, err, &opaque, row.rule)
			assert.EqualError(t, err, "host node: not supported: an extension that is not known: "+row.unmet+
				" of filter:FORWARD:rule:2 (dump.txt, line 5: -A FORWARD "+row.rule+")")
		}
	}
}

// TestOpaqueRulesLeaveNothingBehind: what remembers is not asked behind a match that is not known, and a walk that fails changes nothing.
func TestOpaqueRulesLeaveNothingBehind(t *testing.T) {
	dump := "*filter\n:FORWARD ACCEPT [0:0]\n" +
		"-A FORWARD -m mark --mark 0x1 -m geoip --source-country DE -m statistic --mode nth --every 2 --packet 0 -j DROP\n" +
		"-A FORWARD -m statistic --mode nth --every 2 --packet 0 -m mark --mark 0x2 -j TARPIT\nCOMMIT\n"
	h := loadedHost(t, false, netfilter.Legacy, dump, neverIndex)
	for range 3 {
		_, err := h.Step(parse(t, tcpHTTP+" mark 0x1"), &replayChance{})
		require.ErrorContains(t, err, "match geoip")
		_, err = h.Step(parse(t, tcpHTTP+" mark 0x2"), &replayChance{})
		require.ErrorContains(t, err, "target TARPIT")
	}
	assert.Empty(t, h.Conntrack())
}

// TestOpaqueRulesThatNoPacketMeets: a ruleset to which opaque rules are added that the packets do not meet walks as the one without.
func TestOpaqueRulesThatNoPacketMeets(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, checkUnmetOpaque)
}

// FuzzUnmetOpaqueRules is the same law, driven by the fuzzer.
func FuzzUnmetOpaqueRules(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkUnmetOpaque)) }

// unmet are the words of rules that no packet of drawPacket meets.
var unmet = []string{
	"-p 98 -m geoip --source-country DE -j ACCEPT", "-p 98 -j TARPIT --tarpit", "-i lo -m condition --condition on",
	"-m geoip ! --source-country DE -m mark --mark 0x77 -j RETURN", "-m ipp2p --bit -m length --length 7 -m iface --up -j DELUDE",
	"-p tcp -m tcp --dport 7 -m lscan --stealth -j ACCEPT", "-p udp -m psd --psd-hi-ports-weight 1 -m udp --dport 7 -j ACCEPT",
}

func checkUnmetOpaque(t *rapid.T) {
	six := rapid.Bool().Draw(t, "IPv6")
	plain := drawTables(t, six)
	var with strings.Builder
	for line := range strings.Lines(plain) {
		if words := strings.Fields(line); words[0] == "-A" {
			for range rapid.IntRange(0, 2).Draw(t, "opaque rules") {
				fmt.Fprintf(&with, "-A %s %s\n", words[1], rapid.SampledFrom(unmet).Draw(t, "opaque"))
			}
		}
		with.WriteString(line)
	}
	policy := rapid.SampledFrom([]indexPolicy{alwaysIndex, neverIndex}).Draw(t, "index")
	d := rapid.SampledFrom([]netfilter.Dialect{netfilter.Legacy, netfilter.NFT}).Draw(t, "dialect")
	seed := rapid.Uint64().Draw(t, "seed")
	chanceA, chanceB := SeededChance(seed), SeededChance(seed)
	a, b := loadedHost(t, six, d, with.String(), policy), loadedHost(t, six, d, plain, neverIndex)
	for range rapid.IntRange(1, 8).Draw(t, "packets") {
		in := drawPacket(t, six)
		gotA, errA := a.Step(in, chanceA)
		gotB, errB := b.Step(in, chanceB)
		require.Equal(t, errB, errA, "%s", in)
		require.Equal(t, unnumbered(gotB), unnumbered(gotA), "%s\n%s", in, with.String())
	}
	require.Equal(t, b.Conntrack(), a.Conntrack())
}

// unnumbered is an outcome without what more rules before a step change of it.
func unnumbered(o Outcome) Outcome {
	steps := make([]Step, len(o.Steps))
	for i, s := range o.Steps {
		s.Number, s.Rule = 0, nil
		steps[i] = s
	}
	o.Steps = steps
	for i := range o.Replies {
		o.Replies[i].Outcome = unnumbered(o.Replies[i].Outcome)
	}
	return o
}

// TestWalkThatGuesses: the packet is tcp 10.244.0.11:40000 > 10.244.0.12:80, and the rule the second of FORWARD.
func TestWalkThatGuesses(t *testing.T) {
	for _, row := range []struct {
		name, rule string
		want       []string
	}{
		{"a match", "-m geioip --cc DE -j DROP", []string{"1 matches: drop", "1 does not match: accept"}},
		{"behind one that holds", "-p tcp -m geioip --cc DE -m tcp --dport 80 -j DROP", []string{"1 matches: drop", "1 does not match: accept"}},
		{"two matches", "-m geioip --cc DE -m ipp2p --bit -j DROP",
			[]string{"1 matches, matches: drop", "1 matches, does not match: accept", "1 does not match: accept"}},
		{"a target", "-j LOGMARK", []string{"1 lets the packet go on as it is: accept", "1 decides: unknown"}},
		{"both", "-m geioip --cc DE -j LOGMARK",
			[]string{"1 matches, lets the packet go on as it is: accept", "1 matches, decides: unknown", "1 does not match: accept"}},
		{"with a chance", "-m statistic --mode random --probability 0.25000000000 -m geioip --cc DE -j DROP",
			[]string{"0.25 matches: drop", "0.25 does not match: accept", "0.75: accept"}},
		{"one that the packet does not come to", "-p udp -m geioip --cc DE -j DROP", []string{"1: accept"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dump := "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p 99\n-A FORWARD " + row.rule + "\nCOMMIT\n"
			h := loadedHost(t, false, netfilter.Legacy, dump, neverIndex)
			outcomes, err := h.WalkWith(parse(t, tcpHTTP), WalkOptions{Guess: true})
			require.NoError(t, err)
			var got []string
			for _, o := range outcomes {
				var answers []string
				for _, e := range o.Events {
					if e.Kind == EventOpaque {
						assert.Equal(t, "filter:FORWARD:rule:2", e.Rule.String())
						answers = append(answers, string(e.Rule.Answer))
					}
				}
				got = append(got, strings.TrimSpace(fmt.Sprintf("%.4g %s", o.Probability, strings.Join(answers, ", ")))+": "+string(o.Verdict))
			}
			assert.Equal(t, row.want, got)
		})
	}
}
