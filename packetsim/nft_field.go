package packetsim

import (
	"encoding/binary"
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// nftField is a value of at most four bytes that many rules load. All other values are loaded by the expression itself.
type nftField uint8

const (
	fieldNone nftField = iota
	fieldSrc4
	fieldDst4
	fieldProtocol4
	fieldNextHeader6
	fieldSrcPort
	fieldDstPort
	fieldL4Proto
	fieldNFProto
	fieldMark
	fieldIif
	fieldOif
	fieldState
	fieldStatus
	fieldDirection
)

// nftFieldOf is the field that an expression loads into a register; fieldNone if it does something else.
func nftFieldOf(x expr.Expr) (nftField, expr.Register) {
	switch x := x.(type) {
	case *expr.Payload:
		if !x.Writes {
			return payloadField(x), x.Dreg
		}
	case *expr.Meta:
		if !x.Writes {
			return metaFields[x.Key], x.Dreg
		}
	case *expr.CT:
		switch {
		case x.Writes:
		case x.Key == expr.CTState:
			return fieldState, x.Dreg
		case x.Key == expr.CTStatus:
			return fieldStatus, x.Dreg
		case x.Key == expr.CTDirection:
			return fieldDirection, x.Dreg
		}
	}
	return fieldNone, 0
}

var metaFields = map[expr.MetaKey]nftField{expr.MetaL4proto: fieldL4Proto, expr.MetaNfproto: fieldNFProto, expr.MetaMark: fieldMark,
	expr.MetaIif: fieldIif, expr.MetaOif: fieldOif}

func payloadField(x *expr.Payload) nftField {
	switch at := [...]uint32{x.Offset, x.Len}; x.Base {
	case expr.NetworkHeader:
		switch at {
		case [...]uint32{12, 4}:
			return fieldSrc4
		case [...]uint32{16, 4}:
			return fieldDst4
		case [...]uint32{9, 1}:
			return fieldProtocol4
		case [...]uint32{6, 1}:
			return fieldNextHeader6
		}
	case expr.TransportHeader:
		switch at {
		case [...]uint32{0, 2}:
			return fieldSrcPort
		case [...]uint32{2, 2}:
			return fieldDstPort
		}
	}
	return fieldNone
}

// load loads a field into its register. It is false where the packet has no such field, or the walk has failed.
func (t *nftRun) load(op *nftOp) bool {
	if v, ok := t.field(op.field); ok {
		t.regs.put4(op.dreg, v)
		return true
	}
	t.runExpr(t.expr(op)) // the same bytes of a packet that has something else there
	return t.code == expr.Continue && t.err == nil
}

// field is a field of the packet as a little-endian number. It is false where the field is not what its name says.
func (t *nftMachine) field(f nftField) (uint32, bool) {
	s := t.s
	switch f {
	case fieldSrc4:
		return addr4(s.Src)
	case fieldDst4:
		return addr4(s.Dst)
	case fieldProtocol4:
		return uint32(s.Proto), !s.Is6()
	case fieldNextHeader6:
		return uint32(s.Proto), s.Is6()
	case fieldSrcPort:
		return bigPort(s.SrcPort), s.Proto.HasPorts()
	case fieldDstPort:
		return bigPort(s.DstPort), s.Proto.HasPorts()
	case fieldL4Proto:
		return uint32(s.Proto), !s.Is6() || !isExtensionHeader(s.Proto)
	case fieldNFProto:
		if s.Is6() {
			return uint32(ipv6Family), true
		}
		return uint32(ipv4Family), true
	case fieldMark:
		return s.Mark, true
	case fieldIif:
		return deviceIndex(s.in), true
	case fieldOif:
		return deviceIndex(s.out), true
	case fieldState:
		return nftState(s), true
	case fieldStatus:
		if s.conn != nil && s.conn.Template == nil {
			return nftStatus(s.conn), true
		}
	case fieldDirection:
		return uint32(s.dir), s.conn != nil && s.conn.Template == nil
	}
	return 0, false
}

// The families of packets (NFPROTO_*).
const (
	ipv4Family = 2
	ipv6Family = 10
)

func addr4(addr netip.Addr) (uint32, bool) {
	if !addr.Is4() {
		return 0, false
	}
	raw := addr.As4()
	return binary.LittleEndian.Uint32(raw[:]), true
}

func bigPort(port uint16) uint32 { return uint32(port>>8 | port<<8) }

func deviceIndex(dev *device) uint32 {
	if dev == nil {
		return 0
	}
	return uint32(dev.Index)
}

// isExtensionHeader says whether a protocol of IPv6 is a header behind which another one comes (ipv6_ext_hdr in
// net/ipv6/exthdrs_core.c), of which a packet here does not say the protocol.
func isExtensionHeader(p inet.Proto) bool {
	switch p {
	case 0, 43, 44, inet.AH, 60:
		return true
	}
	return false
}

// nftState is the packet's state (nft_ct_get_eval in net/netfilter/nft_ct.c).
func nftState(s *skb) uint32 { return nftStates[s.relation] }

// nftStates are NF_CT_STATE_*_BIT by relation.
var nftStates = [...]uint32{isInvalid: 1, isEstablished: 2, isRelated: 4, isNew: 8, isUntracked: 64}

// The status of a connection (enum ip_conntrack_status in include/uapi/linux/netfilter/nf_conntrack_common.h).
const (
	statusSeenReply = 1 << 1
	statusAssured   = 1 << 2
	statusConfirmed = 1 << 3
	statusSrcNAT    = 1 << 4
	statusDstNAT    = 1 << 5
	statusSrcDone   = 1 << 7
	statusDstDone   = 1 << 8
)

func nftStatus(c *conntrack.Conn) uint32 {
	var status uint32
	for _, bit := range [...]struct {
		set bool
		bit uint32
	}{
		{c.SeenReply, statusSeenReply}, {c.Assured, statusAssured}, {c.Confirmed, statusConfirmed}, {c.SrcNAT, statusSrcNAT},
		{c.DstNAT, statusDstNAT}, {c.Bound(conntrack.Source), statusSrcDone}, {c.Bound(conntrack.Destination), statusDstDone},
	} {
		if bit.set {
			status |= bit.bit
		}
	}
	return status
}
