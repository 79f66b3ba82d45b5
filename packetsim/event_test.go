package packetsim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestMissedRules: the condition is the first that does not hold of tcp 10.244.0.11:40000 > 10.244.0.12:80, in by veth1 and out by veth2.
func TestMissedRules(t *testing.T) {
	for _, row := range []struct{ rule, failed string }{
		{"-s 10.9.0.0/16 -d 10.8.0.1/32 -j DROP", "-s 10.9.0.0/16"},
		{"! -d 10.244.0.12/32 -j DROP", "! -d 10.244.0.12/32"},
		{"-s 10.244.0.11/32 -i veth9 -j DROP", "-i veth9"},
		{"-o eth+ -j DROP", "-o eth+"},
		{"-p udp -m udp --dport 80 -j DROP", "-p udp"},
		{"-p tcp -m tcp --dport 81 -j DROP", "-m tcp --dport 81"},
		{"-p tcp -m comment --comment \"two words\" -m tcp --dport 80 -m mark --mark 0x1 -j DROP", "-m mark --mark 0x1"},
		{"-m conntrack --ctstate INVALID,ESTABLISHED -j DROP", "-m conntrack --ctstate INVALID,ESTABLISHED"},
	} {
		for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			dump := "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p 99\n-A FORWARD " + row.rule + "\nCOMMIT\n"
			h := loadedHost(t, false, d, dump, indexPolicy{rules: 1, walks: 1, least: 1})
			for range 3 { // an index is no reason to be silent of a rule
				outcomes, err := h.WalkWith(parse(t, tcpHTTP), WalkOptions{Missed: true})
				require.NoError(t, err)
				missed := missedRules(&outcomes[0])
				require.Len(t, missed, 2, row.rule)
				assert.Equal(t, "filter:FORWARD:rule:2", missed[1].String())
				assert.Equal(t, row.failed, missed[1].Failed)
				assert.Equal(t, "-A FORWARD "+row.rule, missed[1].Rule.Text)
			}
			outcomes, err := h.Walk(parse(t, tcpHTTP))
			require.NoError(t, err)
			assert.Empty(t, missedRules(&outcomes[0]))
		}
	}
}

// TestMissedRulesOfPacketsInTurn: a host keeps how a rule is told that packets missed, and tells the next packet what in it failed for that
// one, of the rules that there are by then.
func TestMissedRulesOfPacketsInTurn(t *testing.T) {
	dump := func(port int) string {
		return fmt.Sprintf("*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -s 10.244.0.11/32 -p tcp -m tcp --dport %d -j DROP\nCOMMIT\n", port)
	}
	kernel := fakeipt.New(fakeipt.Options{})
	restoreInto(t, kernel, netfilter.IPv4, dump(81))
	h, err := NewHost(HostConfig{Name: "node", Devices: testDevices(), Routes: testRoutes(), Netfilter: kernel.Namespace(),
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"}})
	require.NoError(t, err)
	failed := func(packet string) string {
		outcomes, err := h.WalkWith(parse(t, packet), WalkOptions{Missed: true})
		require.NoError(t, err)
		missed := missedRules(&outcomes[0])
		require.Len(t, missed, 1)
		return missed[0].Failed
	}
	for range 2 {
		assert.Equal(t, "-m tcp --dport 81", failed(tcpHTTP))
		assert.Equal(t, "-s 10.244.0.11/32", failed("tcp 10.244.0.13:40000 > 10.244.0.12:80 in veth1"))
		assert.Equal(t, "-p tcp", failed("udp 10.244.0.11:40000 > 10.244.0.12:80 in veth1"))
	}
	restoreInto(t, kernel, netfilter.IPv4, dump(82))
	assert.Equal(t, "-m tcp --dport 82", failed(tcpHTTP))
}

func missedRules(o *Outcome) []*RuleLook {
	var missed []*RuleLook
	for _, e := range o.Events {
		if e.Kind == EventMissed {
			missed = append(missed, e.Rule)
		}
	}
	return missed
}

// TestMissedRulesChangeNothing: a walk that tells them has the outcomes of one that does not.
func TestMissedRulesChangeNothing(t *testing.T) {
	h, _ := testNode{rules4: manyServices(30)}.build(t)
	in := parse(t, lastService(30))
	want, err := h.Walk(in)
	require.NoError(t, err)
	got, err := h.WalkWith(in, WalkOptions{Missed: true})
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range got {
		assert.GreaterOrEqual(t, len(missedRules(&got[i])), 29)
		got[i].Events, want[i].Events = nil, nil
		assert.Equal(t, want[i], got[i])
	}
}

// eventsText is a word for each event.
func eventsText(o *Outcome) string {
	var words []string
	for _, e := range o.Events {
		word := fmt.Sprintf("%d:%s", e.Step, e.Kind)
		switch {
		case e.State != "":
			word += "=" + e.State
		case e.Route != nil && e.Route.Refused != "":
			word += "=refused"
		case e.Route != nil && e.Route.Local:
			word += "=local"
		case e.Route != nil:
			word += "=" + e.Route.Out
		case e.After != nil && e.Kind == EventMark:
			word += fmt.Sprintf("=%#x", e.After.Mark)
		case e.NAT != "":
			word += "=" + string(e.NAT)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestEvents: what happens to the packets of a connection, one after the other.
func TestEvents(t *testing.T) {
	const rules = `*mangle
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p udp -j MARK --set-xmark 0x5/0xffffffff
-A PREROUTING -p udp -j CONNMARK --save-mark
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d 10.96.0.1/32 -p udp -j DNAT --to-destination 10.244.0.12:53
-A POSTROUTING -d 10.244.0.12/32 -j MASQUERADE
COMMIT
*raw
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p sctp -j NOTRACK
COMMIT
`
	h, _ := testNode{rules4: rules}.build(t)
	for _, row := range []struct{ packet, want string }{
		{"udp 10.244.0.11:4000 > 10.96.0.1:53 in veth1",
			"1:conntrack=NEW 2:mark=0x5 3:connmark 5:rewrite=dnat 5:route=veth2 5:rewrite 8:rewrite=snat 8:entry"},
		{"udp 10.244.0.12:53 > 10.244.0.1:4000 in veth2",
			"1:conntrack=ESTABLISHED 2:mark=0x5 4:rewrite=un-snat 4:route=veth1 4:rewrite 6:rewrite=un-dnat"},
		{"udp 10.244.0.11:4000 > 10.96.0.1:53 in veth1",
			"1:conntrack=ESTABLISHED 2:mark=0x5 4:rewrite=dnat 4:route=veth2 4:rewrite 6:rewrite=snat"},
		{"sctp 10.244.0.11:4000 > 10.96.0.1:53 in veth1", "2:conntrack=UNTRACKED 3:route=eth0 3:rewrite"},
		{"tcp 10.244.0.11:4000 > 10.244.0.1:80 in veth1", "1:conntrack=NEW 3:route=local 5:entry"},
		{"icmp 10.244.0.11 > 10.244.0.1 in veth1 type 0/0", "1:conntrack=INVALID 2:route=local"},
		{"tcp 10.244.0.1:4000 > 10.244.0.11:80 local", "0:route=veth1 1:conntrack=NEW 5:entry"},
	} {
		o, err := h.Step(parse(t, row.packet), SeededChance(1))
		require.NoError(t, err)
		assert.Equal(t, row.want, eventsText(&o), row.packet)
	}
}
