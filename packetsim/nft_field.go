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
	viewedFields // of those before it the machine has a view
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

// nftView is the fields of the packet that do not depend on its connection, as little-endian numbers.
type nftView struct {
	has   uint32     // a bit for each that the packet has; 0: the view is to be filled in
	words [16]uint32 // of those before viewedFields
}

// look fills in the view.
func (v *nftView) look(s *skb) {
	proto := uint32(s.Proto)
	v.words[fieldL4Proto], v.words[fieldMark] = proto, s.Mark
	v.words[fieldIif], v.words[fieldOif] = deviceIndex(s.in), deviceIndex(s.out)
	v.has = 1<<fieldNFProto | 1<<fieldMark | 1<<fieldIif | 1<<fieldOif
	if s.Is6() {
		v.words[fieldNextHeader6], v.words[fieldNFProto] = proto, ipv6Family
		if v.has |= 1 << fieldNextHeader6; !isExtensionHeader(s.Proto) {
			v.has |= 1 << fieldL4Proto
		}
	} else {
		v.words[fieldProtocol4], v.words[fieldNFProto] = proto, ipv4Family
		v.has |= 1<<fieldProtocol4 | 1<<fieldL4Proto
		v.addr4(fieldSrc4, s.Src)
		v.addr4(fieldDst4, s.Dst)
	}
	if s.Proto.HasPorts() {
		v.words[fieldSrcPort], v.words[fieldDstPort] = bigPort(s.SrcPort), bigPort(s.DstPort)
		v.has |= 1<<fieldSrcPort | 1<<fieldDstPort
	}
}

func (v *nftView) addr4(f nftField, addr netip.Addr) {
	if addr.Is4() {
		raw := addr.As4()
		v.words[f] = binary.LittleEndian.Uint32(raw[:])
		v.has |= 1 << f
	}
}

// field is a field of the packet as a little-endian number. It is false where the field is not what its name says.
func (t *nftMachine) field(f nftField) (uint32, bool) {
	if t.view.has>>(f&31)&1 != 0 {
		return t.view.words[f&15], true
	}
	return t.otherField(f)
}

// otherField is a field that the view does not have, or not yet.
func (t *nftMachine) otherField(f nftField) (uint32, bool) {
	switch {
	case f >= viewedFields:
		return t.connField(f)
	case t.view.has == 0:
		t.view.look(t.s)
		return t.view.words[f], t.view.has>>f&1 != 0
	}
	return 0, false
}

// connField is a field that depends on the packet's connection.
func (t *nftMachine) connField(f nftField) (uint32, bool) {
	s := t.s
	switch f {
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
