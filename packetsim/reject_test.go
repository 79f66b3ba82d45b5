package packetsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// answer is what the host's reply is and where it goes.
func answer(t *testing.T, o Outcome) string {
	t.Helper()
	if len(o.Replies) == 0 {
		return "none"
	}
	require.Len(t, o.Replies, 1)
	r := o.Replies[0]
	text := brief(r.Outcome)
	if r.Packet.Proto == inet.TCP {
		return text + " " + r.Packet.TCPFlags.String()
	}
	return text + " about " + header(*r.Outcome.Packet.Inner)
}

func TestReject(t *testing.T) {
	const every = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j REJECT --reject-with icmp-port-unreachable\n" +
		"-A OUTPUT -d 10.96.0.0/16 -j REJECT\n" +
		"-A FORWARD -p tcp -m tcp --dport 81 -j REJECT --reject-with tcp-reset\n-A FORWARD -j REJECT --reject-with " +
		"icmp-admin-prohibited\nCOMMIT\n"
	h, _ := testNode{rules4: every}.build(t)
	rows := []struct{ name, packet, with, answer string }{
		{"forwarded", "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1", "icmp-admin-prohibited",
			"accept forward veth1 10.244.0.1>10.244.0.11 about 10.244.0.11:1>10.244.0.12:80"},
		{"to the node", "udp 10.244.0.11:1 > 192.168.0.3:80 in veth1", "icmp-port-unreachable",
			"accept forward veth1 192.168.0.3>10.244.0.11 about 10.244.0.11:1>192.168.0.3:80"},
		{"of the node, the answer meets INPUT", "udp 192.168.0.3:1 > 10.96.0.1:80 local", "icmp-port-unreachable",
			"reject icmp-port-unreachable about 192.168.0.3:1>10.96.0.1:80"},
		{"reset of a SYN", "tcp 10.244.0.11:1 > 10.244.0.12:81 in veth1", "tcp-reset",
			"accept forward veth1 10.244.0.12:81>10.244.0.11:1 RST,ACK"},
		{"reset of an ACK", "tcp 10.244.0.11:1 > 10.244.0.12:81 in veth1 flags ACK", "tcp-reset",
			"accept forward veth1 10.244.0.12:81>10.244.0.11:1 RST"},
		{"no reset of a reset", "tcp 10.244.0.11:1 > 10.244.0.12:81 in veth1 flags RST", "tcp-reset", "none"},
		{"broadcast is not answered", "udp 192.168.0.9:1 > 192.168.0.255:80 in eth0", "icmp-port-unreachable", "none"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := walkOne(t, h, row.packet)
			assert.Equal(t, Reject, o.Verdict)
			assert.Equal(t, row.with, o.RejectWith)
			assert.Equal(t, ToNone, o.To)
			assert.Equal(t, row.answer, answer(t, o))
		})
	}
}

// TestResetNumbers: a reset goes on where the segment's acknowledgement is, and acknowledges a segment that has none.
func TestResetNumbers(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -j REJECT --reject-with tcp-reset\nCOMMIT\n"}.build(t)
	for name, row := range map[string]struct {
		flags inet.TCPFlags
		given *inet.TCPNumbers
		want  *inet.TCPNumbers
	}{
		"of a SYN":              {inet.SYN, &inet.TCPNumbers{Seq: 1000}, &inet.TCPNumbers{Ack: 1001}},
		"of a SYN with data":    {inet.SYN, &inet.TCPNumbers{Seq: 1000, Data: 10}, &inet.TCPNumbers{Ack: 1011}},
		"of a FIN without ACK":  {inet.FIN, &inet.TCPNumbers{Seq: 1<<32 - 1, Data: 4}, &inet.TCPNumbers{Ack: 4}},
		"of an ACK":             {inet.ACK, &inet.TCPNumbers{Seq: 1000, Ack: 77, Data: 10}, &inet.TCPNumbers{Seq: 77}},
		"of an unknown segment": {inet.ACK, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := parse(t, "tcp 10.244.0.11:1 > 10.244.0.12:81 in veth1")
			in.TCPFlags, in.Numbers = row.flags, row.given
			outcomes, err := h.Walk(in)
			require.NoError(t, err)
			require.Len(t, outcomes, 1)
			require.Len(t, outcomes[0].Replies, 1)
			assert.Equal(t, row.want, outcomes[0].Replies[0].Packet.Numbers)
		})
	}
}

func TestReject6(t *testing.T) {
	h, _ := testNode{rules6: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j REJECT --reject-with icmp6-port-unreachable\nCOMMIT\n"}.build(t)
	o := walkOne(t, h, "udp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1")
	assert.Equal(t, "icmp6-port-unreachable", o.RejectWith)
	assert.Equal(t, "accept forward veth1 fd00:2::1>fd00:2::11 about [fd00:2::11]:1>[fd00:2::12]:80", answer(t, o))
}

// TestResetIsTranslatedBack: an answer belongs to the connection of the packet, even if that made no entry yet.
func TestResetIsTranslatedBack(t *testing.T) {
	h, _ := testNode{rules4: natRules + "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -j REJECT --reject-with tcp-reset\n-A FORWARD -j " +
		"REJECT\nCOMMIT\n"}.build(t)
	assert.Equal(t, "accept forward veth1 10.96.0.1:80>10.244.0.11:1000 RST,ACK",
		answer(t, walkOne(t, h, "tcp 10.244.0.11:1000 > 10.96.0.1:80 in veth1")))
	assert.Equal(t, "accept forward veth1 10.96.0.1>10.244.0.11 about 10.244.0.11:1000>10.96.0.1:80",
		answer(t, walkOne(t, h, "udp 10.244.0.11:1000 > 10.96.0.1:80 in veth1")))
}

func TestRoutingErrorsAreTold(t *testing.T) {
	h, _ := testNode{}.build(t)
	assert.Equal(t, "accept forward veth1 10.244.0.1>10.244.0.11 about 10.244.0.11:1>8.8.8.8:53",
		answer(t, walkOne(t, h, "udp 10.244.0.11:1 > 8.8.8.8:53 in veth1 ttl 1")))
	assert.Equal(t, "none", answer(t, walkOne(t, h, "icmp 10.244.0.11 > 8.8.8.8 in veth1 type 11/0 ttl 1")))
}

// TestErrorNameIsTheWordOfReject: what REJECT is told to answer is what its answer is called.
func TestErrorNameIsTheWordOfReject(t *testing.T) {
	for name, code := range rejectCodes {
		p := inet.Packet{Proto: inet.ICMP, ICMPType: inet.ICMPUnreachable, ICMPCode: code}
		if strings.HasPrefix(name, "icmp6") {
			p.Proto, p.ICMPType = inet.ICMPv6, inet.ICMPv6Unreachable
		}
		assert.Equal(t, name, ErrorName(&p))
	}
	assert.Equal(t, "icmp-time-exceeded", ErrorName(&inet.Packet{Proto: inet.ICMP, ICMPType: inet.ICMPTimeExceeded}))
	assert.Equal(t, "icmp6-beyond-scope", ErrorName(&inet.Packet{Proto: inet.ICMPv6, ICMPType: inet.ICMPv6Unreachable, ICMPCode: 2}))
	assert.Equal(t, "icmp-frag-needed", ErrorName(&inet.Packet{Proto: inet.ICMP, ICMPType: inet.ICMPUnreachable, ICMPCode: 4}))
	assert.Equal(t, "icmp-12/0", ErrorName(&inet.Packet{Proto: inet.ICMP, ICMPType: 12}))
	assert.Empty(t, ErrorName(&inet.Packet{Proto: inet.ICMP, ICMPType: inet.ICMP.EchoRequestType()}))
	assert.Empty(t, ErrorName(&inet.Packet{Proto: inet.TCP}))
}
