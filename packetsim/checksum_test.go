package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWrongChecksum holds what the recorded cases walk-npt-* of kindtest/onkernel/differ have from the kernel, and packets that come so.
func TestWrongChecksum(t *testing.T) {
	const (
		tracks  = "*filter\n-A INPUT -m conntrack --ctstate NEW\nCOMMIT\n"
		foreign = "SNPT --src-pfx fd55::/64 --dst-pfx fd66::/64\n"
		tcp     = "tcp [fd00:2::11]:1 > [fd00:1::3]:80 in veth1"
	)
	for _, row := range []struct{ about, rules, sysctl, packet, want string }{
		{"a prefix of its own", "*mangle\n-A INPUT -j SNPT --src-pfx fd00:2::/64 --dst-pfx fd66::/64\nCOMMIT\n", "1", tcp, "accept local "},
		{"a foreign prefix", "*mangle\n-A INPUT -j " + foreign + "COMMIT\n", "1", tcp, "drop none wrong checksum"},
		{"no checksum of addresses", "*mangle\n-A INPUT -j " + foreign + "COMMIT\n", "1", "sctp [fd00:2::11]:1 > [fd00:1::3]:80 in veth1",
			"accept local "},
		{"conntrack has looked before", tracks + "*mangle\n-A INPUT -j " + foreign + "COMMIT\n", "1", tcp, "accept local "},
		{"conntrack does not look", tracks + "*mangle\n-A INPUT -j " + foreign + "COMMIT\n", "0", tcp, "drop none wrong checksum"},
		{"another byte changes", tracks + "*mangle\n-A INPUT -j HL --hl-set 9\n-A INPUT -j " + foreign + "COMMIT\n", "1", tcp,
			"drop none wrong checksum"},
		{"of a socket to itself", "*mangle\n-A INPUT -j " + foreign + "COMMIT\n", "1", "tcp [fd00:1::3]:1 > [fd00:1::3]:80 local",
			"accept local "},
		{"of a raw socket to itself", "*mangle\n-A INPUT -j " + foreign + "COMMIT\n", "1",
			"tcp [fd00:1::3]:1 > [fd00:1::3]:80 local socket uid=0,gid=0,raw", "drop none wrong checksum"},
		{"it came so", "", "1", tcp + " checksum-off 0x1", "drop none wrong checksum"},
		{"it came so, and conntrack takes it for invalid", "*filter\n-A INPUT -m conntrack --ctstate INVALID -j DROP\nCOMMIT\n", "1",
			tcp + " checksum-off 0x1", "drop none "},
	} {
		t.Run(row.about, func(t *testing.T) {
			h, _ := testNode{rules6: row.rules, sysctls: map[string]string{"net.netfilter.nf_conntrack_checksum": row.sysctl}}.build(t)
			o := walkOne(t, h, row.packet)
			assert.Equal(t, row.want, string(o.Verdict)+" "+string(o.To)+" "+o.Why)
		})
	}
}

// TestChecksumThatIsOffAddsUp: the second rule takes back what the first has made wrong.
func TestChecksumThatIsOffAddsUp(t *testing.T) {
	const packet = "udp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1"
	const there = "-A POSTROUTING -j SNPT --src-pfx fd55::/64 --dst-pfx fd66::/64\n"
	const back = "-A POSTROUTING -j SNPT --src-pfx fd13::/64 --dst-pfx fd00:2::/64\n"
	h, _ := testNode{rules6: "*mangle\n" + there + "COMMIT\n"}.build(t)
	once := walkOne(t, h, packet).Packet
	assert.Equal(t, "fd66::ffee:0:0:11", once.Src.String())
	assert.Equal(t, uint16(0x53), once.ChecksumOff, "0xfd66 + 0xffee are that more than 0xfd00 + 2, with the carry")
	h, _ = testNode{rules6: "*mangle\n" + there + back + "COMMIT\n"}.build(t)
	twice := walkOne(t, h, packet).Packet
	assert.Equal(t, parse(t, packet).Src, twice.Src)
	assert.Zero(t, twice.ChecksumOff)
}

// TestRejectOfAWrongChecksum: a reset is sent only where the checksum is right now, an ICMP error also where it was right before.
func TestRejectOfAWrongChecksum(t *testing.T) {
	const rules = "*raw\n-A PREROUTING -p udp -m udp --dport 81 -j NOTRACK\nCOMMIT\n*mangle\n" +
		"-A PREROUTING -j DNPT --src-pfx fd55::/64 --dst-pfx fd00:2::/64\nCOMMIT\n*filter\n" +
		"-A FORWARD -p tcp -j REJECT --reject-with tcp-reset\n-A FORWARD -j REJECT\n-A INPUT -m conntrack --ctstate NEW\nCOMMIT\n"
	for packet, answers := range map[string]int{
		"tcp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1": 0, "udp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1": 1,
		"udp [fd00:2::11]:1 > [fd00:2::12]:81 in veth1": 0, "sctp [fd00:2::11]:1 > [fd00:2::12]:81 in veth1": 1,
	} {
		h, _ := testNode{rules6: rules}.build(t)
		o := walkOne(t, h, packet)
		assert.Equal(t, Reject, o.Verdict, packet)
		assert.Len(t, o.Replies, answers, packet)
	}
}
