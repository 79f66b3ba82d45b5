package netns

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
)

// The chunks of SCTP that are spoken.
const (
	chunkData       = 0
	chunkInit       = 1
	chunkInitAck    = 2
	chunkCookieEcho = 10
	chunkCookieAck  = 11
)

// frame is a packet as it was on a wire.
type frame struct {
	packetsim.Packet
	seq, ack uint32 // TCP; for SCTP the verification tag and the tag that an INIT carries
	chunk    uint8  // SCTP
	payload  int    // the bytes behind a TCP header
	// print is the same for a packet on its whole way, whatever is translated, and
	// another for every other packet.
	print string
}

func (f *frame) source() netip.AddrPort      { return netip.AddrPortFrom(f.Src, f.SrcPort) }
func (f *frame) destination() netip.AddrPort { return netip.AddrPortFrom(f.Dst, f.DstPort) }

// parseFrame reads an IP packet, of which the first 20 bytes behind the IP header suffice.
func parseFrame(b []byte) (*frame, error) {
	f := &frame{}
	if len(b) < 20 {
		return nil, fmt.Errorf("a packet of %d bytes", len(b))
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 == 6 {
		if len(b) < 40 {
			return nil, fmt.Errorf("an IPv6 packet of %d bytes", len(b))
		}
		header, total = 40, 40+int(binary.BigEndian.Uint16(b[4:]))
		f.Proto, f.TTL = packetsim.Proto(b[6]), b[7]
		f.Src, f.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	} else {
		f.Proto, f.TTL = packetsim.Proto(b[9]), b[8]
		f.Src, f.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	}
	f.Length = total
	if len(b) < header {
		return nil, fmt.Errorf("a packet of %d bytes with a header of %d", len(b), header)
	}
	f.transport(b[header:], total-header)
	return f, nil
}

// transport reads what is behind the IP header; length is what it was on the wire.
func (f *frame) transport(b []byte, length int) {
	seen := make([]byte, 20) // what is cut off reads as zeros
	copy(seen, b[:min(len(b), 20, max(length, 0))])
	invariant := seen
	if f.Proto.HasPorts() {
		f.SrcPort, f.DstPort = binary.BigEndian.Uint16(seen), binary.BigEndian.Uint16(seen[2:])
	}
	switch f.Proto {
	case packetsim.TCP:
		f.seq, f.ack = binary.BigEndian.Uint32(seen[4:]), binary.BigEndian.Uint32(seen[8:])
		f.TCPFlags = packetsim.TCPFlags(seen[13] & 0x3f)
		f.payload = length - int(seen[12]>>4)*4
		invariant = seen[4:14]
	case packetsim.UDP:
		invariant = seen[8:]
	case packetsim.SCTP:
		f.seq, f.chunk, f.ack = binary.BigEndian.Uint32(seen[4:]), seen[12], binary.BigEndian.Uint32(seen[16:])
		invariant = slices.Concat(seen[4:8], seen[12:])
	case packetsim.ICMP, packetsim.ICMPv6:
		f.ICMPType, f.ICMPCode, f.ICMPID = seen[0], seen[1], binary.BigEndian.Uint16(seen[4:])
		invariant = slices.Concat(seen[:2], seen[6:]) // an identifier may be translated
		if f.isError() {
			f.ICMPID = 0
			invariant = slices.Concat(seen[:2], seen[8:15]) // of the quoted header what is not translated
		}
	}
	f.print = fmt.Sprintf("%d/%x", f.Proto, invariant)
}

// isError reports whether a packet is an ICMP error.
func (f *frame) isError() bool {
	switch f.Proto {
	case packetsim.ICMP:
		return f.ICMPType == 3 || f.ICMPType == 11 || f.ICMPType == 12
	case packetsim.ICMPv6:
		return f.ICMPType < 128
	}
	return false
}

// tell is what a crafted packet says beside what packetsim.Packet has.
type tell struct {
	seq, ack uint32
	chunk    uint8
	payload  []byte
}

const defaultTTL = 64

// craft makes the bytes of a packet, with checksums.
func craft(p *packetsim.Packet, t tell) []byte {
	body := craftTransport(p, t)
	ttl := p.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}
	if p.Src.Is6() {
		b := make([]byte, 8, 40+len(body))
		b[0] = 6 << 4
		binary.BigEndian.PutUint16(b[4:], uint16(len(body)))
		b[6], b[7] = byte(p.Proto), ttl
		return append(append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...), body...)
	}
	b := make([]byte, 12, 20+len(body))
	b[0] = 0x45
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(body)))
	binary.BigEndian.PutUint16(b[4:], uint16(t.seq)|1)
	b[6], b[8], b[9] = 0x40, ttl, byte(p.Proto)
	b = append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	return append(b, body...)
}

func craftTransport(p *packetsim.Packet, t tell) []byte {
	var b []byte
	at := -1 // of the checksum
	switch p.Proto {
	case packetsim.TCP:
		b, at = make([]byte, 20), 16
		binary.BigEndian.PutUint32(b[4:], t.seq)
		binary.BigEndian.PutUint32(b[8:], t.ack)
		b[12], b[13] = 0x50, byte(p.TCPFlags)
		binary.BigEndian.PutUint16(b[14:], 8192)
		b = append(b, t.payload...)
	case packetsim.UDP:
		b, at = make([]byte, 8), 6
		b = append(b, t.payload...)
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
	case packetsim.SCTP:
		b = craftSCTP(t)
	case packetsim.ICMP, packetsim.ICMPv6:
		b, at = make([]byte, 8), 2
		b[0], b[1] = p.ICMPType, p.ICMPCode
		binary.BigEndian.PutUint16(b[4:], p.ICMPID)
		b = append(b, t.payload...)
	default:
		return t.payload
	}
	if p.Proto.HasPorts() {
		binary.BigEndian.PutUint16(b, p.SrcPort)
		binary.BigEndian.PutUint16(b[2:], p.DstPort)
	}
	if p.Proto == packetsim.SCTP {
		binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
		return b
	}
	var pseudo []byte
	if p.Proto != packetsim.ICMP {
		pseudo = append(append(pseudo, p.Src.AsSlice()...), p.Dst.AsSlice()...)
		pseudo = append(pseudo, 0, byte(p.Proto), byte(len(b)>>8), byte(len(b)))
	}
	binary.BigEndian.PutUint16(b[at:], checksum(append(pseudo, b...)))
	return b
}

// craftSCTP is a header and one chunk; seq is the verification tag, ack the tag
// that INIT and INIT ACK tell the other end.
func craftSCTP(t tell) []byte {
	b := make([]byte, 32)
	binary.BigEndian.PutUint32(b[4:], t.seq)
	b[12], b[15] = t.chunk, 20
	binary.BigEndian.PutUint32(b[16:], t.ack)
	switch t.chunk {
	case chunkInit, chunkInitAck:
		binary.BigEndian.PutUint32(b[20:], 8192)
		b[25], b[27] = 1, 1 // streams out and in
	case chunkData:
		b[13] = 3 // a whole message
	}
	return b
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i, c := range b {
		if i%2 == 0 {
			sum += uint32(c) << 8
		} else {
			sum += uint32(c)
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
