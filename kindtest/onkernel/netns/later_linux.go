package netns

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// sendLater sends the packet, by the socket or crafted, and says how to recognize it.
func (s *session) sendLater(f *keptFlow, p scenarios.FlowPacket) (*host, func(*raw.Capture) bool, error) {
	sender, bytes, to, err := f.packet(s, p)
	if err != nil {
		return nil, nil, err
	}
	if f.speak(p) {
		return sender, f.sends(p), nil
	}
	wanted, err := raw.Parse(bytes)
	if err != nil {
		return nil, nil, err
	}
	if err := sender.ns.Do(func() error { return raw.Inject(bytes, to, 0) }); err != nil {
		return nil, nil, fmt.Errorf("%s: send a packet of %s: %w", sender.Name, p.Of, err)
	}
	return sender, func(one *raw.Capture) bool { return one.Print == wanted.Print }, nil
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
	packet := inet.Packet{Proto: f.proto, Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port()}
	s.questions++
	t := f.numbers(p.From == scenarios.SideServer)
	t.Payload = fmt.Appendf(nil, "F%011d", s.questions)
	switch f.proto {
	case inet.TCP:
		packet.TCPFlags = segmentFlags(p.Send)
		if p.Send != scenarios.PacketData && p.Send != scenarios.PacketOutOfWindow && p.Send != "" {
			t.Payload = nil
		}
		if p.Send == scenarios.PacketOutOfWindow {
			t.Seq += outOfWindow
		}
	case inet.SCTP:
		t.Chunk, t.Ack = inet.SCTPData, uint32(s.questions)
	case inet.ICMP, inet.ICMPv6:
		packet.ICMPType, packet.ICMPID = f.proto.EchoRequestType(), f.id
		if p.From == scenarios.SideServer {
			packet.ICMPType = packet.Answer().ICMPType
		}
	}
	return sender, raw.Craft(&packet, t), to.Addr(), nil
}

// numbers are the numbers that the next packet of a side carries.
func (f *keptFlow) numbers(ofServer bool) raw.Tell {
	switch {
	case f.proto == inet.SCTP && ofServer:
		return raw.Tell{Seq: f.clientTag}
	case f.proto == inet.SCTP:
		return raw.Tell{Seq: f.serverTag}
	case ofServer:
		return raw.Tell{Seq: f.serverNext, Ack: f.clientNext}
	}
	return raw.Tell{Seq: f.clientNext, Ack: f.serverNext}
}

func segmentFlags(kind scenarios.PacketKind) inet.TCPFlags {
	switch kind {
	case scenarios.PacketFIN:
		return inet.FIN | inet.ACK
	case scenarios.PacketRST:
		return inet.RST
	}
	return inet.PSH | inet.ACK
}

// speak lets the sender's socket send the packet; it says whether it did.
func (f *keptFlow) speak(p scenarios.FlowPacket) bool {
	fd := &f.clientFD
	if p.From == scenarios.SideServer {
		fd = &f.serverFD
	}
	if *fd < 0 || f.proto != inet.TCP {
		return false
	}
	switch p.Send {
	case scenarios.PacketData:
		n, err := unix.Write(*fd, []byte("F"))
		return err == nil && n > 0
	case scenarios.PacketFIN:
		return unix.Shutdown(*fd, unix.SHUT_WR) == nil
	case scenarios.PacketRST:
		socket.Reset(*fd)
		*fd = -1
		return true
	}
	return false
}

// sends recognizes the packet among those that its sender's host sends.
func (f *keptFlow) sends(p scenarios.FlowPacket) func(*raw.Capture) bool {
	_, from, to := f.sending(p.From)
	return func(one *raw.Capture) bool {
		if one.Proto != inet.TCP || one.Source() != from || one.Destination() != to {
			return false
		}
		switch p.Send {
		case scenarios.PacketFIN:
			return one.TCPFlags&inet.FIN != 0
		case scenarios.PacketRST:
			return one.TCPFlags&inet.RST != 0
		}
		return one.Payload > 0
	}
}
