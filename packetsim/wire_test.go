package packetsim

import (
	"encoding/binary"
	"hash/crc32"
)

// wireFormat is the packet as bytes, with checksums. id is IPv4's identification or IPv6's flow label.
func wireFormat(p Packet, id uint16) []byte {
	payload := wirePayload(p)
	if p.Is6() {
		b := make([]byte, 8, 40+len(payload))
		binary.BigEndian.PutUint32(b, 6<<28|uint32(id))
		binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
		b[6], b[7] = byte(p.Proto), p.hopLimit()
		return append(append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...), payload...)
	}
	b := make([]byte, 12, 20+len(payload))
	b[0] = 0x45
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(b[4:], id)
	b[8], b[9] = p.hopLimit(), byte(p.Proto)
	b = append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	return append(b, payload...)
}

func wirePayload(p Packet) []byte {
	var b []byte
	at := -1 // of the checksum
	switch p.Proto {
	case TCP:
		b, at = make([]byte, 20), 16
		binary.BigEndian.PutUint32(b[4:], 1000)
		if p.TCPFlags&(ACK|RST) != 0 {
			binary.BigEndian.PutUint32(b[4:], 1001)
			binary.BigEndian.PutUint32(b[8:], 1001)
		}
		if p.TCPFlags&SYN != 0 {
			binary.BigEndian.PutUint32(b[4:], 1000)
		}
		b[12], b[13] = 0x50, byte(p.TCPFlags)
		binary.BigEndian.PutUint16(b[14:], 8192)
	case UDP:
		b, at = make([]byte, 8), 6
		binary.BigEndian.PutUint16(b[4:], 8)
	case SCTP:
		b = make([]byte, 32)
		b[12], b[15] = 1, 20 // INIT
		binary.BigEndian.PutUint32(b[16:], 7)
		binary.BigEndian.PutUint16(b[24:], 1)
		binary.BigEndian.PutUint16(b[26:], 1)
	case ICMP, ICMPv6:
		b = make([]byte, 8)
		b[0], b[1] = p.ICMPType, p.ICMPCode
		binary.BigEndian.PutUint16(b[4:], p.ICMPID)
		if p.Inner != nil {
			b = append(b, wireFormat(*p.Inner, 1)...)
		}
		var pseudo []byte
		if p.Is6() {
			pseudo = append(append(p.Src.AsSlice(), p.Dst.AsSlice()...), 0, byte(p.Proto), 0, byte(len(b)))
		}
		binary.BigEndian.PutUint16(b[2:], checksum(append(pseudo, b...)))
		return b
	}
	if !p.Proto.HasPorts() {
		return make([]byte, 8)
	}
	binary.BigEndian.PutUint16(b, p.SrcPort)
	binary.BigEndian.PutUint16(b[2:], p.DstPort)
	if p.Proto == SCTP {
		binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
		return b
	}
	pseudo := append(append(p.Src.AsSlice(), p.Dst.AsSlice()...), 0, byte(p.Proto), 0, byte(len(b)))
	binary.BigEndian.PutUint16(b[at:], checksum(append(pseudo, b...)))
	return b
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
