package netns

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

// sendLater sends the packet, by the socket or crafted, and says how to recognize it.
func (s *session) sendLater(f *keptFlow, p scenarios.FlowPacket) (*host, func(*capture) bool, error) {
	sender, bytes, to, err := f.packet(s, p)
	if err != nil {
		return nil, nil, err
	}
	if f.speak(p) {
		return sender, f.sends(p), nil
	}
	wanted, err := parseCapture(bytes)
	if err != nil {
		return nil, nil, err
	}
	if err := sender.ns.Do(func() error { return inject(bytes, to, 0) }); err != nil {
		return nil, nil, fmt.Errorf("%s: send a packet of %s: %w", sender.Name, p.Of, err)
	}
	return sender, func(one *capture) bool { return one.print == wanted.print }, nil
}

// outOfWindow is how far from its place a segment is that no window holds.
const outOfWindow = 1 << 30

// sending is who sends on a side of the connection, from where, and to where. A server that was not reached is nil.
func (f *keptFlow) sending(side scenarios.Side) (sender *host, from, to netip.AddrPort) {
	if side == scenarios.SideServer {
		return f.server, f.asked, f.saw
	}
	return f.client, f.socket, f.called
}

// packet makes a later packet of the connection: who sends it, and its bytes.
func (f *keptFlow) packet(s *session, p scenarios.FlowPacket) (*host, []byte, netip.Addr, error) {
	sender, from, to := f.sending(p.From)
	switch {
	case sender == nil:
		return nil, nil, netip.Addr{}, fmt.Errorf("flow to %s: no server was reached, so none can send", f.called)
	case s.network.host(sender.Name) != sender:
		return nil, nil, netip.Addr{}, fmt.Errorf("flow to %s: %s, which is to send, is gone", f.called, sender.Name)
	}
	packet := packetsim.Packet{Proto: f.proto, Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port()}
	s.questions++
	t := f.numbers(p.From == scenarios.SideServer)
	t.payload = fmt.Appendf(nil, "F%011d", s.questions)
	switch f.proto {
	case packetsim.TCP:
		packet.TCPFlags = segmentFlags(p.Send)
		if p.Send != scenarios.PacketData && p.Send != scenarios.PacketOutOfWindow && p.Send != "" {
			t.payload = nil
		}
		if p.Send == scenarios.PacketOutOfWindow {
			t.seq += outOfWindow
		}
	case packetsim.SCTP:
		t.chunk, t.ack = packetsim.SCTPData, uint32(s.questions)
	case packetsim.ICMP, packetsim.ICMPv6:
		packet.ICMPType, packet.ICMPID = f.proto.EchoRequestType(), f.id
		if p.From == scenarios.SideServer {
			packet.ICMPType = packet.Answer().ICMPType
		}
	}
	return sender, craft(&packet, t), to.Addr(), nil
}

// numbers are those that the next packet of a side carries.
func (f *keptFlow) numbers(ofServer bool) tell {
	switch {
	case f.proto == packetsim.SCTP && ofServer:
		return tell{seq: f.clientTag}
	case f.proto == packetsim.SCTP:
		return tell{seq: f.serverTag}
	case ofServer:
		return tell{seq: f.serverNext, ack: f.clientNext}
	}
	return tell{seq: f.clientNext, ack: f.serverNext}
}

func segmentFlags(kind scenarios.PacketKind) packetsim.TCPFlags {
	switch kind {
	case scenarios.PacketFIN:
		return packetsim.FIN | packetsim.ACK
	case scenarios.PacketRST:
		return packetsim.RST
	}
	return packetsim.PSH | packetsim.ACK
}

// speak lets the sender's socket send the packet; it says whether it did.
func (f *keptFlow) speak(p scenarios.FlowPacket) bool {
	fd := &f.clientFD
	if p.From == scenarios.SideServer {
		fd = &f.serverFD
	}
	if *fd < 0 || f.proto != packetsim.TCP {
		return false
	}
	switch p.Send {
	case scenarios.PacketData:
		n, err := unix.Write(*fd, []byte("F"))
		return err == nil && n > 0
	case scenarios.PacketFIN:
		return unix.Shutdown(*fd, unix.SHUT_WR) == nil
	case scenarios.PacketRST:
		reset(*fd)
		*fd = -1
		return true
	}
	return false
}

// sends recognizes the packet among those that its sender's host sends.
func (f *keptFlow) sends(p scenarios.FlowPacket) func(*capture) bool {
	_, from, to := f.sending(p.From)
	return func(one *capture) bool {
		if one.Proto != packetsim.TCP || one.source() != from || one.destination() != to {
			return false
		}
		switch p.Send {
		case scenarios.PacketFIN:
			return one.TCPFlags&packetsim.FIN != 0
		case scenarios.PacketRST:
			return one.TCPFlags&packetsim.RST != 0
		}
		return one.payload > 0
	}
}
