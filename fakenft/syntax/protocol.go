package syntax

import "github.com/chainwalk/chainwalk/netfilter/nftables/expr"

// The headers of packets, and three that are none: HeaderInet and HeaderNetdev are what a packet of the families inet and netdev begins
// with, HeaderInetService is what follows an address of either family.
var (
	HeaderEther = header("ether", expr.LinkHeader,
		field("daddr", TypeEtherAddr, 0, 48), field("saddr", TypeEtherAddr, 48, 48), field("type", TypeEtherType, 96, 16))
	HeaderVLAN = header("vlan", expr.LinkHeader,
		field("pcp", TypeInteger, 0, 3), field("dei", TypeInteger, 3, 1), field("cfi", TypeInteger, 3, 1), field("id", TypeInteger, 4, 12),
		field("type", TypeEtherType, 16, 16))
	HeaderARP = header("arp", expr.NetworkHeader,
		field("htype", TypeInteger, 0, 16), field("ptype", TypeEtherType, 16, 16), field("hlen", TypeInteger, 32, 8),
		field("plen", TypeInteger, 40, 8), field("operation", TypeARPOp, 48, 16), field("saddr ether", TypeEtherAddr, 64, 48),
		field("saddr ip", TypeIPv4Addr, 112, 32), field("daddr ether", TypeEtherAddr, 144, 48), field("daddr ip", TypeIPv4Addr, 192, 32))
	HeaderIP = header("ip", expr.NetworkHeader,
		field("version", TypeInteger, 0, 4), field("hdrlength", TypeInteger, 4, 4), field("dscp", TypeDSCP, 8, 6),
		field("ecn", TypeECN, 14, 2), field("length", TypeInteger, 16, 16), field("id", TypeInteger, 32, 16),
		field("frag-off", TypeInteger, 48, 16), field("ttl", TypeInteger, 64, 8), field("protocol", TypeInetProto, 72, 8),
		field("checksum", TypeInteger, 80, 16), field("saddr", TypeIPv4Addr, 96, 32), field("daddr", TypeIPv4Addr, 128, 32))
	HeaderIP6 = header("ip6", expr.NetworkHeader,
		field("version", TypeInteger, 0, 4), field("dscp", TypeDSCP, 4, 6), field("ecn", TypeECN, 10, 2),
		field("flowlabel", TypeInteger, 12, 20), field("length", TypeInteger, 32, 16), field("nexthdr", TypeInetProto, 48, 8),
		field("hoplimit", TypeInteger, 56, 8), field("saddr", TypeIPv6Addr, 64, 128), field("daddr", TypeIPv6Addr, 192, 128))
	HeaderICMP = header("icmp", expr.TransportHeader,
		field("type", TypeICMPType, 0, 8), field("code", TypeICMPCode, 8, 8), field("checksum", TypeInteger, 16, 16),
		field("id", TypeInteger, 32, 16), field("sequence", TypeInteger, 48, 16), field("gateway", TypeInteger, 32, 32),
		field("mtu", TypeInteger, 48, 16))
	HeaderIGMP = header("igmp", expr.TransportHeader,
		field("type", typeIGMPType, 0, 8), field("mrt", TypeInteger, 8, 8), field("checksum", TypeInteger, 16, 16),
		field("group", TypeInteger, 32, 32))
	HeaderICMPv6 = header("icmpv6", expr.TransportHeader,
		field("type", typeICMPv6Type, 0, 8), field("code", TypeICMPv6Code, 8, 8), field("checksum", TypeInteger, 16, 16),
		field("parameter-problem", TypeInteger, 32, 32), field("mtu", TypeInteger, 32, 32), field("id", TypeInteger, 32, 16),
		field("sequence", TypeInteger, 48, 16), field("max-delay", TypeInteger, 32, 16))
	HeaderAH = header("ah", expr.TransportHeader,
		field("nexthdr", TypeInetProto, 0, 8), field("hdrlength", TypeInteger, 8, 8), field("reserved", TypeInteger, 16, 16),
		field("spi", TypeInteger, 32, 32), field("sequence", TypeInteger, 64, 32))
	HeaderESP = header("esp", expr.TransportHeader,
		field("spi", TypeInteger, 0, 32), field("sequence", TypeInteger, 32, 32))
	HeaderComp = header("comp", expr.TransportHeader,
		field("nexthdr", TypeInetProto, 0, 8), field("flags", TypeBitmask, 8, 8), field("cpi", TypeInteger, 16, 16))
	HeaderUDP = header("udp", expr.TransportHeader,
		field("sport", TypeInetService, 0, 16), field("dport", TypeInetService, 16, 16), field("length", TypeInteger, 32, 16),
		field("checksum", TypeInteger, 48, 16))
	HeaderUDPLite = header("udplite", expr.TransportHeader,
		field("sport", TypeInetService, 0, 16), field("dport", TypeInetService, 16, 16), field("csumcov", TypeInteger, 32, 16),
		field("checksum", TypeInteger, 48, 16))
	HeaderTCP = header("tcp", expr.TransportHeader,
		field("sport", TypeInetService, 0, 16), field("dport", TypeInetService, 16, 16), field("sequence", TypeInteger, 32, 32),
		field("ackseq", TypeInteger, 64, 32), field("doff", TypeInteger, 96, 4), field("reserved", TypeInteger, 100, 4),
		field("flags", TypeTCPFlag, 104, 8), field("window", TypeInteger, 112, 16), field("checksum", TypeInteger, 128, 16),
		field("urgptr", TypeInteger, 144, 16))
	HeaderDCCP = header("dccp", expr.TransportHeader,
		field("sport", TypeInetService, 0, 16), field("dport", TypeInetService, 16, 16), field("type", TypeDCCPType, 67, 4))
	HeaderSCTP = header("sctp", expr.TransportHeader,
		field("sport", TypeInetService, 0, 16), field("dport", TypeInetService, 16, 16), field("vtag", TypeInteger, 32, 32),
		field("checksum", TypeInteger, 64, 32))
	HeaderTH = header("th", expr.TransportHeader,
		field("sport", TypeInetService, 0, 16), field("dport", TypeInetService, 16, 16))

	HeaderInet        = header("inet", expr.LinkHeader, metaField("nfproto", expr.MetaNfproto))
	HeaderNetdev      = header("netdev", expr.LinkHeader, metaField("protocol", expr.MetaProtocol))
	HeaderInetService = header("inet-service", expr.NetworkHeader, metaField("l4proto", expr.MetaL4proto))
)

// headers lists the headers that have a name in the language.
var headers = []*Header{
	HeaderEther, HeaderVLAN, HeaderARP, HeaderIP, HeaderIP6, HeaderICMP, HeaderIGMP, HeaderICMPv6, HeaderAH, HeaderESP, HeaderComp,
	HeaderUDP, HeaderUDPLite, HeaderTCP, HeaderDCCP, HeaderSCTP, HeaderTH,
}

// field is a field of a header, whose bytes are all in the network's order.
func field(name string, t *Datatype, offset, bits int) Field {
	return Field{Name: name, Type: t, Offset: offset, Bits: bits, Order: BigEndian}
}

func metaField(name string, key expr.MetaKey) Field {
	t, bits, order := MetaType(key)
	return Field{Name: name, Type: t, Bits: bits, Order: order, Meta: key, HasMeta: true}
}

func header(name string, base expr.PayloadBase, fields ...Field) *Header {
	return &Header{Name: name, Base: base, Fields: fields}
}

// The numbers of protocols.
const (
	etherIP, etherARP, etherIP6, etherVLAN, ether8021AD = 0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8

	protoICMP, protoIGMP, protoTCP, protoUDP, protoIPv6, protoDCCP, protoESP, protoAH = 1, 2, 6, 17, 41, 33, 50, 51
	protoICMPv6, protoComp, protoSCTP, protoUDPLite                                   = 58, 108, 132, 136
)

func init() {
	ether := []NextHeader{{etherIP, HeaderIP}, {etherARP, HeaderARP}, {etherIP6, HeaderIP6}, {etherVLAN, HeaderVLAN}}
	HeaderEther.link("type", append(ether[:4:4], NextHeader{ether8021AD, HeaderVLAN})...)
	HeaderVLAN.link("type", ether...)
	HeaderNetdev.link("protocol", ether...)
	HeaderInet.link("nfproto", NextHeader{2, HeaderIP}, NextHeader{10, HeaderIP6})
	ports := []NextHeader{
		{protoUDP, HeaderUDP}, {protoUDPLite, HeaderUDPLite}, {protoTCP, HeaderTCP}, {protoDCCP, HeaderDCCP}, {protoSCTP, HeaderSCTP},
	}
	ipsec := append([]NextHeader{{protoESP, HeaderESP}, {protoAH, HeaderAH}, {protoComp, HeaderComp}}, ports...)
	HeaderAH.link("nexthdr", ipsec...)
	HeaderComp.link("nexthdr", ipsec...)
	all := append([]NextHeader{{protoICMP, HeaderICMP}, {protoIGMP, HeaderIGMP}, {protoICMPv6, HeaderICMPv6}}, ipsec...)
	HeaderIP.link("protocol", all...)
	HeaderIP6.link("nexthdr", all...)
	HeaderInetService.link("l4proto", all...)
	// nft asks meta for these, as the value in the header is not always the one that counts (extension headers).
	HeaderIP.Next.Meta, HeaderIP.Next.HasMeta = expr.MetaL4proto, true
	HeaderIP6.Next.Meta, HeaderIP6.Next.HasMeta = expr.MetaL4proto, true
}

func (h *Header) link(name string, next ...NextHeader) {
	h.Next = h.Field(name)
	h.Protocols = next
}

// HeaderNamed is the header of a name; nil if there is none.
func HeaderNamed(name string) *Header { return headerIn(headers, name) }

func headerIn(list []*Header, name string) *Header {
	for _, h := range list {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Field is the field of a name; nil if there is none.
func (h *Header) Field(name string) *Field {
	for i := range h.Fields {
		if h.Fields[i].Name == name {
			return &h.Fields[i]
		}
	}
	return nil
}

// Following is the header that comes next if Next has a value; nil if none is known.
func (h *Header) Following(value uint64) *Header {
	for _, next := range h.Protocols {
		if uint64(next.Value) == value {
			return next.Header
		}
	}
	return nil
}

// Number is the value of Next that says that a header comes next.
func (h *Header) Number(of *Header) (uint64, bool) {
	for _, next := range h.Protocols {
		if next.Header == of {
			return uint64(next.Value), true
		}
	}
	return 0, false
}
