package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// header is where a header begins in the packet's bytes; false if the packet has none of it, or the walk has failed.
func (t *nftMachine) header(x expr.Expr, base expr.PayloadBase) (at int, ok bool) {
	size := 20
	if t.s.Is6() {
		size = 40
	}
	switch base {
	case expr.NetworkHeader:
		return 0, true
	case expr.TransportHeader:
		if t.s.Is6() && isExtensionHeader(t.s.Proto) {
			t.fail(errExtensionHeader)
			return 0, false
		}
		return size, true
	}
	t.notWalked(x, "this base")
	return 0, false
}

// loadPayload loads bytes of the packet (nft_payload_eval in net/netfilter/nft_payload.c).
func (t *nftMachine) loadPayload(x *expr.Payload) {
	if x.Base == expr.LinkHeader {
		t.loadLink(x)
		return
	}
	at, ok := t.header(x, x.Base)
	if !ok {
		return
	}
	if t.wire == nil {
		t.wire = t.s.wireBytes()
	}
	t.take(x, t.wire, at+int(x.Offset))
}

// take fills the register with bytes that are there.
func (t *nftMachine) take(x *expr.Payload, m *maskedBytes, at int) {
	n, to := int(x.Len), x.Dreg.Offset()
	if at+n > m.size {
		t.code = expr.Break
		return
	}
	var data, unknown [expr.RegisterBytes]byte
	for i := range n {
		if at+i < len(m.bytes) {
			data[i], unknown[i] = m.bytes[at+i]&m.known[at+i], ^m.known[at+i]
		} else {
			unknown[i] = 0xff
		}
	}
	t.regs.put(to, data[:n])
	t.regs.taint(to, unknown[:n])
}

// linkHeader is the length of the header of Ethernet.
const linkHeader = 14

// loadLink loads bytes of the frame that the packet came in. One of the host itself has none yet.
func (t *nftMachine) loadLink(x *expr.Payload) {
	s := t.s
	if s.came == nil && s.in == nil {
		t.code = expr.Break
		return
	}
	m := &maskedBytes{size: linkHeader + s.Size()}
	switch came := s.came; {
	case s.isCopy: // it has no room for that header, and whatever lay there before it (pskb_copy)
		m.skip(linkHeader)
	case s.looped || came == nil || came.Name == loopbackName:
		m.add(make([]byte, 12)...)
	default:
		if mac, err := inet.ParseMAC(came.MAC); err == nil && s.LinkType == inet.LinkUnicast {
			m.add(mac[:]...)
		} else if s.LinkType == inet.LinkBroadcast {
			m.add(0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		} else {
			m.skip(6)
		}
		if s.MAC != (inet.MAC{}) {
			m.add(s.MAC[:]...)
		} else {
			m.skip(6)
		}
	}
	switch {
	case s.isCopy:
	case s.Is6():
		m.add(0x86, 0xdd)
	default:
		m.add(0x08, 0x00)
	}
	m.skip(s.Size())
	t.take(x, m, int(x.Offset))
}

// writePayload writes bytes into the packet (nft_payload_set_eval in net/netfilter/nft_payload.c), where they are those of a field that a
// packet here has.
func (t *nftMachine) writePayload(x *expr.Payload) {
	if x.Base == expr.LinkHeader {
		t.notWalked(x, "a write to the link header")
		return
	}
	at, ok := t.header(x, x.Base)
	if !ok {
		return
	}
	if t.wire == nil {
		t.wire = t.s.wireBytes()
	}
	at += int(x.Offset)
	from, n := x.Sreg.Offset(), int(x.Len)
	if at+n > t.wire.size {
		t.code = expr.Break
		return
	}
	fields := t.wire.bytes
	var changed []int
	for i := range n {
		value, unknown := t.regs.data[from+i], t.regs.unknown[from+i]
		if at+i >= len(fields) || t.wire.known[at+i]&^unknown != ^unknown {
			if unknown != 0xff {
				t.notWalked(x, "a write of what a packet here does not say")
				return
			}
			continue
		}
		if (fields[at+i]^value)&^unknown != 0 {
			fields[at+i] = fields[at+i]&unknown | value&^unknown
			changed = append(changed, at+i)
		}
	}
	for _, i := range changed {
		if !t.s.takeByte(i, fields) {
			t.notWalked(x, "a write of something else than addresses, ports, TTL, TOS and flags of TCP")
			return
		}
	}
	if t.wire = nil; len(changed) > 0 {
		t.s.sums &^= sumKept
	}
}

// takeByte takes the field from the packet's bytes that has a byte; false if a packet here has no such field.
func (s *skb) takeByte(i int, b []byte) bool {
	transport := 20
	switch {
	case s.Is6():
		transport = 40
		switch {
		case i < 2:
			s.TOS = b[0]<<4 | b[1]>>4
		case i == 7:
			s.SetHopLimit(b[7])
		case i >= 8 && i < 24:
			s.Src = netip.AddrFrom16([16]byte(b[8:24]))
		case i >= 24 && i < 40:
			s.Dst = netip.AddrFrom16([16]byte(b[24:40]))
		}
	case i == 1:
		s.TOS = b[1]
	case i == 8:
		s.SetHopLimit(b[8])
	case i >= 12 && i < 16:
		s.Src = netip.AddrFrom4([4]byte(b[12:16]))
	case i >= 16 && i < 20:
		s.Dst = netip.AddrFrom4([4]byte(b[16:20]))
	case i < transport:
		return false
	}
	if i < transport {
		return i != 4 && i != 5 && i != 6 || !s.Is6()
	}
	switch i -= transport; {
	case i < 2 && s.Proto.HasPorts():
		s.SrcPort = uint16(b[transport])<<8 | uint16(b[transport+1])
	case i < 4 && s.Proto.HasPorts():
		s.DstPort = uint16(b[transport+2])<<8 | uint16(b[transport+3])
	case i == 13 && s.Proto == inet.TCP:
		s.TCPFlags = inet.TCPFlags(b[transport+13])
	default:
		return false
	}
	return true
}
