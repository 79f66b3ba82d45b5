package syntax

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Key is a word of meta, ct, rt, socket or fib: what its value is like.
type Key struct {
	Name  string
	Type  *Datatype
	Bits  int
	Order ByteOrder
}

// metaKeys are the words of meta by their number; broute came after 1.0.6.
var metaKeys = [...]Key{
	expr.MetaLen:          {"length", TypeInteger, 32, HostOrder},
	expr.MetaProtocol:     {"protocol", TypeEtherType, 16, BigEndian},
	expr.MetaPriority:     {"priority", TypeClassid, 32, HostOrder},
	expr.MetaMark:         {"mark", TypeMark, 32, HostOrder},
	expr.MetaIif:          {"iif", TypeIfindex, 32, HostOrder},
	expr.MetaOif:          {"oif", TypeIfindex, 32, HostOrder},
	expr.MetaIifname:      {"iifname", TypeIfname, 128, HostOrder},
	expr.MetaOifname:      {"oifname", TypeIfname, 128, HostOrder},
	expr.MetaIiftype:      {"iiftype", typeARPHrd, 16, HostOrder},
	expr.MetaOiftype:      {"oiftype", typeARPHrd, 16, HostOrder},
	expr.MetaSkuid:        {"skuid", TypeUID, 32, HostOrder},
	expr.MetaSkgid:        {"skgid", TypeGID, 32, HostOrder},
	expr.MetaNftrace:      {"nftrace", TypeInteger, 1, HostOrder},
	expr.MetaRtclassid:    {"rtclassid", TypeRealm, 32, HostOrder},
	expr.MetaSecmark:      {"secmark", TypeInteger, 32, HostOrder},
	expr.MetaNfproto:      {"nfproto", TypeNFProto, 8, HostOrder},
	expr.MetaL4proto:      {"l4proto", TypeInetProto, 8, HostOrder},
	expr.MetaBriIifname:   {"ibrname", TypeIfname, 128, HostOrder},
	expr.MetaBriOifname:   {"obrname", TypeIfname, 128, HostOrder},
	expr.MetaPkttype:      {"pkttype", TypePktType, 8, HostOrder},
	expr.MetaCPU:          {"cpu", TypeInteger, 32, HostOrder},
	expr.MetaIifgroup:     {"iifgroup", TypeDevgroup, 32, HostOrder},
	expr.MetaOifgroup:     {"oifgroup", TypeDevgroup, 32, HostOrder},
	expr.MetaCgroup:       {"cgroup", TypeInteger, 32, HostOrder},
	expr.MetaPRandom:      {"random", TypeInteger, 32, BigEndian},
	expr.MetaSecpath:      {"ipsec", TypeBoolean, 8, HostOrder},
	expr.MetaIifkind:      {"iifkind", TypeIfname, 128, HostOrder},
	expr.MetaOifkind:      {"oifkind", TypeIfname, 128, HostOrder},
	expr.MetaBriIifpvid:   {"ibrpvid", TypeInteger, 16, HostOrder},
	expr.MetaBriIifvproto: {"ibrvproto", TypeEtherType, 16, BigEndian},
	expr.MetaTimeNS:       {"time", TypeDate, 64, HostOrder},
	expr.MetaTimeDay:      {"day", TypeDay, 8, HostOrder},
	expr.MetaTimeHour:     {"hour", TypeHour, 32, HostOrder},
	expr.MetaSdif:         {"sdif", TypeIfindex, 32, HostOrder},
	expr.MetaSdifname:     {"sdifname", TypeIfname, 128, HostOrder},
}

// metaAliases are other words for a key.
var metaAliases = map[string]expr.MetaKey{
	"ibriport": expr.MetaBriIifname, "obriport": expr.MetaBriOifname, "secpath": expr.MetaSecpath,
}

// MetaKeyOf is what a key of meta is like; nil for one that 1.0.6 has no word for.
func MetaKeyOf(key expr.MetaKey) *Key {
	if int(key) >= len(metaKeys) || metaKeys[key].Type == nil {
		return nil
	}
	return &metaKeys[key]
}

// MetaType is the type, size in bits and byte order of a key of meta.
func MetaType(key expr.MetaKey) (*Datatype, int, ByteOrder) { return shape(MetaKeyOf(key)) }

// MetaName is the word of a key of meta.
func MetaName(key expr.MetaKey) string { return word(MetaKeyOf(key)) }

// MetaNamed is the key that a word behind "meta" means.
func MetaNamed(name string) (expr.MetaKey, bool) {
	for i := range metaKeys {
		if metaKeys[i].Name == name {
			return expr.MetaKey(i), true
		}
	}
	key, ok := metaAliases[name]
	return key, ok
}

func shape(k *Key) (*Datatype, int, ByteOrder) {
	if k == nil {
		return TypeInvalid, 0, NoOrder
	}
	return k.Type, k.Bits, k.Order
}

func word(k *Key) string {
	if k == nil {
		return ""
	}
	return k.Name
}

// ctKeys are the words of ct by their number.
var ctKeys = [...]Key{
	expr.CTState:      {"state", TypeCTState, 32, HostOrder},
	expr.CTDirection:  {"direction", TypeCTDir, 8, HostOrder},
	expr.CTStatus:     {"status", TypeCTStatus, 32, HostOrder},
	expr.CTMark:       {"mark", TypeMark, 32, HostOrder},
	expr.CTSecmark:    {"secmark", TypeInteger, 32, HostOrder},
	expr.CTExpiration: {"expiration", TypeTime, 32, HostOrder},
	expr.CTHelper:     {"helper", TypeString, 128, HostOrder},
	expr.CTL3Protocol: {"l3proto", TypeNFProto, 8, HostOrder},
	expr.CTSrc:        {"saddr", TypeInvalid, 0, BigEndian},
	expr.CTDst:        {"daddr", TypeInvalid, 0, BigEndian},
	expr.CTProtocol:   {"protocol", TypeInetProto, 8, BigEndian},
	expr.CTProtoSrc:   {"proto-src", TypeInetService, 16, BigEndian},
	expr.CTProtoDst:   {"proto-dst", TypeInetService, 16, BigEndian},
	expr.CTLabels:     {"label", TypeCTLabel, 128, HostOrder},
	expr.CTPkts:       {"packets", TypeInteger, 64, HostOrder},
	expr.CTBytes:      {"bytes", TypeInteger, 64, HostOrder},
	expr.CTAvgpkt:     {"avgpkt", TypeInteger, 64, HostOrder},
	expr.CTZone:       {"zone", TypeInteger, 16, HostOrder},
	expr.CTEventmask:  {"event", typeCTEvent, 32, HostOrder},
	expr.CTSrcIP:      {"saddr", TypeIPv4Addr, 32, BigEndian},
	expr.CTDstIP:      {"daddr", TypeIPv4Addr, 32, BigEndian},
	expr.CTSrcIP6:     {"saddr", TypeIPv6Addr, 128, BigEndian},
	expr.CTDstIP6:     {"daddr", TypeIPv6Addr, 128, BigEndian},
	expr.CTID:         {"id", TypeInteger, 32, BigEndian},
}

// ctKeyOf is what a key of ct is like; nil for one that has no word.
func ctKeyOf(key expr.CTKey) *Key {
	if int(key) >= len(ctKeys) || ctKeys[key].Type == nil {
		return nil
	}
	return &ctKeys[key]
}

// CTType is the type, size in bits and byte order of a key of ct. nft gives the ports their type in evaluation alone.
func CTType(key expr.CTKey) (*Datatype, int, ByteOrder) { return shape(ctKeyOf(key)) }

// CTName is the word of a key of ct.
func CTName(key expr.CTKey) string { return word(ctKeyOf(key)) }

// CTNamed is the key that a word behind "ct" means; for addresses the one without a family.
func CTNamed(name string) (expr.CTKey, bool) {
	for i := range ctKeys {
		if ctKeys[i].Name == name {
			return expr.CTKey(i), true
		}
	}
	return 0, false
}

// The keys of rt (enum nft_rt_keys).
const (
	RTClassid  uint32 = 0
	RTNexthop4 uint32 = 1
	RTNexthop6 uint32 = 2
	RTMTU      uint32 = 3
	RTIPsec    uint32 = 4
)

var rtKeys = [...]Key{
	RTClassid:  {"classid", TypeRealm, 32, HostOrder},
	RTNexthop4: {"nexthop", TypeIPv4Addr, 32, BigEndian},
	RTNexthop6: {"nexthop", TypeIPv6Addr, 128, BigEndian},
	RTMTU:      {"mtu", TypeInteger, 16, HostOrder},
	RTIPsec:    {"ipsec", TypeBoolean, 8, HostOrder},
}

// RTKeyOf is what a key of rt is like; nil for one that has no word.
func RTKeyOf(key uint32) *Key {
	if int(key) >= len(rtKeys) {
		return nil
	}
	return &rtKeys[key]
}

// RTType is the type, size in bits and byte order of a key of rt.
func RTType(key uint32) (*Datatype, int, ByteOrder) { return shape(RTKeyOf(key)) }

// RTNamed is the key that a word behind "rt" means; for nexthop that of IPv4.
func RTNamed(name string) (uint32, bool) {
	for i := range rtKeys {
		if rtKeys[i].Name == name {
			return uint32(i), true
		}
	}
	return 0, false
}

// The keys of socket (enum nft_socket_keys).
const (
	SocketTransparent uint32 = 0
	SocketMark        uint32 = 1
	SocketWildcard    uint32 = 2
	SocketCgroupv2    uint32 = 3
)

var socketKeys = [...]Key{
	SocketTransparent: {"transparent", TypeInteger, 8, HostOrder},
	SocketMark:        {"mark", TypeMark, 32, HostOrder},
	SocketWildcard:    {"wildcard", TypeInteger, 8, HostOrder},
	SocketCgroupv2:    {"cgroupv2", TypeCgroupv2, 64, HostOrder},
}

// SocketKeyOf is what a key of socket is like; nil for one that has no word.
func SocketKeyOf(key uint32) *Key {
	if int(key) >= len(socketKeys) {
		return nil
	}
	return &socketKeys[key]
}

// SocketType is the type, size in bits and byte order of a key of socket.
func SocketType(key uint32) (*Datatype, int, ByteOrder) { return shape(SocketKeyOf(key)) }

// SocketNamed is the key that a word behind "socket" means.
func SocketNamed(name string) (uint32, bool) {
	for i := range socketKeys {
		if socketKeys[i].Name == name {
			return uint32(i), true
		}
	}
	return 0, false
}

// FibType is the type, size in bits and byte order of what fib says. The name of a device is a text there, not a name of a device.
func FibType(result expr.FibResult, flags expr.FibFlags) (*Datatype, int, ByteOrder) {
	switch {
	case flags&expr.FibPresent != 0:
		return TypeBoolean, 1, NoOrder
	case result == expr.FibOif:
		return TypeIfindex, 32, HostOrder
	case result == expr.FibOifname:
		return TypeString, 128, HostOrder
	case result == expr.FibType:
		return typeFibAddrtype, 32, HostOrder
	}
	return TypeInvalid, 0, NoOrder
}

// The keys of ipsec (enum nft_xfrm_keys).
const (
	XFRMDaddr4 uint32 = 1
	XFRMDaddr6 uint32 = 2
	XFRMSaddr4 uint32 = 3
	XFRMSaddr6 uint32 = 4
	XFRMReqid  uint32 = 5
	XFRMSPI    uint32 = 6
)

var xfrmKeys = [...]Key{
	XFRMDaddr4: {"daddr", TypeIPv4Addr, 32, BigEndian},
	XFRMDaddr6: {"daddr", TypeIPv6Addr, 128, BigEndian},
	XFRMSaddr4: {"saddr", TypeIPv4Addr, 32, BigEndian},
	XFRMSaddr6: {"saddr", TypeIPv6Addr, 128, BigEndian},
	XFRMReqid:  {"reqid", TypeInteger, 32, HostOrder},
	XFRMSPI:    {"spi", TypeInteger, 32, BigEndian},
}

// XFRMKeyOf is what a key of ipsec is like; nil for one that has no word.
func XFRMKeyOf(key uint32) *Key {
	if int(key) >= len(xfrmKeys) || xfrmKeys[key].Type == nil {
		return nil
	}
	return &xfrmKeys[key]
}

// FamilyNamed is the family of a word.
func FamilyNamed(name string) (nftables.Family, bool) {
	for _, family := range []nftables.Family{
		nftables.IPv4, nftables.IPv6, nftables.Inet, nftables.ARP, nftables.Bridge, nftables.Netdev,
	} {
		if family.String() == name {
			return family, true
		}
	}
	return 0, false
}
