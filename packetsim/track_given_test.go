package packetsim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// askingRules ask at each hook for what conntrack says of a packet, and translate connections that are new.
func askingRules(state PacketState) string {
	asks := []string{"--ctstate NEW", "--ctstate ESTABLISHED", "--ctstate RELATED", "--ctstate INVALID", "--ctstate UNTRACKED",
		"--ctstatus ASSURED", "--ctstatus SEEN_REPLY", "--ctstatus CONFIRMED", "--ctstate DNAT,SNAT"}
	if state != StateRelated { // which says nothing of the connection that the error is about
		asks = append(asks, "--ctdir ORIGINAL", "--ctdir REPLY", "--ctproto udp")
	}
	var b strings.Builder
	b.WriteString("*mangle\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		":POSTROUTING ACCEPT [0:0]\n")
	for _, chain := range []string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"} {
		for i, asked := range asks {
			fmt.Fprintf(&b, "-A %s -m conntrack %s -j MARK --or-mark %d\n", chain, asked, 1<<i)
		}
	}
	b.WriteString("COMMIT\n*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p udp -j DNAT --to-destination 10.244.0.12:53\n-A PREROUTING -j MARK --set-mark 9\nCOMMIT\n")
	return b.String()
}

// TestGivenState walks packets that are told to be of a state, on hosts that know no connection, beside the same packets of real
// connections.
func TestGivenState(t *testing.T) {
	const there, back = "udp 10.244.0.11:1000 > 10.244.0.12:53 in veth1", "udp 10.244.0.12:53 > 10.244.0.11:1000 in veth2"
	const outer = "udp 10.244.0.11:1000 > 10.0.0.9:53 in veth1"
	for _, test := range []struct {
		state  PacketState
		before []string
		packet string
	}{
		{StateFound, nil, there},
		{StateEstablished, []string{there, back, there}, there},
		{StateEstablished, []string{outer, "udp 10.0.0.9:53 > 10.244.0.11:1000 in eth0", outer}, outer},
		{StateReplying, []string{there, back, there}, back},
		{StateRelated, []string{there, back, there},
			"icmp 192.168.0.1 > 10.244.0.11 in eth0 type 3/1 quotes { udp 10.244.0.11:1000 > 10.244.0.12:53 }"},
		{StateInvalid, nil, "icmp 10.244.0.11 > 10.244.0.12 in veth1 type 0/0"},
		{StateEstablished, []string{"udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1", "udp 192.168.0.3:53 > 10.244.0.11:1000 local",
			"udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1"}, "udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1"},
		{StateReplying, []string{"udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1", "udp 192.168.0.3:53 > 10.244.0.11:1000 local",
			"udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1"}, "udp 192.168.0.3:53 > 10.244.0.11:1000 local"},
	} {
		t.Run(fmt.Sprintf("%d %s", test.state, test.packet), func(t *testing.T) {
			real, clock := testNode{rules4: askingRules(test.state)}.build(t)
			for _, packet := range test.before {
				step(t, real, packet)
				clock.Step(3 * time.Second) // so that a flow of UDP becomes a stream, which is assured
			}
			fresh, _ := testNode{rules4: askingRules(test.state)}.build(t)
			want := walkOne(t, real, test.packet)
			outcomes, err := fresh.WalkWith(parse(t, test.packet), WalkOptions{State: test.state})
			require.NoError(t, err)
			require.Len(t, outcomes, 1)
			want.Events, outcomes[0].Events = nil, nil // the entry's times and the like are not those of the real one
			assert.Equal(t, want, outcomes[0])
			require.NotEmpty(t, want.Steps)

			verdicts, err := fresh.VerdictsIn(test.state, parse(t, test.packet))
			require.NoError(t, err)
			require.Len(t, verdicts, 1)
			assert.Equal(t, brief(want), brief(verdicts[0]))
			assert.Empty(t, fresh.Conntrack())
			assert.NoError(t, fresh.conns.Check())

			found, err := fresh.Walk(parse(t, test.packet))
			require.NoError(t, err)
			assert.Equal(t, test.state == StateFound || test.state == StateInvalid, brief(found[0]) == brief(want) &&
				fmt.Sprint(found[0].Steps) == fmt.Sprint(want.Steps), "the next walk finds what there is")
		})
	}
}

// TestGivenUntracked has no packet of a connection beside it: what conntrack leaves alone by itself is of neighbour discovery alone.
func TestGivenUntracked(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -m conntrack --ctstate UNTRACKED -j ACCEPT\nCOMMIT\n"}.build(t)
	in := parse(t, "udp 10.244.0.11:1000 > 10.244.0.12:53 in veth1")
	for state, want := range map[PacketState]Verdict{StateUntracked: Accept, StateInvalid: Drop, StateEstablished: Drop, StateFound: Drop} {
		outcomes, err := h.VerdictsIn(state, in)
		require.NoError(t, err)
		require.Len(t, outcomes, 1)
		assert.Equal(t, want, outcomes[0].Verdict, state)
	}
}
