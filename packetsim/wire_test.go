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
		b, at = wireTCP(p), 16
	case UDP:
		b, at = make([]byte, 8), 6
		if p.Carried != nil {
			b = append(b, wireFrame(p)...)
		}
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
	case SCTP:
		b = wireSCTP(p)
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
	pseudo := append(append(p.Src.AsSlice(), p.Dst.AsSlice()...), 0, byte(p.Proto), byte(len(b)>>8), byte(len(b)))
	binary.BigEndian.PutUint16(b[at:], checksum(append(pseudo, b...)))
	return b
}

// wireTCP is a TCP header with its options and payload, without ports and checksum.
func wireTCP(p Packet) []byte {
	b := make([]byte, 20)
	n := p.Numbers
	if n == nil {
		n = &TCPNumbers{Seq: 1000, Window: 8192}
		if p.TCPFlags&(ACK|RST) != 0 {
			n.Seq, n.Ack = 1001, 1001
		}
		if p.TCPFlags&SYN != 0 {
			n.Seq = 1000
		}
	}
	binary.BigEndian.PutUint32(b[4:], n.Seq)
	binary.BigEndian.PutUint32(b[8:], n.Ack)
	binary.BigEndian.PutUint16(b[14:], n.Window)
	b[13] = byte(p.TCPFlags)
	if n.HasScale {
		b = append(b, 1, 3, 3, n.Scale)
	}
	if n.SACKPermitted {
		b = append(b, 1, 1, 4, 2)
	}
	if len(n.SACK) > 0 {
		b = append(b, 1, 1, 5, byte(2+8*len(n.SACK)))
	}
	for _, block := range n.SACK {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, block.Left), block.Right)
	}
	b[12] = byte(len(b) / 4 << 4)
	return append(b, make([]byte, n.Data)...)
}

// wireSCTP is an SCTP packet without ports and checksum; one that does not say its chunks is an INIT.
func wireSCTP(p Packet) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 4), p.VerificationTag)
	b = append(b, 0, 0, 0, 0)
	chunks := p.Chunks
	if len(chunks) == 0 {
		chunks = []SCTPChunk{{Type: SCTPInit, InitTag: 7}}
	}
	for _, c := range chunks {
		chunk := make([]byte, c.size())
		chunk[0], chunk[1], chunk[3] = byte(c.Type), c.Flags, byte(len(chunk))
		if c.Type == SCTPInit || c.Type == SCTPInitAck {
			binary.BigEndian.PutUint32(chunk[4:], c.InitTag)
			binary.BigEndian.PutUint16(chunk[12:], 1)
			binary.BigEndian.PutUint16(chunk[14:], 1)
		}
		b = append(b, chunk...)
	}
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

// wireFrame is the VXLAN header and the Ethernet frame of a packet that carries another.
func wireFrame(p Packet) []byte {
	b := []byte{8, 0, 0, 0, byte(p.VNI >> 16), byte(p.VNI >> 8), byte(p.VNI), 0}
	b = append(append(b, nodeMAC("tunnel")...), placeMAC("server")...)
	return append(append(b, 8, 0), wireFormat(*p.Carried, 1)...)
}
