package conntrack

import "github.com/chainwalk/chainwalk/packetsim/inet"

// ICMPAnswers are the ICMP queries and their answers, by family.
var ICMPAnswers = map[inet.Proto][][2]uint8{
	inet.ICMP:   {{inet.ICMPEcho, inet.ICMPEchoReply}, {13, 14}, {15, 16}, {17, 18}},
	inet.ICMPv6: {{inet.ICMPv6Echo, inet.ICMPv6EchoReply}, {139, 140}},
}

// ICMPAnswer is the type that answers a type, or that it answers.
func ICMPAnswer(proto inet.Proto, typ uint8) (uint8, bool) {
	for _, pair := range ICMPAnswers[proto] {
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
	for _, pair := range ICMPAnswers[proto] {
		if typ == pair[0] {
			return true
		}
	}
	return false
}

// ICMPUntracked says whether conntrack lets messages of the type alone: multicast listener and
// neighbour discovery (nf_conntrack_icmpv6_init's noct_valid_new).
func ICMPUntracked(proto inet.Proto, typ uint8) bool {
	return proto == inet.ICMPv6 && ((typ >= 130 && typ <= 137) || typ == 143)
}

func (k *Tracker) trackICMP(c *Conn, proto inet.Proto) Verdict {
	k.Change(c)
	timeout := k.conf.icmp
	if proto == inet.ICMPv6 {
		timeout = k.conf.icmp6
	}
	k.expireIn(c, timeout)
	return Accept
}
