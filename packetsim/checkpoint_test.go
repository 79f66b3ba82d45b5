package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestProbe walks a connection under a probe, and looks at other packets meanwhile.
func TestProbe(t *testing.T) {
	h, _ := testNode{rules4: manyServices(3)}.build(t)
	probe := h.Probe()
	var o Outcome
	syn, other := parse(t, "tcp 10.244.0.11:1000 > 10.100.0.1:80 in veth1"), parse(t, "tcp 10.244.0.11:1001 > 10.100.0.2:80 in veth1")
	require.NoError(t, h.Pass(&syn, SeededChance(1), &o))
	endpoint := o.Packet.Dst
	for range 3 { // a look's connections are not those of the probe that it is under
		_, err := h.Walk(other)
		require.NoError(t, err)
		_, err = h.Verdict(other, SeededChance(2))
		require.NoError(t, err)
	}
	require.Len(t, h.Conntrack(), 1)
	for seed := range uint64(9) { // the SYN again
		require.NoError(t, h.Pass(&syn, SeededChance(seed), &o))
		require.Equal(t, endpoint, o.Packet.Dst, "the connection's own server")
	}
	inner := h.Probe()
	require.NoError(t, h.Pass(&other, SeededChance(4), &o))
	require.Len(t, h.Conntrack(), 2)
	inner.Undo()
	require.Len(t, h.Conntrack(), 1)
	assert.Equal(t, endpoint, h.Conntrack()[0].Reply.Src)
	probe.Undo()
	assert.Empty(t, h.Conntrack())
	assert.Zero(t, packetsCounted(h))
	assert.Panics(t, func() { h.Probe().Keep() })
}

// TestPassIsStepWithoutText takes the same packets through two hosts.
func TestPassIsStepWithoutText(t *testing.T) {
	told, _ := testNode{rules4: manyServices(3)}.build(t)
	quiet, _ := testNode{rules4: manyServices(3)}.build(t)
	var got Outcome
	for seed := range uint64(20) {
		for _, packet := range []string{
			"tcp 10.244.0.11:1000 > 10.100.0.1:80 in veth1", "tcp 10.244.0.11:1000 > 10.100.0.1:80 in veth1 flags ACK",
			"udp 10.244.0.11:1000 > 203.0.113.9:53 in veth1 ttl 1", "icmp 192.168.0.3 > 10.244.0.11 local",
		} {
			in := parse(t, packet)
			in.SrcPort += uint16(seed)
			want, err := told.Step(in, SeededChance(seed))
			require.NoError(t, err)
			require.NoError(t, quiet.Pass(&in, SeededChance(seed), &got))
			assert.Nil(t, got.Steps)
			assert.Nil(t, got.Events)
			assert.Empty(t, got.DNAT)
			want.Steps, want.Events, want.DNAT = nil, nil, ""
			require.Len(t, got.Replies, len(want.Replies), packet)
			for i := range want.Replies {
				without := &want.Replies[i].Outcome
				without.Steps, without.Events, without.DNAT = nil, nil, ""
				want.Replies[i].After = 0
				assert.Equal(t, want.Replies[i], got.Replies[i], packet)
			}
			want.Replies, got.Replies = nil, nil
			assert.Equal(t, want, got, packet)
		}
	}
	assert.Equal(t, told.Conntrack(), quiet.Conntrack())
	assert.Equal(t, packetsCounted(told), packetsCounted(quiet))
	assert.NotZero(t, packetsCounted(quiet))
}

// packetsCounted are the packets that the rules for IPv4 have counted, one more than once if several rules did.
func packetsCounted(h *Host) (sum uint64) {
	for _, table := range fakeipt.First(h.Netfilter()).Ruleset(netfilter.IPv4).Tables() {
		for chain := range table.Chains() {
			for _, rule := range chain.Rules {
				sum += rule.Counters.Packets()
			}
		}
	}
	return sum
}
