package differ

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
)

// encode is a complete packet as bytes, with checksums. id is IPv4's identification or IPv6's flow label, by which the packet is known again.
func encode(p packetsim.Packet, id uint16) []byte {
	payload := encodePayload(p)
	ttl := p.TTL
	if ttl == 0 {
		ttl = 64
	}
	if p.Is6() {
		b := make([]byte, 8, 40+len(payload))
		binary.BigEndian.PutUint32(b, 6<<28|uint32(id))
		binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
		b[6], b[7] = byte(p.Proto), ttl
		return append(append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...), payload...)
	}
	b := make([]byte, 12, 20+len(payload))
	b[0] = 0x45
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(b[4:], id)
	b[8], b[9] = ttl, byte(p.Proto)
	b = append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	return append(b, payload...)
}

func encodePayload(p packetsim.Packet) []byte {
	switch p.Proto {
	case packetsim.TCP:
		return withPorts(p, encodeTCP(p), 16)
	case packetsim.UDP:
		b := make([]byte, 8)
		binary.BigEndian.PutUint16(b[4:], 8)
		return withPorts(p, b, 6)
	case packetsim.SCTP:
		return encodeSCTP(p)
	case packetsim.ICMP, packetsim.ICMPv6:
		return encodeICMP(p)
	}
	return make([]byte, 8)
}

// Numbers of every conversation: each side begins at the same sequence number and sends no data, and each has the same tag.
const (
	firstSequence = 1000
	farSequence   = firstSequence + 1<<30 // beyond every window
	window        = 8192
	sctpTag       = 7
)

// complete writes into the packet what its bytes will say beyond its other fields.
func complete(p *packetsim.Packet) {
	switch {
	case p.Proto == packetsim.TCP && p.Numbers == nil:
		n := &packetsim.TCPNumbers{Seq: firstSequence, Window: window}
		if p.TCPFlags&packetsim.SYN == 0 {
			n.Seq++
		}
		if p.OutOfWindow {
			n.Seq = farSequence
		}
		if p.TCPFlags&packetsim.ACK != 0 {
			n.Ack = firstSequence + 1
		}
		p.Numbers, p.OutOfWindow = n, false
	case p.Proto == packetsim.SCTP && len(p.Chunks) == 0:
		setChunk(p, packetsim.SCTPInit)
	}
	if p.Inner != nil {
		inner := *p.Inner
		complete(&inner)
		p.Inner = &inner
	}
	p.Length = len(encode(*p, 0))
}

// setChunk makes the packet one of a single chunk.
func setChunk(p *packetsim.Packet, t packetsim.SCTPChunkType) {
	c := packetsim.SCTPChunk{Type: t}
	p.VerificationTag = sctpTag
	if t == packetsim.SCTPInit {
		p.VerificationTag = 0
	}
	if t == packetsim.SCTPInit || t == packetsim.SCTPInitAck {
		c.InitTag = sctpTag
	}
	p.Chunks = []packetsim.SCTPChunk{c}
}

func encodeTCP(p packetsim.Packet) []byte {
	b := make([]byte, 20)
	binary.BigEndian.PutUint32(b[4:], p.Numbers.Seq)
	binary.BigEndian.PutUint32(b[8:], p.Numbers.Ack)
	b[12], b[13] = 0x50, byte(p.TCPFlags)
	binary.BigEndian.PutUint16(b[14:], p.Numbers.Window)
	return b
}

func encodeSCTP(p packetsim.Packet) []byte {
	b := make([]byte, 12)
	binary.BigEndian.PutUint32(b[4:], p.VerificationTag)
	for _, c := range p.Chunks {
		chunk := make([]byte, chunkSize(c.Type))
		chunk[0], chunk[1] = byte(c.Type), c.Flags
		binary.BigEndian.PutUint16(chunk[2:], uint16(len(chunk)))
		if c.InitTag != 0 {
			binary.BigEndian.PutUint32(chunk[4:], c.InitTag)
			binary.BigEndian.PutUint16(chunk[12:], 1) // streams out
			binary.BigEndian.PutUint16(chunk[14:], 1) // streams in
		}
		b = append(b, chunk...)
	}
	binary.BigEndian.PutUint16(b, p.SrcPort)
	binary.BigEndian.PutUint16(b[2:], p.DstPort)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// chunkSize is the length of a chunk with the fixed fields of its type.
func chunkSize(t packetsim.SCTPChunkType) int {
	switch t {
	case packetsim.SCTPInit, packetsim.SCTPInitAck:
		return 20
	case packetsim.SCTPData, packetsim.SCTPSack:
		return 16
	case packetsim.SCTPShutdown:
		return 8
	}
	return 4
}

// quotedID is the identification of packets inside ICMP errors.
const quotedID = 1

func encodeICMP(p packetsim.Packet) []byte {
	b := make([]byte, 8)
	b[0], b[1] = p.ICMPType, p.ICMPCode
	binary.BigEndian.PutUint16(b[4:], p.ICMPID)
	if p.Inner != nil {
		b = append(b, encode(*p.Inner, quotedID)...)
	}
	var pseudo []byte
	if p.Is6() {
		pseudo = pseudoHeader(p, len(b))
	}
	binary.BigEndian.PutUint16(b[2:], checksum(append(pseudo, b...)))
	return b
}

// withPorts fills ports and checksum, which stands at the offset given.
func withPorts(p packetsim.Packet, b []byte, at int) []byte {
	binary.BigEndian.PutUint16(b, p.SrcPort)
	binary.BigEndian.PutUint16(b[2:], p.DstPort)
	binary.BigEndian.PutUint16(b[at:], checksum(append(pseudoHeader(p, len(b)), b...)))
	return b
}

func pseudoHeader(p packetsim.Packet, length int) []byte {
	return append(append(p.Src.AsSlice(), p.Dst.AsSlice()...), 0, byte(p.Proto), 0, byte(length))
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// errShort says that bytes are no whole packet.
var errShort = errors.New("packet is too short")

// decode reads the headers of a packet and its identification or flow label.
func decode(b []byte) (packetsim.Packet, uint32, error) {
	var p packetsim.Packet
	var id uint32
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		p.Proto, p.TTL, id = packetsim.Proto(b[9]), b[8], uint32(binary.BigEndian.Uint16(b[4:]))
		p.Src, p.Dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		b = b[int(b[0]&15)*4:]
	case len(b) >= 40 && b[0]>>4 == 6:
		p.Proto, p.TTL, id = packetsim.Proto(b[6]), b[7], binary.BigEndian.Uint32(b)&0xfffff
		p.Src, p.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		b = b[40:]
	default:
		return p, 0, errShort
	}
	return p, id, decodePayload(&p, b)
}

func decodePayload(p *packetsim.Packet, b []byte) error {
	switch {
	case p.Proto.HasPorts():
		if len(b) < 8 {
			return fmt.Errorf("%s: %w", p.Proto, errShort)
		}
		p.SrcPort, p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		if p.Proto == packetsim.TCP && len(b) >= 20 {
			p.TCPFlags = packetsim.TCPFlags(b[13])
		}
	case p.Proto == packetsim.ICMP || p.Proto == packetsim.ICMPv6:
		if len(b) < 8 {
			return fmt.Errorf("%s: %w", p.Proto, errShort)
		}
		p.ICMPType, p.ICMPCode = b[0], b[1]
		if inner, _, err := decode(b[8:]); err == nil {
			p.Inner = &inner
		} else {
			p.ICMPID = binary.BigEndian.Uint16(b[4:])
		}
	}
	return nil
}
