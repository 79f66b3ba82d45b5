package netns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

// keptFlow is a connection that later steps come back to. Its later packets are
// those of its sockets, as long as they are there; what sockets do not send, such as
// a segment out of the window, or data after a FIN, is crafted.
type keptFlow struct {
	client, server *host // no server if none was reached
	proto          packetsim.Proto
	via            string
	// socket is the client's own address and called the one that it calls; asked and
	// saw are the same at the server's end.
	socket, called, asked, saw netip.AddrPort
	clientNext, serverNext     uint32 // TCP: the numbers of the next bytes
	clientTag, serverTag       uint32 // SCTP: what packets to each end carry
	id                         uint16 // ICMP
	clientFD, serverFD         int    // the TCP sockets, and the client's of other protocols; -1 if there is none
}

func (f *keptFlow) close() {
	f.silence(&f.clientFD)
	f.silence(&f.serverFD)
}

// silence closes a socket that would go on to send what did not arrive.
func (f *keptFlow) silence(fd *int) {
	if *fd >= 0 {
		closeSilently(*fd)
		*fd = -1
	}
}

// keep remembers a connection and what it did.
func (s *session) keep(a scenarios.Attempt, t *try) error {
	c, w := t.client, &t.way
	f := &keptFlow{
		client: c.host, proto: c.proto, via: a.Via, socket: w.Sender, called: c.to, asked: w.Server, saw: w.Client,
		clientTag: c.sctp.own, serverTag: c.sctp.peer, clientFD: -1, serverFD: -1,
	}
	if w.End == scenarios.Delivered || w.End == scenarios.Refused {
		f.server = s.network.host(w.Host)
	}
	if c.fd >= 0 && (c.proto != packetsim.TCP || c.asked) {
		f.clientFD = c.fd
	} else {
		c.close() // it would send its SYN again
	}
	f.take(s, t.conn)
	f.acknowledge()
	if err := s.drain(nil); err != nil {
		return err
	}
	f.note(s)
	s.flows[a.Keep] = f
	return s.keepState()
}

// take takes over what the servers got: the connection, and closes what else there is.
func (f *keptFlow) take(s *session, conn *served) {
	for i := range s.got {
		switch g := &s.got[i]; {
		case g.fd < 0:
		case conn != nil && g.fd == conn.fd:
			f.serverFD = g.fd
		default:
			closeSilently(g.fd)
		}
	}
	s.got = s.got[:0]
}

// note takes the numbers of the next bytes from the packets that were seen.
func (f *keptFlow) note(s *session) {
	for _, h := range s.network.hosts {
		for i := range h.watch.seen {
			one := &h.watch.seen[i]
			if one.point != pointSent {
				continue
			}
			next := one.seq + uint32(max(one.payload, 0))
			if one.TCPFlags&(packetsim.SYN|packetsim.FIN) != 0 {
				next++
			}
			switch {
			case h == f.client && one.source() == f.socket && one.destination() == f.called:
				f.clientNext = later(f.clientNext, next)
				f.id = one.ICMPID
			case h == f.server && one.source() == f.asked && one.destination() == f.saw:
				f.serverNext = later(f.serverNext, next)
			}
		}
	}
}

// later is the later of two sequence numbers; 0 is none.
func later(a, b uint32) uint32 {
	if a == 0 || int32(b-a) > 0 {
		return b
	}
	return a
}

// outOfWindow is how far from its place a segment is that no window holds.
const outOfWindow = 1 << 30

// packet makes a later packet of the connection: who sends it, and its bytes.
func (f *keptFlow) packet(s *session, p scenarios.FlowPacket) (*host, []byte, netip.Addr, error) {
	sender, from, to := f.client, f.socket, f.called
	t := tell{seq: f.clientNext, ack: f.serverNext}
	if p.From == scenarios.SideServer {
		if f.server == nil {
			return nil, nil, netip.Addr{}, fmt.Errorf("flow to %s: no server was reached, so none can send", f.called)
		}
		sender, from, to = f.server, f.asked, f.saw
		t.seq, t.ack = t.ack, t.seq
	}
	packet := packetsim.Packet{Proto: f.proto, Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port()}
	s.questions++
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
		t.chunk, t.ack, t.seq = packetsim.SCTPData, uint32(s.questions), f.serverTag
		if p.From == scenarios.SideServer {
			t.seq = f.clientTag
		}
	case packetsim.ICMP, packetsim.ICMPv6:
		packet.ICMPType, packet.ICMPID = echoRequest(f.proto), f.id
		if p.From == scenarios.SideServer {
			packet.ICMPType = map[uint8]uint8{8: 0, 128: 129}[packet.ICMPType]
		}
	}
	return sender, craft(&packet, t), to.Addr(), nil
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
	from, to := f.socket, f.called
	if p.From == scenarios.SideServer {
		from, to = f.asked, f.saw
	}
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

// Follow sends a later packet of a kept connection.
func (s *session) Follow(_ context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	f := s.flows[p.Of]
	if err := s.network.routeVia(f.via); err != nil {
		return nil, err
	}
	if err := s.openFor(f.proto, f.called); err != nil {
		return nil, err
	}
	if err := s.forget(); err != nil {
		return nil, err
	}
	sender, isIt, err := s.sendLater(f, p)
	if err != nil {
		return nil, err
	}
	var w scenarios.Way
	ended := func() bool {
		w = s.followed(f, p, sender, isIt)
		return w.End != scenarios.Lost
	}
	if err := s.settle(nil, func() bool { return false }, ended); err != nil {
		return nil, err
	}
	ended()
	if p.Send != scenarios.PacketOutOfWindow {
		f.settleSockets(p, &w)
		if err := s.drain(nil); err != nil {
			return nil, err
		}
		f.note(s)
	}
	f.take(s, nil)
	if err := s.keepState(); err != nil {
		return nil, err
	}
	return &scenarios.Observed{Ways: []scenarios.Way{w}}, s.bookError()
}

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

// settleSockets reads what came, and gives up the sockets that did not get on: a
// sender whose packet did not arrive would send it again.
func (f *keptFlow) settleSockets(p scenarios.FlowPacket, w *scenarios.Way) {
	f.acknowledge()
	switch {
	case w.Heard && p.Send != scenarios.PacketRST || f.proto != packetsim.TCP:
	case p.Send == scenarios.PacketRST && w.Heard: // both are gone
		f.close()
	case p.From == scenarios.SideServer:
		f.silence(&f.serverFD)
	default:
		f.silence(&f.clientFD)
	}
}

// acknowledge lets the sockets take what came and say so at once: to conntrack a
// connection with data that nobody has acknowledged has a short life.
func (f *keptFlow) acknowledge() {
	buf := make([]byte, 256)
	for _, fd := range []int{f.clientFD, f.serverFD} {
		if fd < 0 || f.proto != packetsim.TCP {
			continue
		}
		_, _ = unix.Read(fd, buf)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) // a socket that is gone has nothing to say
	}
}

// told reports whether a host was sent an error: an ICMP message or a reset.
func (s passages) told(h *host) bool {
	return slices.ContainsFunc(s[h], func(p *passage) bool {
		return p.local && (p.first.IsICMPError() || p.first.Proto == packetsim.TCP && p.first.TCPFlags&packetsim.RST != 0)
	})
}

// followed is what became of a later packet so far.
func (s *session) followed(f *keptFlow, p scenarios.FlowPacket, sender *host, isIt func(*capture) bool) scenarios.Way {
	seen := s.network.passages()
	first := seen.sent(sender, isIt)
	if first == nil {
		return scenarios.Way{Probability: 1, End: scenarios.Lost, Host: sender.Name, Reason: "it is not sent"}
	}
	j := seen.journey(s.network, first)
	w := j.way()
	w.Probability, w.Answered = 1, seen.told(sender)
	fromServer := p.From == scenarios.SideServer
	switch end := j.end(); w.End {
	case scenarios.Lost:
		w.Reason = s.reason(end, seen, &w)
	case scenarios.Delivered:
		from, to, at := f.saw, f.asked, f.server
		if fromServer {
			from, to, at = f.called, f.socket, f.client
		}
		w.Heard = end.host == at && w.Server == to && w.Client == from
		if !fromServer && !end.host.Listeners.Accept(f.proto, w.Server) {
			w.End = scenarios.Refused
		}
	}
	if !w.Heard {
		w.Why = "its addresses are not those of the connection"
	}
	return w
}
