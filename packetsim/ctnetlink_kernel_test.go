//go:build linux

package packetsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Attributes of a conntrack entry, from linux/netfilter/nfnetlink_conntrack.h.
const (
	ctaTupleOrig  = 1
	ctaTupleReply = 2
	ctaStatus     = 3
	ctaProtoInfo  = 4
	ctaTimeout    = 7
	ctaMark       = 8
	ctaZone       = 18

	ctaTupleIP    = 1
	ctaTupleProto = 2
	ctaTupleZone  = 3

	ctaIPv4Src = 1
	ctaIPv4Dst = 2
	ctaIPv6Src = 3
	ctaIPv6Dst = 4

	ctaProtoNum        = 1
	ctaProtoSrcPort    = 2
	ctaProtoDstPort    = 3
	ctaProtoICMPID     = 4
	ctaProtoICMPType   = 5
	ctaProtoICMPCode   = 6
	ctaProtoICMPv6ID   = 7
	ctaProtoICMPv6Type = 8
	ctaProtoICMPv6Code = 9

	// The state is the first attribute of CTA_PROTOINFO_TCP and CTA_PROTOINFO_SCTP alike.
	ctaProtoInfoState = 1

	ipsSeenReply = 1 << 1
	ipsAssured   = 1 << 2
)

// errNetlink says that the kernel's message is not what this package knows.
var errNetlink = errors.New("unknown netlink message")

// parseCTNetlink reads one conntrack entry as the kernel sends it, after the netlink header.
// The netlink library's own reader has no status bits, no SCTP state and no ICMP identifier,
// which decide whether a packet is ESTABLISHED.
func parseCTNetlink(msg []byte) (ConntrackEntry, error) {
	const header = 4 // struct nfgenmsg
	var c ConntrackEntry
	if len(msg) < header {
		return c, fmt.Errorf("%w: %d bytes", errNetlink, len(msg))
	}
	attrs, err := parseAttrs(msg[header:])
	if err != nil {
		return c, err
	}
	if c.Original, c.Zone.Original, err = tupleFromNetlink(attrs[ctaTupleOrig]); err != nil {
		return c, fmt.Errorf("original tuple: %w", err)
	}
	if c.Reply, c.Zone.Reply, err = tupleFromNetlink(attrs[ctaTupleReply]); err != nil {
		return c, fmt.Errorf("reply tuple: %w", err)
	}
	status := be32(attrs[ctaStatus])
	c.Assured, c.Replied = status&ipsAssured != 0, status&ipsSeenReply != 0
	c.Timeout, c.Mark = be32(attrs[ctaTimeout]), be32(attrs[ctaMark])
	if zone := be16(attrs[ctaZone]); zone != 0 {
		c.Zone = Zone{zone, zone}
	}
	c.State, err = stateFromNetlink(c.Original.Proto, attrs[ctaProtoInfo])
	return c, err
}

// stateFromNetlink reads the state from CTA_PROTOINFO, which holds one attribute named by protocol.
func stateFromNetlink(p Proto, info []byte) (string, error) {
	states := []string{""}
	switch p {
	case TCP:
		states = []string{
			"NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2",
		}
	case SCTP:
		states = []string{
			"NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED", "SHUTDOWN_SENT", "SHUTDOWN_RECD", "SHUTDOWN_ACK_SENT",
			"HEARTBEAT_SENT", "HEARTBEAT_ACKED",
		}
	}
	protocols, err := parseAttrs(info)
	if err != nil || len(states) == 1 {
		return states[0], err
	}
	for _, value := range protocols {
		attrs, err := parseAttrs(value)
		if err != nil {
			return "", err
		}
		if state := attrs[ctaProtoInfoState]; len(state) > 0 && int(state[0]) < len(states) {
			return states[state[0]], nil
		}
	}
	return "", fmt.Errorf("%w: protocol %d has no known state", errNetlink, p)
}

// tupleFromNetlink reads a tuple, and its zone if that is of one direction.
func tupleFromNetlink(data []byte) (t Tuple, zone uint16, err error) {
	attrs, err := parseAttrs(data)
	if err != nil {
		return t, 0, err
	}
	ip, err := parseAttrs(attrs[ctaTupleIP])
	if err != nil {
		return t, 0, err
	}
	l4, err := parseAttrs(attrs[ctaTupleProto])
	if err != nil {
		return t, 0, err
	}
	t.Src, _ = netip.AddrFromSlice(first(ip, ctaIPv4Src, ctaIPv6Src))
	t.Dst, _ = netip.AddrFromSlice(first(ip, ctaIPv4Dst, ctaIPv6Dst))
	if !t.Src.IsValid() || !t.Dst.IsValid() || len(l4[ctaProtoNum]) == 0 {
		return t, 0, fmt.Errorf("%w: a tuple without addresses or protocol", errNetlink)
	}
	t.Proto = Proto(be8(l4[ctaProtoNum]))
	t.SrcPort, t.DstPort = be16(l4[ctaProtoSrcPort]), be16(l4[ctaProtoDstPort])
	t.ICMPID = be16(first(l4, ctaProtoICMPID, ctaProtoICMPv6ID))
	t.ICMPType = be8(first(l4, ctaProtoICMPType, ctaProtoICMPv6Type))
	t.ICMPCode = be8(first(l4, ctaProtoICMPCode, ctaProtoICMPv6Code))
	return t, be16(attrs[ctaTupleZone]), nil
}

// parseAttrs splits netlink attributes by type. Where a type comes twice the first one counts.
func parseAttrs(data []byte) (map[uint16][]byte, error) {
	const (
		header   = 4
		typeMask = 0x3fff // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
	)
	attrs := map[uint16][]byte{}
	for len(data) >= header {
		length := int(binary.NativeEndian.Uint16(data))
		typ := binary.NativeEndian.Uint16(data[2:]) & typeMask
		if length < header || length > len(data) {
			return nil, fmt.Errorf("%w: attribute %d of %d bytes in %d", errNetlink, typ, length, len(data))
		}
		if _, ok := attrs[typ]; !ok {
			attrs[typ] = data[header:length]
		}
		data = data[min((length+3)&^3, len(data)):]
	}
	return attrs, nil
}

func first(attrs map[uint16][]byte, types ...uint16) []byte {
	for _, typ := range types {
		if value, ok := attrs[typ]; ok {
			return value
		}
	}
	return nil
}

// be32, be16 and be8 are 0 for an attribute that is not there.
func be32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func be16(b []byte) uint16 {
	if len(b) < 2 {
		return 0
	}
	return binary.BigEndian.Uint16(b)
}

func be8(b []byte) uint8 {
	if len(b) < 1 {
		return 0
	}
	return b[0]
}
