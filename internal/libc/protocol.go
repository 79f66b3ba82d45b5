package libc

import (
	"math"
	"strconv"
	"strings"
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

// protocolName is a protocol as Debian 12 lists it in /etc/protocols (netbase 6.4).
type protocolName struct {
	name    string
	number  uint8
	aliases string // other names, with a blank between them
}

// protocolNames has the name to print first for each number. mptcp is apart.
var protocolNames = [...]protocolName{
	{"tcp", 6, "TCP"}, {"udp", 17, "UDP"}, {"icmp", 1, "ICMP"}, {"ipv6-icmp", 58, "IPv6-ICMP"}, {"sctp", 132, "SCTP"},
	{"esp", 50, "IPSEC-ESP"}, {"ah", 51, "IPSEC-AH"}, {"udplite", 136, "UDPLite"}, {"ip", 0, "IP"}, {"hopopt", 0, "HOPOPT"},
	{"igmp", 2, "IGMP"}, {"ggp", 3, "GGP"}, {"ipencap", 4, "IP-ENCAP"}, {"st", 5, "ST"}, {"egp", 8, "EGP"}, {"igp", 9, "IGP"},
	{"pup", 12, "PUP"}, {"hmp", 20, "HMP"}, {"xns-idp", 22, "XNS-IDP"}, {"rdp", 27, "RDP"}, {"iso-tp4", 29, "ISO-TP4"},
	{"dccp", 33, "DCCP"}, {"xtp", 36, "XTP"}, {"ddp", 37, "DDP"}, {"idpr-cmtp", 38, "IDPR-CMTP"}, {"ipv6", 41, "IPv6"},
	{"ipv6-route", 43, "IPv6-Route"}, {"ipv6-frag", 44, "IPv6-Frag"}, {"idrp", 45, "IDRP"}, {"rsvp", 46, "RSVP"},
	{"gre", 47, "GRE"}, {"skip", 57, "SKIP"}, {"ipv6-nonxt", 59, "IPv6-NoNxt"}, {"ipv6-opts", 60, "IPv6-Opts"},
	{"rspf", 73, "RSPF CPHB"}, {"vmtp", 81, "VMTP"}, {"eigrp", 88, "EIGRP"}, {"ospf", 89, "OSPFIGP"}, {"ax.25", 93, "AX.25"},
	{"ipip", 94, "IPIP"}, {"etherip", 97, "ETHERIP"}, {"encap", 98, "ENCAP"}, {"pim", 103, "PIM"}, {"ipcomp", 108, "IPCOMP"},
	{"vrrp", 112, "VRRP"}, {"l2tp", 115, "L2TP"}, {"isis", 124, "ISIS"}, {"fc", 133, "FC"},
	{"mobility-header", 135, "Mobility-Header"}, {"mpls-in-ip", 137, "MPLS-in-IP"}, {"manet", 138, ""}, {"hip", 139, "HIP"},
	{"shim6", 140, "Shim6"}, {"wesp", 141, "WESP"}, {"rohc", 142, "ROHC"}, {"ethernet", 143, "Ethernet"},
}

// ownProtocolNames are names that the tools know themselves.
var ownProtocolNames = [...]protocolName{{"icmpv6", 58, ""}, {"ipv6-mh", 135, ""}, {"mh", 135, ""}, {"all", 0, ""}}

// mptcp is the one protocol in the list that has no number which a header can have.
const (
	mptcpName   = "mptcp"
	mptcpNumber = 262
)

// Protocol is the number that a word stands for: a number, or a name of a protocol as it is spelled.
func Protocol(word []byte) (number uint16, ok bool) {
	if n, ok := WholeNumber(word, math.MaxUint8); ok {
		return uint16(n), true
	}
	if n, ok := ListedProtocol(word); ok {
		return n, true
	}
	for i := range ownProtocolNames {
		if ownProtocolNames[i].name == string(word) {
			return uint16(ownProtocolNames[i].number), true
		}
	}
	return 0, false
}

// ListedProtocol is the number of a protocol by a name in /etc/protocols.
func ListedProtocol(word []byte) (number uint16, ok bool) {
	if w := string(word); w == mptcpName || w == strings.ToUpper(mptcpName) {
		return mptcpNumber, true
	}
	n, ok := ProtocolByName(word)
	return uint16(n), ok
}

// ProtocolByName is the number of a protocol that a header can have by its name or another name that it has (getprotobyname).
func ProtocolByName(word []byte) (number uint8, ok bool) {
	for i := range protocolNames {
		if p := &protocolNames[i]; p.name == string(word) || hasWord(p.aliases, string(word)) {
			return protocolNames[i].number, true
		}
	}
	return 0, false
}

// ProtocolName is the name of a protocol, "" if it has none. 0, which rules take for all protocols, has none.
func ProtocolName(number uint16) string {
	switch number {
	case 0:
		return ""
	case mptcpNumber:
		return mptcpName
	}
	for i := range protocolNames {
		if uint16(protocolNames[i].number) == number {
			return protocolNames[i].name
		}
	}
	return ""
}

// AppendProtocol appends the name or else the number.
func AppendProtocol(dst []byte, number uint16) []byte {
	if name := ProtocolName(number); name != "" {
		return append(dst, name...)
	}
	return strconv.AppendUint(dst, uint64(number), 10)
}
