package packetsim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTEE(t *testing.T) {
	const packet = "udp 10.244.0.11:5 > 10.244.0.12:9 in veth1 ttl 9"
	for _, row := range []struct {
		about, rules  string
		copies        int
		out, next     string
		ttl           uint8
		verdict, copy Verdict
	}{
		{"to a neighbour", "*mangle\n-A FORWARD -j TEE --gateway 10.244.0.11", 1, "veth1", "10.244.0.11", 8, Accept, Accept},
		{"through a router", "*mangle\n-A FORWARD -j TEE --gateway 8.8.8.8", 1, "eth0", "192.168.0.1", 8, Accept, Accept},
		{"one hop less before routing", "*mangle\n-A PREROUTING -j TEE --gateway 10.244.0.11", 1, "veth1", "10.244.0.11", 8, Accept, Accept},
		{"the last hop is taken", "*mangle\n-A PREROUTING -j TTL --ttl-set 1\n-A PREROUTING -j TEE --gateway 10.244.0.11", 1, "veth1",
			"10.244.0.11", 0, Reject,
			Accept},
		{"no hop is left to take", "*mangle\n-A PREROUTING -j TTL --ttl-set 0\n-A PREROUTING -j TEE --gateway 10.244.0.11", 1, "veth1",
			"10.244.0.11", 255,
			Reject, Accept},
		{"a copy is not copied", "*mangle\n-A POSTROUTING -j TEE --gateway 10.244.0.11", 1, "veth1", "10.244.0.11", 8, Accept, Accept},
		{"the packet may be dropped", "*filter\n-A FORWARD -j TEE --gateway 10.244.0.11\n-A FORWARD -j DROP", 1, "veth1", "10.244.0.11", 8, Drop,
			Accept},
		{"the copy may be dropped", "*filter\n-A FORWARD -j TEE --gateway 10.244.0.11\n-A OUTPUT -j DROP", 1, "", "", 8, Accept, Drop},
		{"by a device without a route", "*mangle\n-A FORWARD -j TEE --gateway 10.244.0.11 --oif veth2", 1, "veth2", "10.244.0.11", 8, Accept,
			Accept},
		{"no such device", "*mangle\n-A FORWARD -j TEE --gateway 10.244.0.11 --oif none", 1, "veth1", "10.244.0.11", 8, Accept, Accept},
	} {
		t.Run(row.about, func(t *testing.T) {
			h, _ := testNode{rules4: row.rules + "\nCOMMIT\n*raw\n-A OUTPUT -m conntrack --ctstate NEW -j DROP\nCOMMIT\n"}.build(t)
			o := step(t, h, packet)
			assert.Equal(t, row.verdict, o.Verdict)
			copies := slices.DeleteFunc(slices.Clone(o.Replies), func(r Reply) bool { return !r.Copy })
			require.Len(t, copies, row.copies)
			for _, r := range copies {
				assert.True(t, r.Copy)
				assert.Equal(t, row.copy, r.Outcome.Verdict)
				assert.Equal(t, row.out, r.Outcome.Out)
				assert.Equal(t, row.ttl, r.Packet.HopLimit())
				assert.Equal(t, parse(t, packet).Dst, r.Packet.Dst)
				if row.next != "" {
					assert.Equal(t, row.next, r.Outcome.NextHop.String())
				}
			}
			if row.verdict == Accept {
				assert.Len(t, h.Conntrack(), 1, "the copy has no connection")
			}
		})
	}
	h, _ := testNode{rules4: "*mangle\n-A PREROUTING -j TEE --gateway 10.244.0.11\n-A OUTPUT -j MARK --xor-mark 1\nCOMMIT\n"}.build(t)
	_, err := h.Walk(parse(t, "udp 10.244.0.11:5 > 192.168.0.3:9 in veth1"))
	assert.ErrorIs(t, err, errEndless, "the copy, routed again, comes in by lo")
	h, _ = testNode{rules6: "*mangle\n-A PREROUTING -j TEE --gateway fd00:2::11\nCOMMIT\n"}.build(t)
	_, err = h.Walk(parse(t, "udp [fd00:2::11]:5 > [ff02::1]:9 in veth1 mac 02:00:00:00:00:01 link multicast"))
	assert.ErrorIs(t, err, errEndless, "the host's own copy of the copy is copied again, as in Linux, whose hop limit of 0 becomes 255")
	h, _ = testNode{rules4: "*mangle\n-A FORWARD -j TEE --gateway 10.244.0.1\nCOMMIT\n"}.build(t)
	_, err = h.Walk(parse(t, packet))
	assert.ErrorIs(t, err, errTEEToItself)
}

func TestCopyOfADrawnPort(t *testing.T) {
	h, _ := testNode{rules4: "*nat\n-A POSTROUTING -p udp -j SNAT --to-source 10.244.0.1:50001-50009\nCOMMIT\n" +
		"*mangle\n-A OUTPUT -p udp -j TEE --gateway 10.244.0.11\n-A PREROUTING -i lo -p udp -j TEE --gateway 10.244.0.11\nCOMMIT\n"}.build(t)
	o := step(t, h, "udp 10.244.0.1:5 > 10.244.0.1:8 local")
	require.Len(t, o.Replies, 2)
	assert.EqualValues(t, 5, o.Replies[0].Outcome.Final.SrcPort, "the copy of before it is drawn")
	assert.Zero(t, o.Replies[1].Outcome.Final.SrcPort)
}
