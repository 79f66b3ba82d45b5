package syntax

import "sync"

// The types of data that nft 1.0.6 has. The numbers are kept by the kernel in sets, so they are part of the dialect.
var (
	TypeInvalid = &Datatype{ID: 0, Name: "invalid", Desc: "invalid"}
	TypeVerdict = &Datatype{ID: 1, Name: "verdict", Desc: "netfilter verdict"}
	TypeInteger = &Datatype{ID: 4, Name: "integer", Desc: "integer"}
	// TypeBytes is the type of bytes of a packet that have no name, as @th,0,16: an integer that is written in hexadecimal (xinteger_type of
	// nft).
	TypeBytes       = &Datatype{ID: 4, Name: "integer", Desc: "integer", Base: TypeInteger, Symbols: &Symbols{Base: 16}}
	TypeNFProto     = number(2, "nf_proto", "netfilter protocol", NoOrder, 8, nfProtoSymbols)
	TypeBitmask     = number(3, "bitmask", "bitmask", NoOrder, 0, nil)
	TypeString      = &Datatype{ID: 5, Name: "string", Desc: "string", Order: HostOrder}
	TypeLLAddr      = number(6, "ll_addr", "link layer address", BigEndian, 0, nil)
	TypeIPv4Addr    = address(7, "ipv4_addr", "IPv4 address", 32)
	TypeIPv6Addr    = address(8, "ipv6_addr", "IPv6 address", 128)
	TypeEtherAddr   = &Datatype{ID: 9, Name: "ether_addr", Desc: "Ethernet address", Order: BigEndian, Bits: 48, Base: TypeLLAddr}
	TypeEtherType   = number(10, "ether_type", "Ethernet protocol", BigEndian, 16, etherTypeSymbols)
	TypeARPOp       = number(11, "arp_op", "ARP operation", BigEndian, 16, arpOpSymbols)
	TypeInetProto   = number(12, "inet_proto", "Internet protocol", NoOrder, 8, nil)
	TypeInetService = number(13, "inet_service", "internet network service", BigEndian, 16, nil)
	TypeICMPType    = number(14, "icmp_type", "ICMP type", BigEndian, 8, icmpTypeSymbols)
	TypeTCPFlag     = flags(15, "tcp_flag", "TCP flag", BigEndian, 8, tcpFlagSymbols)
	TypeDCCPType    = number(16, "dccp_pkttype", "DCCP packet type", NoOrder, 4, dccpTypeSymbols)
	typeMHType      = number(17, "mh_type", "Mobility Header Type", NoOrder, 8, mhTypeSymbols)
	TypeTime        = number(18, "time", "relative time", HostOrder, 32, nil)
	TypeMark        = number(19, "mark", "packet mark", HostOrder, 32, markSymbols)
	TypeIfindex     = number(20, "iface_index", "network interface index", HostOrder, 32, nil)
	typeARPHrd      = number(21, "iface_type", "network interface type", HostOrder, 16, ifaceTypeSymbols)
	TypeRealm       = number(22, "realm", "routing realm", HostOrder, 32, realmSymbols)
	TypeClassid     = number(23, "classid", "TC classid", HostOrder, 32, nil)
	TypeUID         = number(24, "uid", "user ID", HostOrder, 32, nil)
	TypeGID         = number(25, "gid", "group ID", HostOrder, 32, nil)
	TypeCTState     = flags(26, "ct_state", "conntrack state", HostOrder, 32, ctStateSymbols)
	TypeCTDir       = number(27, "ct_dir", "conntrack direction", NoOrder, 8, ctDirSymbols)
	TypeCTStatus    = flags(28, "ct_status", "conntrack status", HostOrder, 32, ctStatusSymbols)
	typeICMPv6Type  = number(29, "icmpv6_type", "ICMPv6 type", BigEndian, 8, icmpv6TypeSymbols)
	TypeCTLabel     = flags(30, "ct_label", "conntrack label", HostOrder, 128, ctLabelSymbols)
	TypePktType     = number(31, "pkt_type", "packet type", HostOrder, 8, pktTypeSymbols)
	TypeICMPCode    = number(32, "icmp_code", "icmp code", BigEndian, 8, icmpCodeSymbols)
	TypeICMPv6Code  = number(33, "icmpv6_code", "icmpv6 code", BigEndian, 8, icmpv6CodeSymbols)
	TypeICMPXCode   = number(34, "icmpx_code", "icmpx code", BigEndian, 8, icmpxCodeSymbols)
	TypeDevgroup    = number(35, "devgroup", "devgroup name", HostOrder, 32, devgroupSymbols)
	TypeDSCP        = number(36, "dscp", "Differentiated Services Code Point", BigEndian, 6, dscpSymbols)
	TypeECN         = number(37, "ecn", "Explicit Congestion Notification", BigEndian, 2, ecnSymbols)
	typeFibAddrtype = number(38, "fib_addrtype", "fib address type", HostOrder, 32, fibAddrtypeSymbols)
	TypeBoolean     = number(39, "boolean", "boolean type", NoOrder, 1, booleanSymbols)
	typeCTEvent     = flags(40, "ct_event", "conntrack event bits", HostOrder, 32, ctEventSymbols)
	TypeIfname      = &Datatype{ID: 41, Name: "ifname", Desc: "network interface name", Order: HostOrder, Bits: 128, Base: TypeString}
	typeIGMPType    = number(42, "igmp_type", "IGMP type", BigEndian, 8, igmpTypeSymbols)
	TypeDate        = number(43, "time", "Relative time of packet reception", HostOrder, 64, nil)
	TypeHour        = number(44, "hour", "Hour of day of packet reception", HostOrder, 64, nil)
	TypeDay         = number(45, "day", "Day of week of packet reception", HostOrder, 8, daySymbols)
	TypeCgroupv2    = number(46, "cgroupsv2", "cgroupsv2 path", HostOrder, 64, nil)
)

func number(id TypeID, name, desc string, order ByteOrder, bits int, symbols *Symbols) *Datatype {
	return &Datatype{ID: id, Name: name, Desc: desc, Order: order, Bits: bits, Base: TypeInteger, Symbols: symbols}
}

func flags(id TypeID, name, desc string, order ByteOrder, bits int, symbols *Symbols) *Datatype {
	return &Datatype{ID: id, Name: name, Desc: desc, Order: order, Bits: bits, Base: TypeBitmask, Symbols: symbols}
}

func address(id TypeID, name, desc string, bits int) *Datatype {
	return &Datatype{ID: id, Name: name, Desc: desc, Order: BigEndian, Bits: bits, Base: TypeInteger, Prefix: true}
}

// typesByID are all types but concatenations, by their number.
var typesByID = []*Datatype{
	TypeInvalid, TypeVerdict, TypeNFProto, TypeBitmask, TypeInteger, TypeString, TypeLLAddr, TypeIPv4Addr, TypeIPv6Addr, TypeEtherAddr,
	TypeEtherType, TypeARPOp, TypeInetProto, TypeInetService, TypeICMPType, TypeTCPFlag, TypeDCCPType, typeMHType, TypeTime, TypeMark,
	TypeIfindex, typeARPHrd, TypeRealm, TypeClassid, TypeUID, TypeGID, TypeCTState, TypeCTDir, TypeCTStatus, typeICMPv6Type, TypeCTLabel,
	TypePktType, TypeICMPCode, TypeICMPv6Code, TypeICMPXCode, TypeDevgroup, TypeDSCP, TypeECN, typeFibAddrtype, TypeBoolean, typeCTEvent,
	TypeIfname, typeIGMPType, TypeDate, TypeHour, TypeDay, TypeCgroupv2,
}

// unnamed are the types that nft has but does not find by their name.
var unnamed = map[*Datatype]bool{TypeCTLabel: true, typeCTEvent: true, TypeDate: true, TypeHour: true, TypeDay: true}

// TypeNamed is the type that "type NAME" means; nil if there is none. Words of nft's grammar (verdict, hour) are the parser's matter.
func TypeNamed(name string) *Datatype {
	for _, t := range typesByID {
		if t.Name == name && !unnamed[t] {
			return t
		}
	}
	return nil
}

// concatBits is how many bits of a TypeID each part of a concatenation has.
const concatBits = 6

// maxParts is how many parts the number of a concatenation has room for.
const maxParts = 32 / concatBits

// TypeOf is the type of a number, that of a concatenation as well; nil if there is none.
func TypeOf(id TypeID) *Datatype {
	if id < 1<<concatBits {
		if int(id) < len(typesByID) {
			return typesByID[id]
		}
		return nil
	}
	var parts []*Datatype
	for shift := (maxParts - 1) * concatBits; shift >= 0; shift -= concatBits {
		part := id >> shift & (1<<concatBits - 1)
		if part == 0 && len(parts) == 0 {
			continue
		}
		t := TypeOf(part)
		if t == nil || part == 0 {
			return nil
		}
		parts = append(parts, t)
	}
	return ConcatType(parts...)
}

// concatenations are the types that ConcatType made, by the pointers of their parts.
var concatenations struct {
	sync.RWMutex
	by map[[MaxConcat]*Datatype]*Datatype
}

// MaxConcat is how many parts a concatenation can have at all (NFT_REG32_COUNT); only the last MaxParts of them are in its number.
const MaxConcat = 16

// ConcatType is the type of a concatenation; the same pointer for the same parts. At most MaxConcat parts.
func ConcatType(parts ...*Datatype) *Datatype {
	var key [MaxConcat]*Datatype
	copy(key[:], parts)
	concatenations.RLock()
	found := concatenations.by[key]
	concatenations.RUnlock()
	if found != nil {
		return found
	}
	made := &Datatype{Parts: append([]*Datatype(nil), parts...), Order: NoOrder}
	for i, part := range parts {
		if i > 0 {
			made.Name += " . "
			made.Desc += ", "
		} else {
			made.Desc = "concatenation of ("
		}
		made.ID = made.ID<<concatBits | part.ID
		made.Bits += Padded(part.Bits)
		made.Name += part.Name
		made.Desc += part.Desc
	}
	made.Desc += ")"
	concatenations.Lock()
	defer concatenations.Unlock()
	if found := concatenations.by[key]; found != nil {
		return found
	}
	if concatenations.by == nil {
		concatenations.by = map[[MaxConcat]*Datatype]*Datatype{}
	}
	concatenations.by[key] = made
	return made
}

// Padded is how many bits a part of so many takes in a concatenation: registers are filled up.
func Padded(bits int) int { return (bits + 31) / 32 * 32 }

// Bytes is how many bytes so many bits take.
func Bytes(bits int) int { return (bits + 7) / 8 }

// sized are the types of numbers and texts that have no size of their own and were given one, by the type and the size.
var sized sync.Map

// Sized is a type without a size of its own (integer, string, bitmask, ll_addr) with a size in bits; the same pointer for the same size.
func Sized(t *Datatype, bits int) *Datatype {
	if t.Bits == bits {
		return t
	}
	type key struct {
		of      TypeID
		symbols *Symbols
		bits    int
	}
	k := key{t.ID, t.Symbols, bits}
	if found, ok := sized.Load(k); ok {
		return found.(*Datatype)
	}
	made := *t
	made.Bits = bits
	found, _ := sized.LoadOrStore(k, &made)
	return found.(*Datatype)
}

// Is says that a type is another one, or a kind of it.
func (t *Datatype) Is(base *Datatype) bool {
	for ; t != nil; t = t.Base {
		if t.ID == base.ID && len(t.Parts) == 0 && len(base.Parts) == 0 {
			return true
		}
	}
	return false
}

// Basic is the type at the end of the chain of bases.
func (t *Datatype) Basic() *Datatype {
	for t.Base != nil {
		t = t.Base
	}
	if len(t.Parts) == 0 && int(t.ID) < len(typesByID) {
		return typesByID[t.ID] // not one that was given a size
	}
	return t
}
