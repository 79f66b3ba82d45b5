package packetsim

import "github.com/chainwalk/chainwalk/packetsim/inet"

// icmpAnswers are the ICMP queries and their answers, by family.
var icmpAnswers = map[inet.Proto][][2]uint8{
	inet.ICMP:   {{inet.ICMPEcho, inet.ICMPEchoReply}, {13, 14}, {15, 16}, {17, 18}},
	inet.ICMPv6: {{inet.ICMPv6Echo, inet.ICMPv6EchoReply}, {139, 140}},
}

// icmpAnswer is the type that answers a type, or that it answers.
func icmpAnswer(proto inet.Proto, typ uint8) (uint8, bool) {
	for _, pair := range icmpAnswers[proto] {
		switch typ {
		case pair[0]:
			return pair[1], true
		case pair[1]:
			return pair[0], true
		}
	}
	return 0, false
}

// icmpStarts says whether a message of the type can begin a connection.
func icmpStarts(proto inet.Proto, typ uint8) bool {
	for _, pair := range icmpAnswers[proto] {
		if typ == pair[0] {
			return true
		}
	}
	return false
}

// icmpUntracked says whether conntrack lets messages of the type alone: multicast listener and
// neighbour discovery (nf_conntrack_icmpv6_init's noct_valid_new).
func icmpUntracked(proto inet.Proto, typ uint8) bool {
	return proto == inet.ICMPv6 && ((typ >= 130 && typ <= 137) || typ == 143)
}

func (h *tracker) trackICMP(c *conn, proto inet.Proto) trackVerdict {
	h.change(c)
	timeout := h.conf.icmp
	if proto == inet.ICMPv6 {
		timeout = h.conf.icmp6
	}
	h.expireIn(c, timeout)
	return trackAccept
}
