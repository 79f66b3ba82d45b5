package netns

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// keptFlow is a connection that later steps come back to. Its later packets are
// those of its sockets, as long as they are there; what sockets do not send, such as
// a segment out of the window, or data after a FIN, is crafted.
type keptFlow struct {
	client, server *host // no server if none was reached
	proto          inet.Proto
	via            string
	// socket is the client's own address and called the one that it calls; asked and
	// saw are the same at the server's end.
	socket, called, asked, saw netip.AddrPort
	clientNext, serverNext     uint32 // TCP: the numbers of the next bytes
	clientTag, serverTag       uint32 // SCTP: what packets to each end carry
	id                         uint16 // ICMP
	clientFD, serverFD         int    // the TCP sockets, and the client's of other protocols; -1 if there is none
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
	if c.fd >= 0 && (c.proto != inet.TCP || c.asked) {
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
			socket.CloseSilently(g.fd)
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
			next := one.Seq + uint32(max(one.Payload, 0))
			if one.TCPFlags&(inet.SYN|inet.FIN) != 0 {
				next++
			}
			switch {
			case h == f.client && one.Source() == f.socket && one.Destination() == f.called:
				f.clientNext = later(f.clientNext, next)
				f.id = one.ICMPID
			case h == f.server && one.Source() == f.asked && one.Destination() == f.saw:
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

// acknowledge lets the sockets take what came and say so at once: to conntrack a
// connection with data that nobody has acknowledged has a short life.
func (f *keptFlow) acknowledge() {
	buf := make([]byte, 256)
	for _, fd := range []int{f.clientFD, f.serverFD} {
		if fd < 0 || f.proto != inet.TCP {
			continue
		}
		_, _ = unix.Read(fd, buf)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) // a socket that is gone has nothing to say
	}
}

// silence closes a socket that would go on to send what did not arrive.
func (f *keptFlow) silence(fd *int) {
	if *fd >= 0 {
		socket.CloseSilently(*fd)
		*fd = -1
	}
}

func (f *keptFlow) close() {
	f.silence(&f.clientFD)
	f.silence(&f.serverFD)
}
