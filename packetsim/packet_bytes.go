package packetsim

import (
	"encoding/binary"
	"errors"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// maskedBytes are the bytes of a packet from its IP header on, as far as they are known: a bit of bytes counts if it is set in known.
// What is behind the last of them is not known.
type maskedBytes struct {
	bytes, known []byte
	size         int // of the packet
}

var errUnknownBytes = errors.New("packet: bytes are not known that the rule looks at: checksums, numbers and options that are not given, " +
	"or a Payload that is not set")

// add appends bytes that are known.
func (m *maskedBytes) add(b ...byte) {
	m.bytes = append(m.bytes, b...)
	for range b {
		m.known = append(m.known, 0xff)
	}
}

// addMasked appends a byte of which the bits in the mask are known.
func (m *maskedBytes) addMasked(b, mask byte) {
	m.bytes, m.known = append(m.bytes, b), append(m.known, mask)
}

// skip appends bytes that are not known.
func (m *maskedBytes) skip(n int) {
	m.bytes, m.known = append(m.bytes, make([]byte, n)...), append(m.known, make([]byte, n)...)
}

func (m *maskedBytes) add16(n uint16) { m.add(byte(n>>8), byte(n)) }

func (m *maskedBytes) add32(n uint32) { m.add(binary.BigEndian.AppendUint32(nil, n)...) }

// load reads a number of size bytes; unknown has the bits that are not known. ok is false beyond the packet's end.
func (m *maskedBytes) load(at uint64, size int) (value, unknown uint32, ok bool) {
	if at+uint64(size) > uint64(m.size) {
		return 0, 0, false
	}
	for i := int(at); i < int(at)+size; i++ {
		value, unknown = value<<8, unknown<<8|0xff
		if i < len(m.bytes) {
			value |= uint32(m.bytes[i] & m.known[i])
			unknown &^= uint32(m.known[i])
		}
	}
	return value, unknown, true
}

// wireBytes are the packet's bytes.
func (s *skb) wireBytes() *maskedBytes {
	m := &maskedBytes{size: s.Size()}
	if s.Is6() {
		m.add(6<<4 | s.TOS>>4)
		m.addMasked(s.TOS<<4, 0xf0) // the flow label is not known
		m.skip(2)
		m.add16(uint16(m.size - 40))
		m.add(byte(s.Proto), s.HopLimit())
	} else {
		m.add(0x45, s.TOS)
		m.add16(uint16(m.size))
		m.skip(2) // the identification
		if s.DontFragment {
			m.add(0x40)
		} else {
			m.addMasked(0, 0xbf) // whether it may be cut into fragments is not known
		}
		m.add(0, s.HopLimit(), byte(s.Proto))
		m.skip(2) // the checksum
	}
	m.add(s.Src.AsSlice()...)
	m.add(s.Dst.AsSlice()...)
	s.addTransport(m)
	return m
}

func (s *skb) addTransport(m *maskedBytes) {
	if s.Proto.HasPorts() {
		m.add16(s.SrcPort)
		m.add16(s.DstPort)
	}
	header := len(m.bytes)
	switch s.Proto {
	case inet.TCP:
		s.addTCP(m)
	case inet.UDP:
		m.add16(uint16(m.size - header + 4))
		m.skip(2)
	case inet.ICMP, inet.ICMPv6:
		m.add(s.ICMPType, s.ICMPCode)
		m.skip(2)
		if s.IsICMPError() {
			return
		}
		m.add16(s.ICMPID)
		m.skip(2)
	case inet.ESP:
		if s.SPI != nil {
			m.add32(*s.SPI)
		}
		return
	case inet.SCTP, inet.AH, inet.IPComp:
		return
	}
	m.add(s.Payload...)
}

// addTCP adds the header behind the ports. Where there are options, or were until a rule wrote over them, only their length is known.
func (s *skb) addTCP(m *maskedBytes) {
	n := s.Numbers
	if n == nil {
		m.skip(9)
		m.add(byte(s.TCPFlags))
		m.skip(max(0, m.size-len(m.bytes)-len(s.Payload)))
		return
	}
	m.add32(n.Seq)
	m.add32(n.Ack)
	options := n.Size() - int(n.Data) + s.padding
	if s.MSS != 0 {
		options += inet.MSSOptionSize
	}
	m.addMasked(byte(20+options)/4<<4, 0xf0)
	m.add(byte(s.TCPFlags))
	m.add16(n.Window)
	m.skip(4 + options) // checksum and urgent pointer
}
