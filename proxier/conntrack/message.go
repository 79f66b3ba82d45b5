package conntrack

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Attributes of conntrack messages, from linux/netfilter/nfnetlink_conntrack.h.
const (
	ctaTupleOrig  = 1
	ctaTupleReply = 2
	ctaID         = 12
	ctaZone       = 18
	ctaFilter     = 25

	ctaTupleIP    = 1
	ctaTupleProto = 2
	ctaTupleZone  = 3

	ctaIPv4Src = 1
	ctaIPv4Dst = 2
	ctaIPv6Src = 3
	ctaIPv6Dst = 4

	ctaProtoNum     = 1
	ctaProtoSrcPort = 2
	ctaProtoDstPort = 3

	ctaFilterOrigFlags = 1
	// filterProtoNum is the flag of CTA_FILTER for CTA_PROTO_NUM, from net/netfilter/nf_conntrack_netlink.c.
	filterProtoNum = 1 << 3

	attrHeader = 4
	attrNested = 1 << 15
	// attrType is without NLA_F_NESTED and NLA_F_NET_BYTEORDER.
	attrType = 1<<14 - 1

	// nfgenHeader is the size of struct nfgenmsg, which begins each message.
	nfgenHeader = 4
)

// errMessage says that the kernel sent what this package does not know.
var errMessage = errors.New("unknown conntrack message of the kernel")

// tuple is one direction of an entry.
type tuple struct {
	protocol         uint8
	src, dst         netip.Addr
	srcPort, dstPort uint16
	zone             uint16
}

// parseEntry reads a message without its netlink header.
func parseEntry(message []byte) (Entry, error) {
	if len(message) < nfgenHeader {
		return Entry{}, errMessage
	}
	var e Entry
	var original, reply tuple
	rest, ok := message[nfgenHeader:], true
	for len(rest) > 0 && ok {
		var a attribute
		if a, rest, ok = nextAttr(rest); !ok {
			break
		}
		switch a.typ {
		case ctaTupleOrig:
			ok = original.parse(a.value)
		case ctaTupleReply:
			ok = reply.parse(a.value)
		case ctaZone:
			e.Zone, ok = a.uint16()
		case ctaID:
			e.ID, ok = a.uint32()
		}
	}
	if !ok || !original.valid() || !reply.valid() {
		return Entry{}, errMessage
	}
	e.Protocol = original.protocol
	e.Original, e.Reply = original.exported(), reply.exported()
	e.Zone |= reply.zone // the kernel sends the zone of both directions or that of one
	return e, nil
}

func (t *tuple) valid() bool { return t.src.IsValid() && t.dst.IsValid() }

func (t *tuple) exported() Tuple {
	return Tuple{Src: netip.AddrPortFrom(t.src, t.srcPort), Dst: netip.AddrPortFrom(t.dst, t.dstPort)}
}

func (t *tuple) parse(data []byte) bool {
	return eachAttr(data, func(a attribute) (ok bool) {
		switch a.typ {
		case ctaTupleIP:
			return eachAttr(a.value, t.parseAddress)
		case ctaTupleProto:
			return eachAttr(a.value, t.parseProtocol)
		case ctaTupleZone:
			t.zone, ok = a.uint16()
			return ok
		}
		return true
	})
}

func (t *tuple) parseAddress(a attribute) (ok bool) {
	switch a.typ {
	case ctaIPv4Src, ctaIPv6Src:
		t.src, ok = netip.AddrFromSlice(a.value)
	case ctaIPv4Dst, ctaIPv6Dst:
		t.dst, ok = netip.AddrFromSlice(a.value)
	default:
		ok = true
	}
	return ok
}

func (t *tuple) parseProtocol(a attribute) (ok bool) {
	switch a.typ {
	case ctaProtoNum:
		if ok = len(a.value) == 1; ok {
			t.protocol = a.value[0]
		}
	case ctaProtoSrcPort:
		t.srcPort, ok = a.uint16()
	case ctaProtoDstPort:
		t.dstPort, ok = a.uint16()
	default:
		ok = true
	}
	return ok
}

// attribute is one netlink attribute. Numbers of conntrack are in network byte order.
type attribute struct {
	typ   uint16
	value []byte
}

func (a attribute) uint16() (value uint16, ok bool) {
	if len(a.value) != 2 {
		return 0, false
	}
	return binary.BigEndian.Uint16(a.value), true
}

func (a attribute) uint32() (value uint32, ok bool) {
	if len(a.value) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(a.value), true
}

// nextAttr splits off the first attribute.
func nextAttr(data []byte) (a attribute, rest []byte, ok bool) {
	if len(data) < attrHeader {
		return a, nil, false
	}
	length := int(binary.NativeEndian.Uint16(data))
	if length < attrHeader || length > len(data) {
		return a, nil, false
	}
	a = attribute{typ: binary.NativeEndian.Uint16(data[2:]) & attrType, value: data[attrHeader:length]}
	return a, data[min(align(length), len(data)):], true
}

func eachAttr(data []byte, visit func(attribute) bool) bool {
	for len(data) > 0 {
		a, rest, ok := nextAttr(data)
		if !ok || !visit(a) {
			return false
		}
		data = rest
	}
	return true
}

func align(length int) int { return (length + 3) &^ 3 }

// appendDeletion appends the attributes by which the kernel finds an entry. The reply tuple says that it still leads to the same
// endpoint: an entry that was made anew since it was listed, and leads to another one, stays. The ID says that it is not a
// connection that the endpoint itself has made since.
func appendDeletion(dst []byte, e *Entry) []byte {
	dst = appendTuple(dst, ctaTupleReply, e.Protocol, e.Reply)
	if e.Zone != 0 {
		dst = appendAttr(dst, ctaZone, binary.BigEndian.AppendUint16(nil, e.Zone))
	}
	if e.ID != 0 {
		dst = appendAttr(dst, ctaID, binary.BigEndian.AppendUint32(nil, e.ID))
	}
	return dst
}

func appendTuple(dst []byte, typ uint16, protocol uint8, t Tuple) []byte {
	src, to := uint16(ctaIPv4Src), uint16(ctaIPv4Dst)
	if t.Dst.Addr().Is6() {
		src, to = ctaIPv6Src, ctaIPv6Dst
	}
	return appendNested(dst, typ, func(dst []byte) []byte {
		dst = appendNested(dst, ctaTupleIP, func(dst []byte) []byte {
			dst = appendAttr(dst, src, t.Src.Addr().AsSlice())
			return appendAttr(dst, to, t.Dst.Addr().AsSlice())
		})
		return appendNested(dst, ctaTupleProto, func(dst []byte) []byte {
			dst = appendAttr(dst, ctaProtoNum, []byte{protocol})
			dst = appendAttr(dst, ctaProtoSrcPort, binary.BigEndian.AppendUint16(nil, t.Src.Port()))
			return appendAttr(dst, ctaProtoDstPort, binary.BigEndian.AppendUint16(nil, t.Dst.Port()))
		})
	})
}

// appendProtocolFilter appends the attributes by which the kernel lists one protocol only, since Linux 5.8. Older kernels do
// not look at them and list all.
func appendProtocolFilter(dst []byte, protocol uint8, flags uint32) []byte {
	dst = appendNested(dst, ctaTupleOrig, func(dst []byte) []byte {
		return appendNested(dst, ctaTupleProto, func(dst []byte) []byte {
			return appendAttr(dst, ctaProtoNum, []byte{protocol})
		})
	})
	return appendNested(dst, ctaFilter, func(dst []byte) []byte {
		return appendAttr(dst, ctaFilterOrigFlags, binary.NativeEndian.AppendUint32(nil, flags))
	})
}

func appendAttr(dst []byte, typ uint16, value []byte) []byte {
	dst = binary.NativeEndian.AppendUint16(dst, uint16(attrHeader+len(value)))
	dst = binary.NativeEndian.AppendUint16(dst, typ)
	dst = append(dst, value...)
	return append(dst, make([]byte, align(len(value))-len(value))...)
}

func appendNested(dst []byte, typ uint16, inside func([]byte) []byte) []byte {
	start := len(dst)
	dst = inside(appendAttr(dst, typ|attrNested, nil))
	binary.NativeEndian.PutUint16(dst[start:], uint16(len(dst)-start))
	return dst
}
