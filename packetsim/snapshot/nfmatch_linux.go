package snapshot

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Attributes and values of expressions that compare (include/uapi/linux/netfilter/nf_tables.h).
const (
	nftMetaDreg       = 1
	nftPayloadDreg    = 1
	nftPayloadBase    = 2
	nftPayloadOffset  = 3
	nftPayloadLength  = 4
	nftCmpSreg        = 1
	nftCmpOp          = 2
	nftCmpData        = 3
	nftDataValue      = 1
	nftCmpEqual       = 0
	nftMetaInName     = 6
	nftMetaNFProto    = 15
	nftMetaL4Proto    = 16
	nftBaseNetwork    = 1
	nftBaseTransport  = 2
	nftFamilyOfIPv4   = unix.NFPROTO_IPV4
	nftFamilyOfIPv6   = unix.NFPROTO_IPV6
	lengthOfInterface = unix.IFNAMSIZ
)

// nftLoad is a field of a packet that an expression wrote to a register.
type nftLoad struct {
	meta                 uint32 // its key; 0: it is of the payload
	base, offset, length uint32
}

// nftMatcher collects what the expressions of one rule ask for, in their order.
type nftMatcher struct {
	family   netfilter.Family // the packet's, if the table or the rule says it
	register map[uint32]nftLoad
	match    NFMatch
}

func newNFTMatcher(family uint8) *nftMatcher {
	m := &nftMatcher{register: map[uint32]nftLoad{}}
	m.is(family)
	return m
}

// is notes the family of the packet.
func (m *nftMatcher) is(family uint8) {
	switch family {
	case nftFamilyOfIPv4:
		m.family = netfilter.IPv4
	case nftFamilyOfIPv6:
		m.family = netfilter.IPv6
	}
}

// take reads an expression. What is not a comparison of a field that was loaded just so asks for nothing that is known; what writes to a
// register by other means makes all registers unknown.
func (m *nftMatcher) take(name string, data map[uint16]nlattr.Attribute) {
	number := func(typ uint16) uint32 {
		value, err := data[typ].Uint32()
		if err != nil {
			return ^uint32(0)
		}
		return value
	}
	switch name {
	case "meta":
		if _, loads := data[nftMetaDreg]; loads {
			m.register[number(nftMetaDreg)] = nftLoad{meta: number(nftMetaKey)}
		}
	case "payload":
		if _, loads := data[nftPayloadDreg]; loads {
			m.register[number(nftPayloadDreg)] = nftLoad{base: number(nftPayloadBase), offset: number(nftPayloadOffset),
				length: number(nftPayloadLength)}
		}
	case "cmp":
		loaded, known := m.register[number(nftCmpSreg)]
		value, err := attributesByType(data[nftCmpData].Value)
		if known && err == nil && number(nftCmpOp) == nftCmpEqual {
			m.equal(loaded, value[nftDataValue].Value)
		}
	case "counter", "log", "limit", "quota":
	default:
		clear(m.register)
	}
}

// equal has a field equal to a value.
func (m *nftMatcher) equal(f nftLoad, value []byte) {
	switch {
	case f.meta == nftMetaNFProto && len(value) == 1:
		m.is(value[0])
		m.match.Family = m.family
	case f.meta == nftMetaL4Proto && len(value) == 1:
		m.match.Protocol = inet.Proto(value[0])
	case f.meta == nftMetaInName && len(value) == lengthOfInterface: // a shorter one is the beginning of a name
		m.match.In = strings.TrimRight(string(value), "\x00")
	case f.meta != 0:
	case f.base == nftBaseTransport && f.length == 2 && len(value) == 2 && hasPorts(m.match.Protocol):
		port := binary.BigEndian.Uint16(value)
		switch f.offset {
		case 0:
			m.match.SrcPort = port
		case 2:
			m.match.DstPort = port
		}
	case f.base == nftBaseNetwork && int(f.length) == len(value):
		m.address(f.offset, value)
	}
}

func hasPorts(p inet.Proto) bool { return p == inet.TCP || p == inet.UDP || p == inet.SCTP }

// address has the bytes of an address equal to a value: all of them, or the first.
func (m *nftMatcher) address(offset uint32, value []byte) {
	size, source := 4, uint32(12)
	if m.family == netfilter.IPv6 {
		size, source = 16, 8
	}
	if m.family == 0 || len(value) == 0 || len(value) > size {
		return
	}
	whole := make([]byte, size)
	copy(whole, value)
	a, _ := netip.AddrFromSlice(whole)
	prefix := netip.PrefixFrom(a, 8*len(value))
	switch offset {
	case source:
		m.match.Src = prefix
	case source + uint32(size):
		m.match.Dst = prefix
	}
}
