package wire

import (
	"encoding/binary"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Fields are what the bytes of a packet say beyond inet.Packet.
type Fields struct {
	// ID is IPv4's identification or IPv6's flow label, by which a packet is known again.
	ID uint16
	// DontFragment is IPv4's flag.
	DontFragment bool
	// Payload is behind the transport header, and behind the chunks of SCTP. A protocol that is not known has it behind the IP header, and
	// eight zeros if it is nil.
	Payload []byte
}

// quotedID is the identification of packets inside ICMP errors.
const quotedID = 1

// Encode is a whole IP packet with its checksums. TCP numbers that are not given are zeros.
func Encode(p *inet.Packet, f Fields) []byte {
	payload := EncodeTransport(p, f.Payload)
	ttl := p.HopLimit()
	if p.Is6() {
		b := make([]byte, 8, 40+len(payload))
		binary.BigEndian.PutUint32(b, 6<<28|uint32(p.TOS)<<20|uint32(f.ID))
		binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
		b[6], b[7] = byte(p.Proto), ttl
		return append(append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...), payload...)
	}
	b := make([]byte, 12, 20+len(payload))
	b[0], b[1] = 0x45, p.TOS
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(b[4:], f.ID)
	if f.DontFragment || p.DontFragment {
		b[6] = 0x40
	}
	b[8], b[9] = ttl, byte(p.Proto)
	b = append(append(b, p.Src.AsSlice()...), p.Dst.AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], Checksum(b))
	return append(b, payload...)
}

// EncodeTransport is what is behind the IP header of a packet: what a socket wants that writes that header itself. The payload is as in
// Fields.
func EncodeTransport(p *inet.Packet, payload []byte) []byte {
	switch p.Proto {
	case inet.TCP:
		return withSum(p, withPorts(p, append(encodeTCP(p), payload...)), 16)
	case inet.UDP:
		b := append(append(make([]byte, 8), p.Payload...), payload...)
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
		return withSum(p, withPorts(p, b), 6)
	case inet.SCTP:
		b := withPorts(p, append(encodeSCTP(p), payload...))
		binary.LittleEndian.PutUint32(b[8:], crc32c(b))
		return b
	case inet.ICMP, inet.ICMPv6:
		return withSum(p, append(append(encodeICMP(p), p.Payload...), payload...), 2)
	}
	switch {
	case p.SPI != nil:
		return append(encodeSPI(p), payload...)
	case p.Payload == nil && payload == nil:
		return make([]byte, 8)
	}
	return slices.Concat(p.Payload, payload)
}

// encodeSPI is a header of IPsec with nothing behind it.
func encodeSPI(p *inet.Packet) []byte {
	switch p.Proto {
	case inet.AH:
		header := inet.AHHeader{Length: 12}
		if p.AH != nil {
			header = *p.AH
		}
		b := binary.BigEndian.AppendUint16([]byte{noNextHeader, byte(header.Length/4 - 2)}, header.Reserved)
		return append(binary.BigEndian.AppendUint32(b, *p.SPI), make([]byte, max(int(header.Length), 12)-8)...)
	case inet.IPComp:
		return binary.BigEndian.AppendUint16([]byte{noNextHeader, 0}, uint16(*p.SPI))
	}
	return append(binary.BigEndian.AppendUint32(nil, *p.SPI), make([]byte, 4)...)
}

// noNextHeader says that nothing is behind a header.
const noNextHeader = 59

func withPorts(p *inet.Packet, b []byte) []byte {
	binary.BigEndian.PutUint16(b, p.SrcPort)
	binary.BigEndian.PutUint16(b[2:], p.DstPort)
	return b
}

// withSum fills in the checksum, which stands at the offset given. That of UDP is never zero, which would say that there is none.
func withSum(p *inet.Packet, b []byte, at int) []byte {
	var pseudo []byte
	if p.Proto != inet.ICMP {
		pseudo = append(append(p.Src.AsSlice(), p.Dst.AsSlice()...), 0, byte(p.Proto), byte(len(b)>>8), byte(len(b)))
	}
	sum := Checksum(append(pseudo, b...))
	if p.ChecksumOff != 0 {
		sum = ^Checksum(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, sum), p.ChecksumOff))
	}
	if sum == 0 && p.Proto == inet.UDP {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], sum)
	return b
}

// The option for the greatest segment.
const (
	optionMSS = 2
	mssLength = 4
)

// encodeTCP is a TCP header with its options and zeros as data, without ports and checksum.
func encodeTCP(p *inet.Packet) []byte {
	b := make([]byte, 20)
	n := p.Numbers
	if n == nil {
		n = &inet.TCPNumbers{}
	}
	binary.BigEndian.PutUint32(b[4:], n.Seq)
	binary.BigEndian.PutUint32(b[8:], n.Ack)
	b[13] = byte(p.TCPFlags)
	binary.BigEndian.PutUint16(b[14:], n.Window)
	if p.MSS != 0 {
		b = binary.BigEndian.AppendUint16(append(b, optionMSS, mssLength), p.MSS)
	}
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
	if p.Payload != nil {
		return append(b, p.Payload...)
	}
	return append(b, make([]byte, n.Data)...)
}

// encodeSCTP is an SCTP header and its chunks, without ports and checksum.
func encodeSCTP(p *inet.Packet) []byte {
	b := make([]byte, 12)
	binary.BigEndian.PutUint32(b[4:], p.VerificationTag)
	for _, c := range p.Chunks {
		chunk := make([]byte, c.Size())
		chunk[0], chunk[1], chunk[3] = byte(c.Type), c.Flags, byte(len(chunk))
		if c.Type == inet.SCTPInit || c.Type == inet.SCTPInitAck {
			binary.BigEndian.PutUint32(chunk[4:], c.InitTag)
			binary.BigEndian.PutUint16(chunk[12:], 1) // streams out
			binary.BigEndian.PutUint16(chunk[14:], 1) // streams in
		}
		b = append(b, chunk...)
	}
	return b
}

// encodeICMP is an ICMP message with the packet that it quotes, without its checksum.
func encodeICMP(p *inet.Packet) []byte {
	b := make([]byte, 8)
	b[0], b[1] = p.ICMPType, p.ICMPCode
	binary.BigEndian.PutUint16(b[4:], p.ICMPID)
	if p.Inner != nil {
		b = append(b, Encode(p.Inner, Fields{ID: quotedID})...)
	}
	return b
}
