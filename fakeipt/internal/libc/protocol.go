package libc

import (
	"math"
	"strconv"
)

// Numbers of protocols, as netinet/in.h has them.
const (
	ProtoICMP    = 1
	ProtoTCP     = 6
	ProtoUDP     = 17
	ProtoDCCP    = 33
	ProtoICMPv6  = 58
	ProtoSCTP    = 132
	ProtoUDPLite = 136
	ProtoESP     = 50
	ProtoAH      = 51
	ProtoIPComp  = 108
	ProtoMH      = 135
)

// protocolName is a name of /etc/protocols or one that the tools know themselves.
type protocolName struct {
	name   string
	number uint8
}

// protocolNames has the name to print first for each number.
var protocolNames = [...]protocolName{
	{"tcp", 6}, {"udp", 17}, {"icmp", 1}, {"ipv6-icmp", 58}, {"sctp", 132}, {"esp", 50}, {"ah", 51}, {"udplite", 136},
	{"dccp", 33}, {"gre", 47}, {"igmp", 2}, {"ipv6", 41}, {"ipencap", 4}, {"ospf", 89}, {"vrrp", 112}, {"pim", 103},
	{"ggp", 3}, {"st", 5}, {"egp", 8}, {"igp", 9}, {"pup", 12}, {"hmp", 20}, {"xns-idp", 22}, {"rdp", 27},
	{"iso-tp4", 29}, {"xtp", 36}, {"ddp", 37}, {"idpr-cmtp", 38}, {"ipv6-route", 43}, {"ipv6-frag", 44},
	{"idrp", 45}, {"rsvp", 46}, {"skip", 57}, {"ipv6-nonxt", 59}, {"ipv6-opts", 60}, {"rspf", 73}, {"vmtp", 81},
	{"eigrp", 88}, {"ax.25", 93}, {"ipip", 94}, {"etherip", 97}, {"encap", 98}, {"ipcomp", 108}, {"l2tp", 115},
	{"isis", 124}, {"fc", 133}, {"mobility-header", 135}, {"mpls-in-ip", 137}, {"manet", 138}, {"hip", 139},
	{"shim6", 140}, {"wesp", 141}, {"rohc", 142}, {"ethernet", 143},
	{"icmpv6", 58}, {"ipv6-mh", 135}, {"mh", 135}, {"ip", 0}, {"hopopt", 0}, {"all", 0},
}

// Protocol is the number that a word stands for: a number, or the name of a protocol in lower case.
func Protocol(word []byte) (number uint8, ok bool) {
	if n, ok := WholeNumber(word, math.MaxUint8); ok {
		return uint8(n), true
	}
	for i := range protocolNames {
		if protocolNames[i].name == string(word) {
			return protocolNames[i].number, true
		}
	}
	return 0, false
}

// ProtocolName is the name of a protocol, "" if it has none. 0, which rules take for all protocols, has none.
func ProtocolName(number uint8) string {
	if number == 0 {
		return ""
	}
	for i := range protocolNames {
		if protocolNames[i].number == number {
			return protocolNames[i].name
		}
	}
	return ""
}

// AppendProtocol appends the name or else the number.
func AppendProtocol(dst []byte, number uint8) []byte {
	if name := ProtocolName(number); name != "" {
		return append(dst, name...)
	}
	return strconv.AppendUint(dst, uint64(number), 10)
}
