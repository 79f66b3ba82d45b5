package ctnetlink

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// AppendEntry appends the attributes of what an entry has: tuples with addresses, a state, and the numbers that are not 0. So a
// deletion is that of an entry with the tuple and the number that the kernel shall find it by, a new timeout that of an entry with
// a tuple and the timeout, and a whole entry makes one.
func AppendEntry(dst []byte, e *Entry) []byte {
	if e.Original.Src.IsValid() {
		dst = appendTuple(dst, nl.CTA_TUPLE_ORIG, &e.Original)
	}
	if e.Reply.Src.IsValid() {
		dst = appendTuple(dst, nl.CTA_TUPLE_REPLY, &e.Reply)
	}
	if e.Zone != 0 {
		dst = nlattr.AppendUint16(dst, nl.CTA_ZONE, e.Zone)
	}
	dst = appendNumber(dst, nl.CTA_ID, e.ID)
	dst = appendNumber(dst, nl.CTA_STATUS, e.Status)
	dst = appendNumber(dst, nl.CTA_TIMEOUT, e.Timeout)
	dst = appendNumber(dst, nl.CTA_MARK, e.Mark)
	if e.HasState {
		dst = appendState(dst, e.Original.Protocol, e.State)
	}
	return dst
}

func appendNumber(dst []byte, typ uint16, number uint32) []byte {
	if number == 0 {
		return dst
	}
	return nlattr.AppendUint32(dst, typ, number)
}

func appendState(dst []byte, protocol, state uint8) []byte {
	info := uint16(nl.CTA_PROTOINFO_TCP)
	if protocol == unix.IPPROTO_SCTP {
		info = nl.CTA_PROTOINFO_SCTP
	}
	return nlattr.AppendNested(dst, nl.CTA_PROTOINFO, func(dst []byte) []byte {
		return nlattr.AppendNested(dst, info, func(dst []byte) []byte { return nlattr.Append(dst, infoState, state) })
	})
}

func appendTuple(dst []byte, direction uint16, t *Tuple) []byte {
	return nlattr.AppendNested(dst, direction, func(dst []byte) []byte {
		dst = nlattr.AppendNested(dst, nl.CTA_TUPLE_IP, func(dst []byte) []byte { return appendAddresses(dst, t) })
		dst = nlattr.AppendNested(dst, nl.CTA_TUPLE_PROTO, func(dst []byte) []byte { return appendProtocol(dst, t) })
		if t.Zone != 0 {
			dst = nlattr.AppendUint16(dst, tupleZone, t.Zone)
		}
		return dst
	})
}

func appendAddresses(dst []byte, t *Tuple) []byte {
	if t.Src.Is4() {
		src, to := t.Src.As4(), t.Dst.As4()
		return nlattr.Append(nlattr.Append(dst, nl.CTA_IP_V4_SRC, src[:]...), nl.CTA_IP_V4_DST, to[:]...)
	}
	src, to := t.Src.As16(), t.Dst.As16()
	return nlattr.Append(nlattr.Append(dst, nl.CTA_IP_V6_SRC, src[:]...), nl.CTA_IP_V6_DST, to[:]...)
}

func appendProtocol(dst []byte, t *Tuple) []byte {
	dst = nlattr.Append(dst, nl.CTA_PROTO_NUM, t.Protocol)
	switch t.Protocol {
	case unix.IPPROTO_ICMP:
		dst = nlattr.AppendUint16(dst, icmpID, t.ICMPID)
		dst = nlattr.Append(dst, icmpType, t.ICMPType)
		return nlattr.Append(dst, icmpCode, t.ICMPCode)
	case unix.IPPROTO_ICMPV6:
		dst = nlattr.AppendUint16(dst, icmpv6ID, t.ICMPID)
		dst = nlattr.Append(dst, icmpv6Type, t.ICMPType)
		return nlattr.Append(dst, icmpv6Code, t.ICMPCode)
	}
	dst = nlattr.AppendUint16(dst, nl.CTA_PROTO_SRC_PORT, t.SrcPort)
	return nlattr.AppendUint16(dst, nl.CTA_PROTO_DST_PORT, t.DstPort)
}

// FilterProtocol is the flag of CTA_FILTER_ORIG_FLAGS for CTA_PROTO_NUM, from net/netfilter/nf_conntrack_netlink.c.
const FilterProtocol = 1 << 3

// AppendProtocolFilter appends the attributes by which the kernel lists one protocol only, since Linux 5.8. Older kernels do not
// look at them and list all. The flags say which words of the tuple the kernel filters by: FilterProtocol, or flags that a later
// kernel has.
func AppendProtocolFilter(dst []byte, protocol uint8, flags uint32) []byte {
	dst = nlattr.AppendNested(dst, nl.CTA_TUPLE_ORIG, func(dst []byte) []byte {
		return nlattr.AppendNested(dst, nl.CTA_TUPLE_PROTO, func(dst []byte) []byte {
			return nlattr.Append(dst, nl.CTA_PROTO_NUM, protocol)
		})
	})
	return nlattr.AppendNested(dst, filter, func(dst []byte) []byte {
		return nlattr.Append(dst, filterOriginalFlags, binary.NativeEndian.AppendUint32(nil, flags)...)
	})
}

// Request is the headers of a message to the kernel, of netlink and of netfilter.
type Request struct {
	// Type is MessageNew, MessageGet or MessageDelete.
	Type uint16
	// Flags are NLM_F_ACK and the like; NLM_F_REQUEST need not be among them.
	Flags uint16
	// Sequence is the number that the kernel's answer has.
	Sequence uint32
	// Family is AF_INET or AF_INET6; AF_UNSPEC lists both.
	Family uint8
}

// Append appends the message with the attributes of an entry, see AppendEntry.
func (r Request) Append(dst []byte, e *Entry) []byte {
	start := len(dst)
	dst = binary.NativeEndian.AppendUint32(dst, 0)
	dst = binary.NativeEndian.AppendUint16(dst, r.Type)
	dst = binary.NativeEndian.AppendUint16(dst, r.Flags|unix.NLM_F_REQUEST)
	dst = binary.NativeEndian.AppendUint32(dst, r.Sequence)
	dst = binary.NativeEndian.AppendUint32(dst, 0) // the kernel knows who sends
	dst = append(dst, r.Family, nl.NFNETLINK_V0, 0, 0)
	dst = AppendEntry(dst, e)
	binary.NativeEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}
