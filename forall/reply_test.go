package forall_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestRepliesToPackets asks for single packets, of which a walk says the same.
func TestRepliesToPackets(t *testing.T) {
	const nat = "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.1.5:8080\n" +
		"-A PREROUTING -d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.2.5:8080\n" +
		"-A POSTROUTING -s 203.0.113.0/24 -j MASQUERADE --random-fully\nCOMMIT\n"
	const filter = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n"
	const client = "tcp 192.0.2.7:1000 > 10.96.0.1:80 in eth0"
	const masqueraded = "tcp 203.0.113.7:1000 > 10.96.0.1:80 in eth0"
	for name, row := range map[string]struct{ rules, packet, want string }{
		"translated there and back": {nat, client, "(reply: accept out of eth0)"},
		"masqueraded too":           {nat, masqueraded, "(reply: accept out of eth0)"},
		"a rule drops what comes from the endpoint": {nat + filter + "-A FORWARD -s 10.244.1.5/32 -p tcp -m tcp --sport 8080 -j DROP\nCOMMIT\n",
			client, "(reply: drop)"},
		"a rule asks for the address that was called": {nat + filter + "-A FORWARD -s 10.96.0.1/32 -j DROP\nCOMMIT\n",
			client, "(reply: accept out of eth0)"},
		"raw sees the reply before it is translated": {nat + "*raw\n:PREROUTING ACCEPT [0:0]\n" +
			"-A PREROUTING -s 10.244.1.5/32 -d 203.0.113.0/24 -j DROP\nCOMMIT\n", masqueraded, "(reply: accept out of eth0)"},
		"raw drops the reply to the node": {nat + "*raw\n:PREROUTING ACCEPT [0:0]\n" +
			"-A PREROUTING -s 10.244.1.5/32 ! -d 192.0.2.0/24 -j DROP\nCOMMIT\n", masqueraded, "(reply: drop)"},
		"a rule asks for the client's own port": {nat + filter + "-A FORWARD -p tcp -m tcp --dport 1000 -j DROP\nCOMMIT\n",
			masqueraded, "(reply: drop)"},
		"raw asks for the port that the kernel chose": {nat + "*raw\n:PREROUTING ACCEPT [0:0]\n" +
			"-A PREROUTING -i veth1 -p tcp -m tcp --dport 1000 -j DROP\nCOMMIT\n", masqueraded, "(reply: not known: a destination port"},
		"raw has the reply pass conntrack by": {nat + "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -s 10.244.1.5/32 -j NOTRACK\nCOMMIT\n",
			client, "with another address than the one that was called"},
		"a firewall lets no answers in": {filter + "-A INPUT -p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j DROP\nCOMMIT\n",
			"tcp 172.18.0.3:1000 > 198.51.100.1:80 local", "(reply: drop)"},
		"a firewall lets answers in": {filter + "-A INPUT -m conntrack --ctstate ESTABLISHED -j ACCEPT\n-A INPUT -j DROP\nCOMMIT\n",
			"tcp 172.18.0.3:1000 > 198.51.100.1:80 local", "(reply: accept)"},
		"a rule rejects what is established": {filter +
			"-A FORWARD -m conntrack --ctstate ESTABLISHED -j REJECT --reject-with icmp-port-unreachable\nCOMMIT\n",
			"udp 192.0.2.7:1000 > 10.244.1.5:53 in eth0", "(reply: reject with icmp-port-unreachable)"},
		"nobody answers what is dropped": {filter + "-A FORWARD -j DROP\nCOMMIT\n", "udp 192.0.2.7:1000 > 10.244.1.5:53 in eth0", "drop"},
		"a ping": {filter + "-A INPUT -p icmp -m icmp --icmp-type 0 -j DROP\nCOMMIT\n", "icmp 172.18.0.3 > 198.51.100.1 local",
			"(reply: drop)"},
		"the other node's pod has its own way to the client": {nat, "tcp 192.0.2.7:1000 > 10.96.0.2:80 in eth0",
			"(reply: does not come by this host)"},
	} {
		t.Run(name, func(t *testing.T) {
			h := twoNodes(t, row.rules, filter+"COMMIT\n")[0]
			f, err := forall.Of(h, forall.Options{Families: only4, Chance: forall.Exact, Replies: true})
			require.NoError(t, err)
			in, err := inet.ParseInput(row.packet)
			require.NoError(t, err)
			d, err := f.At(in)
			require.NoError(t, err)
			assert.Contains(t, d.String(), row.want)
			otherwise, err := f.Confirm(forall.New, in, d, 1e-9)
			require.NoError(t, err)
			assert.Empty(t, otherwise)
		})
	}
}

// TestLawRepliesAreTheWalks asks for single packets and their replies in random rules.
func TestLawRepliesAreTheWalks(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		rules := drawnRules(t)
		back := func(text string) string { return rapid.SampledFrom([]string{"", text}).Draw(t, "rule") }
		for _, more := range []string{"nat -A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE\n",
			"nat -A POSTROUTING -d 10.244.0.0/24 -j SNAT --to-source 172.18.0.3\n",
			"-A FORWARD -m conntrack --ctstate ESTABLISHED -s 10.244.0.0/16 -j A\n", "-A INPUT -p tcp -m tcp --sport 8080 -j B\n"} {
			if text := back(more); text != "" {
				rules = append(rules, text)
			}
		}
		h, _ := lawFates(t, ruleset(rules), nil)
		f, err := forall.Of(h, forall.Options{Families: only4, Chance: forall.Exact, Replies: true})
		require.NoError(t, err)
		drawnPackets(t, f, 20, func(class forall.Class, in inet.Input, want forall.Distribution) { confirmed(t, f, class, in, want) })
	})
}

// TestRepliesLeaveTheFatesAlone: the fates of packets are what they are without those of replies.
func TestRepliesLeaveTheFatesAlone(t *testing.T) {
	h := (&services{count: 12}).host(t)
	f := fatesOf(t, h, nil)
	g, err := forall.Of(h, forall.Options{Families: only4, Replies: true})
	require.NoError(t, err)
	r, with := rand.New(rand.NewPCG(1, 2)), 0
	for space, want := range g.Boxes() {
		in, possible := walked.Draw(&space, r)
		if !possible || len(space.Names) > 0 {
			continue
		}
		for i := range want {
			if want[i].Fate.Back != (forall.Back{}) {
				with++
				want[i].Fate.Back = forall.Back{}
			}
		}
		plain, err := f.At(in)
		require.NoError(t, err)
		require.Equal(t, plain, want, in.Full())
	}
	require.Positive(t, with)
	_, err = forall.Of(h, forall.Options{Replies: true, Classes: []forall.Class{forall.Related}})
	require.Error(t, err)
}
