package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// ErrShort says that bytes are not as many as their headers need.
var ErrShort = errors.New("packet is too short")

// Header is what an IP header says.
type Header struct {
	Proto    inet.Proto
	TTL, tos uint8
	Src, Dst netip.Addr
	ID       uint32 // IPv4's identification or IPv6's flow label
	Length   int    // of the whole packet, more than the bytes where these are cut off
}

// DecodeHeader reads an IP header, and gives the bytes behind it.
func DecodeHeader(b []byte) (h Header, transport []byte, err error) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		h = Header{
			Proto: inet.Proto(b[9]), TTL: b[8], tos: b[1],
			ID: uint32(binary.BigEndian.Uint16(b[4:])), Length: int(binary.BigEndian.Uint16(b[2:])),
			Src: netip.AddrFrom4([4]byte(b[12:])), Dst: netip.AddrFrom4([4]byte(b[16:])),
		}
		size := int(b[0]&15) * 4
		if size < 20 || len(b) < size {
			return h, nil, fmt.Errorf("%d bytes with a header of %d: %w", len(b), size, ErrShort)
		}
		return h, b[size:], nil
	case len(b) >= 40 && b[0]>>4 == 6:
		h = Header{
			Proto: inet.Proto(b[6]), TTL: b[7], tos: b[0]<<4 | b[1]>>4,
			ID: binary.BigEndian.Uint32(b) & 0xfffff, Length: 40 + int(binary.BigEndian.Uint16(b[4:])),
			Src: netip.AddrFrom16([16]byte(b[8:])), Dst: netip.AddrFrom16([16]byte(b[24:])),
		}
		return h, b[40:], nil
	}
	return h, nil, fmt.Errorf("%d bytes: %w", len(b), ErrShort)
}

// Decode reads the headers of a packet, and its identification or flow label.
func Decode(b []byte) (p inet.Packet, id uint32, err error) {
	h, transport, err := DecodeHeader(b)
	if err != nil {
		return p, 0, err
	}
	p.Proto, p.TOS, p.Src, p.Dst = h.Proto, h.tos, h.Src, h.Dst
	p.DontFragment = p.Dst.Is4() && b[6]&0x40 != 0
	p.SetHopLimit(h.TTL)
	return p, h.ID, decodeTransport(&p, transport)
}

func decodeTransport(p *inet.Packet, b []byte) error {
	known := p.Proto.HasPorts() || p.Proto.IsICMP()
	if known && len(b) < 8 {
		return fmt.Errorf("%s: %w", p.Proto, ErrShort)
	}
	switch {
	case p.Proto.HasPorts():
		p.SrcPort, p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		if p.Proto == inet.TCP && len(b) >= 20 {
			p.TCPFlags = inet.TCPFlags(b[13])
			p.MSS = decodeMSS(b[20:max(20, min(len(b), int(b[12]>>4)*4))])
		}
	case p.Proto.IsICMP():
		p.ICMPType, p.ICMPCode = b[0], b[1]
		if !p.IsICMPError() {
			p.ICMPID = binary.BigEndian.Uint16(b[4:])
		} else if inner, _, err := Decode(b[8:]); err == nil {
			p.Inner = &inner
		}
	}
	return nil
}

// decodeMSS is the greatest segment that TCP options announce, 0 if they do not.
func decodeMSS(options []byte) uint16 {
	for len(options) >= mssLength {
		switch {
		case options[0] == optionMSS && options[1] == mssLength:
			return binary.BigEndian.Uint16(options[2:])
		case options[0] < optionMSS || options[1] == 0:
			options = options[1:]
		default:
			options = options[min(int(options[1]), len(options)):]
		}
	}
	return 0
}
