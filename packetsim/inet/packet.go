package inet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Proto is an IP protocol number.
type Proto uint8

// The protocols that a Host knows more of than their number.
const (
	ICMP   Proto = 1
	TCP    Proto = 6
	UDP    Proto = 17
	ESP    Proto = 50
	AH     Proto = 51
	ICMPv6 Proto = 58
	IPComp Proto = 108
	SCTP   Proto = 132
)

var protoNames = [...]struct {
	proto Proto
	name  string
}{{ICMP, "icmp"}, {TCP, "tcp"}, {UDP, "udp"}, {ICMPv6, "icmpv6"}, {SCTP, "sctp"}}

// String is the protocol's name in small letters, or its number.
func (p Proto) String() string {
	for _, known := range protoNames {
		if known.proto == p {
			return known.name
		}
	}
	return strconv.Itoa(int(p))
}

// parseProto is the inverse of Proto.String.
func parseProto(s string) (Proto, error) {
	for _, known := range protoNames {
		if known.name == s {
			return known.proto, nil
		}
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("unknown protocol %q: want tcp, udp, sctp, icmp, icmpv6 or a number up to 255", s)
	}
	return Proto(n), nil
}

// MarshalText gives String.
func (p Proto) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is parseProto.
func (p *Proto) UnmarshalText(text []byte) error {
	parsed, err := parseProto(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// HasPorts says whether the protocol's header begins with two ports that conntrack and NAT know.
func (p Proto) HasPorts() bool { return p == TCP || p == UDP || p == SCTP }

// hasSPI says whether the protocol is one of IPsec, whose header has an index.
func (p Proto) hasSPI() bool { return p == AH || p == ESP || p == IPComp }

// IsICMP says whether the protocol is the control protocol of either family.
func (p Proto) IsICMP() bool { return p == ICMP || p == ICMPv6 }

// EchoRequestType is the ICMP type of the protocol's echo requests; 0 for what is not ICMP.
func (p Proto) EchoRequestType() uint8 {
	switch p {
	case ICMP:
		return ICMPEcho
	case ICMPv6:
		return ICMPv6Echo
	}
	return 0
}

// TCPFlags are the flags of a TCP header, with the values that they have on the wire.
type TCPFlags uint8

// The flags of a TCP header.
const (
	FIN TCPFlags = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

var tcpFlagNames = [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

// String is the set flags in the order of the header, separated by commas; "NONE" for none.
func (f TCPFlags) String() string {
	if f == 0 {
		return "NONE"
	}
	var set []string
	for i, name := range tcpFlagNames {
		if f&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, ",")
}

// ParseTCPFlags is the inverse of TCPFlags.String.
func ParseTCPFlags(s string) (TCPFlags, error) {
	var flags TCPFlags
	if s == "NONE" {
		return 0, nil
	}
next:
	for word := range strings.SplitSeq(s, ",") {
		for i, name := range tcpFlagNames {
			if name == word {
				flags |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("unknown TCP flag %q: want some of %s, or NONE", word, strings.Join(tcpFlagNames[:], ","))
	}
	return flags, nil
}

// With is the flags with one of them set or not.
func (f TCPFlags) With(flag TCPFlags, set bool) TCPFlags {
	if set {
		return f | flag
	}
	return f &^ flag
}

// Packet is what a Host sees of one IP packet. Zero means "not given" only for
// TTL (64 is assumed), Length (the headers alone) and MSS.
type Packet struct {
	Proto    Proto
	Src, Dst netip.Addr
	// SrcPort and DstPort are set for TCP, UDP and SCTP.
	SrcPort, DstPort uint16
	TCPFlags         TCPFlags
	// ICMPType and ICMPCode are the wire values of the packet's family; ICMPID
	// is the identifier of a query (echo, timestamp).
	ICMPType, ICMPCode uint8
	ICMPID             uint16
	// Mark is the skb's mark (fwmark).
	Mark uint32
	TTL  uint8
	// Spent says that the TTL is 0, which no router passes on but a rule can make on the way out.
	Spent  bool
	Length int
	// DontFragment says that no router may cut the IPv4 packet into fragments. IPv6 packets never are.
	DontFragment bool
	// TOS is the byte of the IP header that was called type of service, of IPv6 the traffic class: the code point of the service (DSCP) in
	// its upper six bits, and the bits about congestion (ECN) in the others.
	TOS uint8
	// ChecksumOff is what the checksum of TCP, UDP, ICMP or ICMPv6 is too much, in one's complement; 0: it is right. SNPT and DNPT leave
	// others behind.
	ChecksumOff uint16
	// MSS is the greatest segment that a TCP packet announces; 0: not known, and where there are Numbers, not announced.
	MSS uint16
	// SPI is the index of the security parameters of a packet of AH, ESP or IPComp (which has 16 bits for it), nil if it is not known.
	SPI *uint32
	// AH is what else the header of an AH packet says, nil if it is not known; its length is 12 then.
	AH *AHHeader
	// Payload is what is behind the headers, nil if it is not known. Of a TCP packet with Numbers it is as long as these say. A packet that
	// quotes or carries another one has none.
	Payload []byte
	// Inner is the packet that an ICMP error quotes.
	Inner *Packet
	// OutOfWindow is a TCP segment that conntrack's window check does not accept. It is the short form of Numbers.
	OutOfWindow bool
	// Numbers are what the window check of TCP looks at. Without them a segment is in its window.
	Numbers *TCPNumbers
	// VerificationTag and Chunks belong to an SCTP packet. Without chunks it is taken for the next packet of the
	// handshake, and for data afterwards; without a tag (but in an INIT, whose tag is 0) the tag is the right one.
	VerificationTag uint32
	Chunks          []SCTPChunk
	// Socket is what is known of the socket that sends the packet or would take it; nil: nothing.
	Socket *Socket
	// MAC is the link-layer address that the packet came from; zero: not known.
	MAC MAC
	// LinkType is the kind of link-layer address that the packet came to; empty: not known.
	LinkType LinkType
	// Carried is what is in a VXLAN packet, and VNI is its network identifier.
	Carried *Packet
	VNI     uint32
}

// AHHeader is a part of the authentication header of IPsec.
type AHHeader struct {
	// Length is that of the header with its check value, in bytes: a multiple of 4 from 8 to 1028.
	Length uint16
	// Reserved is the field that should be 0.
	Reserved uint16
}

// The lengths that an authentication header can say: its field counts words of 32 bits, without two.
const (
	minAHLength = 8
	maxAHLength = (255 + 2) * 4
)

// Is6 says whether the packet is an IPv6 packet. An unset source does not matter.
func (p *Packet) Is6() bool { return p.Dst.Is6() }

// Answer is the packet turned round, as its receiver begins an answer: an echo reply for an ICMP packet, for TCP still without flags.
func (p *Packet) Answer() Packet {
	answer := Packet{Proto: p.Proto, Src: p.Dst, Dst: p.Src, SrcPort: p.DstPort, DstPort: p.SrcPort, ICMPID: p.ICMPID}
	switch p.Proto {
	case ICMP:
		answer.ICMPType = ICMPEchoReply
	case ICMPv6:
		answer.ICMPType = ICMPv6EchoReply
	}
	return answer
}

// DefaultTTL is the TTL of a packet that says none.
const DefaultTTL = 64

// HopLimit is the TTL with its default.
func (p *Packet) HopLimit() uint8 {
	if p.TTL == 0 && !p.Spent {
		return DefaultTTL
	}
	return p.TTL
}

// SetHopLimit sets the TTL, which may be 0.
func (p *Packet) SetHopLimit(ttl uint8) { p.TTL, p.Spent = ttl, ttl == 0 }

// ipsecHeader is the length of a header of IPsec with nothing behind it; that of AH is without a check value, where it is not known.
func ipsecHeader(p *Packet) int {
	switch p.Proto {
	case AH:
		if p.AH != nil {
			return max(int(p.AH.Length), 12)
		}
		return 12
	case ESP:
		return 8
	}
	return 4
}

// Size is the length of the whole packet in bytes: what counters count.
func (p *Packet) Size() int {
	if p.Length > 0 {
		return p.Length
	}
	size := 20
	if p.Is6() {
		size = 40
	}
	switch p.Proto {
	case TCP:
		size += 20 + p.Numbers.Size()
		if p.MSS != 0 {
			size += MSSOptionSize
		}
		if p.Numbers == nil {
			size += len(p.Payload)
		}
	case SCTP:
		size += 12
		for i := range p.Chunks {
			size += p.Chunks[i].Size()
		}
	case UDP, ICMP, ICMPv6:
		size += 8
	case AH, ESP, IPComp:
		if p.SPI != nil {
			size += ipsecHeader(p)
		}
	}
	if p.Inner != nil {
		size += p.Inner.Size()
	}
	if p.Proto != TCP {
		size += len(p.Payload)
	}
	return size
}

// ICMP types of both families, by their values on the wire.
const (
	ICMPUnreachable        = 3
	ICMPTimeExceeded       = 11
	ICMPv6Unreachable      = 1
	ICMPv6PacketTooBig     = 2
	ICMPv6TimeExceeded     = 3
	ICMPv6ParameterProblem = 4

	ICMPEchoReply    = 0
	icmpSourceQuench = 4
	ICMPRedirect     = 5
	ICMPEcho         = 8
	icmpParameter    = 12
	ICMPv6Echo       = 128
	ICMPv6EchoReply  = 129
)

// IsICMPError says whether the packet is an ICMP message that quotes another packet.
func (p *Packet) IsICMPError() bool {
	switch p.Proto {
	case ICMP:
		switch p.ICMPType {
		case ICMPUnreachable, icmpSourceQuench, ICMPRedirect, ICMPTimeExceeded, icmpParameter:
			return true
		}
	case ICMPv6:
		return p.ICMPType >= ICMPv6Unreachable && p.ICMPType <= 127
	}
	return false
}

// Input is a packet and how it comes to a host: by a device or from the host itself.
type Input struct {
	Packet
	// In is the device that receives the packet; empty if Local.
	In string
	// Local is a packet that the host itself sends. Its source may be unset: then
	// it is chosen as for an unbound socket.
	Local bool
	// NextHop is the neighbour that the sender handed the frame to, where In is a port of a bridge. Unset: the packet's
	// destination if it is behind a port of the bridge, else the bridge itself.
	NextHop netip.Addr
}

// MaxVNI is the greatest network identifier.
const MaxVNI = 1<<24 - 1

// FamilyOf is the family of an address.
func FamilyOf(addr netip.Addr) netfilter.Family {
	if addr.Is6() {
		return netfilter.IPv6
	}
	return netfilter.IPv4
}

// Unspecified is the unspecified address of the family.
func Unspecified(like netip.Addr) netip.Addr {
	if like.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}
