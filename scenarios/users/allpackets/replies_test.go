package allpackets_test

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
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/replies"
)

// hosts are a host with rules of table filter, and the same one without any.
func hosts(t require.TestingT, policy string, rules ...string) (with, bare *packetsim.Host) {
	text := fmt.Sprintf("*filter\n:INPUT %[1]s [0:0]\n:FORWARD %[1]s [0:0]\n:OUTPUT ACCEPT [0:0]\n", policy)
	for _, rule := range rules {
		text += rule + "\n"
	}
	o := snapshot.RulesOptions{Devices: []string{"veth1"}, Local: []netip.Addr{netip.MustParseAddr("172.18.0.3")}, Family: netfilter.IPv4}
	with, err := snapshot.HostOfSave("rules", strings.NewReader(text+"COMMIT\n"), o)
	require.NoError(t, err)
	bare, err = snapshot.HostOfSave("rules", strings.NewReader("*filter\nCOMMIT\n"), o)
	require.NoError(t, err)
	return with, bare
}

// reply is what a server sends to a client that the host forwards.
type reply struct {
	src, dst         string
	srcPort, dstPort uint16
	proto            uint16
}

func (r reply) isIn(s *replies.Set) bool {
	within := func(a forall.Addrs, addr string) bool {
		is := netip.MustParseAddr(addr)
		return a.First.Compare(is) <= 0 && is.Compare(a.Last) <= 0
	}
	to, is := s.To(netip.MustParseAddr(r.dst))
	return is && within(s.Src, r.src) && within(to.Dst, r.dst) && s.Protos.Has(r.proto) && s.SrcPorts.Has(r.srcPort) &&
		s.DstPorts.Has(r.dstPort)
}

// TestStopped asks whether a reply to a client in the cluster is stopped.
func TestStopped(t *testing.T) {
	const tcp, udp = 6, 17
	toClient := reply{"10.244.1.8", "10.244.0.9", 8080, 40000, tcp}
	for name, c := range map[string]struct {
		policy  string
		rules   []string
		reply   reply
		stopped bool
		unknown string
	}{
		"no rule":                   {policy: "ACCEPT", reply: toClient},
		"all is dropped":            {policy: "DROP", reply: toClient, stopped: true},
		"requests alone are let in": {"DROP", []string{"-A FORWARD -p tcp -m tcp --dport 8080 -j ACCEPT"}, toClient, true, ""},
		"replies are let in":        {"DROP", []string{"-A FORWARD -m conntrack --ctstate ESTABLISHED -j ACCEPT"}, toClient, false, ""},
		"those of the server":       {"DROP", []string{"-A FORWARD -p tcp -m tcp --sport 8080 -j ACCEPT"}, toClient, false, ""},
		"a port of servers": {"ACCEPT", []string{"-A FORWARD -p tcp -m tcp --dport 8080 -j DROP"},
			reply{"10.244.1.8", "10.244.0.9", 443, 8080, tcp}, false, ""},
		"ports of clients": {"ACCEPT", []string{"-A FORWARD -p tcp -m tcp --dport 30000:40000 -j DROP"}, toClient, true, ""},
		"ports of servers and clients": {"ACCEPT", []string{"-A FORWARD -p tcp -m multiport --dports 443,39000:41000 -j DROP"}, toClient,
			true, ""},
		"one client of two": {"ACCEPT", []string{"-A FORWARD -d 10.244.0.9 -j DROP", "-A FORWARD -d 172.16.0.0/12 -j DROP"},
			toClient, true, ""},
		"a port of another client": {"ACCEPT", []string{"-A FORWARD -d 10.244.0.9 -p tcp --dport 50000 -j DROP",
			"-A FORWARD -d 172.16.0.0/12 -p tcp --dport 40000 -j DROP"}, toClient, false, ""},
		"ports of clients, another one": {"ACCEPT", []string{"-A FORWARD -p tcp -m tcp --dport 30000:39999 -j DROP"}, toClient, false, ""},
		"another protocol":              {"ACCEPT", []string{"-A FORWARD -p udp -j REJECT"}, toClient, false, ""},
		"that protocol": {"ACCEPT", []string{"-A FORWARD -p udp -j REJECT"},
			reply{"10.244.1.8", "10.244.0.9", 53, 40000, udp}, true, ""},
		"a server": {"ACCEPT", []string{"-A FORWARD -s 10.244.1.8 -j DROP"}, toClient, true, ""},
		"a condition": {"ACCEPT", []string{"-A FORWARD -m connbytes --connbytes 100: --connbytes-dir both --connbytes-mode packets -j DROP"},
			toClient, true,
			"replies are stopped only if ["},
		"by chance": {"ACCEPT", []string{"-A FORWARD -m statistic --mode random --probability 0.01 -j DROP"}, toClient, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			with, bare := hosts(t, c.policy, c.rules...)
			sets, more, err := replies.Stopped(with, bare, netfilter.IPv4)
			require.NoError(t, err)
			assert.False(t, more)
			var found []replies.Set
			for i := range sets {
				if c.reply.isIn(&sets[i]) {
					found = append(found, sets[i])
				}
			}
			if !c.stopped {
				assert.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			for _, s := range found {
				assert.True(t, s.Client.IsValid())
				if c.unknown == "" {
					assert.Empty(t, s.Unknown)
				} else {
					assert.Contains(t, s.Unknown, c.unknown)
				}
			}
		})
	}
}

// TestReplyThatArrivesNowhere: Linux drops a packet from a loopback address that comes in by a device, so no rule stops it.
func TestReplyThatArrivesNowhere(t *testing.T) {
	o := snapshot.RulesOptions{Family: netfilter.IPv4}
	rejects := "table ip t {\n\tchain c {\n\t\ttype filter hook prerouting priority 0; policy accept;\n" +
		"\t\tct state established reject\n\t}\n}\n"
	with, err := snapshot.HostOfSave("rules", strings.NewReader(rejects), o)
	require.NoError(t, err)
	bare, err := snapshot.HostOfSave("rules", strings.NewReader("*filter\nCOMMIT\n"), o)
	require.NoError(t, err)
	sets, _, err := replies.Stopped(with, bare, netfilter.IPv4)
	require.NoError(t, err)
	for src, stopped := range map[string]bool{"10.244.1.8": true, "127.0.0.5": false} {
		isIn := func(s replies.Set) bool { return reply{src, "10.244.0.9", 8080, 40000, 6}.isIn(&s) }
		assert.Equal(t, stopped, slices.ContainsFunc(sets, isIn), src)
	}
}

// TestMoreSetsThanAreGiven: a firewall of many clients.
func TestMoreSetsThanAreGiven(t *testing.T) {
	var rules []string
	for i := range replies.MostSets + 10 {
		rules = append(rules, fmt.Sprintf("-A FORWARD -s 10.%d.%d.7 -d 10.9.%d.%d -j DROP", i>>8, i&255, i>>8, i&255))
	}
	with, bare := hosts(t, "ACCEPT", rules...)
	sets, more, err := replies.Stopped(with, bare, netfilter.IPv4)
	require.NoError(t, err)
	assert.True(t, more)
	assert.Len(t, sets, replies.MostSets)
}

func TestClientPort(t *testing.T) {
	for ports, want := range map[forall.Ports]uint16{
		{First: 0, Last: 65535}:     40000,
		{First: 40000, Last: 40000}: 40000,
		{First: 30000, Last: 39999}: 32768,
		{First: 50000, Last: 65535}: 50000,
	} {
		s := replies.Set{Space: forall.Space{DstPorts: ports}}
		assert.Equal(t, want, s.ClientPort(40000), ports)
	}
}

// TestLawOfStopped walks replies: one of a set that is stopped for certain does not arrive, and arrives without rules.
func TestLawOfStopped(t *testing.T) {
	sample.Checks(t, 40)
	walks := 0
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		var rules []string
		for range rapid.IntRange(1, 6).Draw(t, "rules") {
			rules = append(rules, strings.Join(strings.Fields(fmt.Sprintf("-A %s %s %s %s %s -j %s", one("chain", "INPUT", "FORWARD"),
				one("source", "", "-s 10.244.0.0/16", "! -s 10.244.1.8"), one("destination", "", "-d 10.244.0.9", "-d 172.18.0.3"),
				one("ports", "", "-p tcp -m tcp --dport 40000:65535", "-p tcp -m tcp --sport 8080", "-p udp -m udp --dport 53"),
				one("state", "", "-m conntrack --ctstate ESTABLISHED", "-m conntrack --ctstate NEW", "-m conntrack --ctdir REPLY"),
				one("verdict", "ACCEPT", "DROP", "REJECT"))), " "))
		}
		with, bare := hosts(t, one("policy", "ACCEPT", "DROP"), rules...)
		sets, _, err := replies.Stopped(with, bare, netfilter.IPv4)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range sets {
			s := &sets[i]
			in, possible := walked.Draw(&s.Space, r)
			if !possible || !s.Walkable() || s.Unknown != "" {
				continue
			}
			for h, arrives := range map[*packetsim.Host]bool{with: false, bare: true} {
				outcomes, err := h.VerdictsIn(forall.Replying.State(), in)
				require.NoError(t, err)
				for i := range outcomes {
					require.Equal(t, arrives, outcomes[i].Verdict == packetsim.Accept, "%s\n%s", in.Full(), s.String())
				}
			}
			walks++
		}
	})
	assert.Positive(t, walks)
}
