package probe

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// openDatagrams opens a socket for UDP or echo requests, to one address.
func (p *peer) openDatagrams(d Dial) (*peer, Result) {
	kind, proto, bind := unix.SOCK_DGRAM, unix.IPPROTO_UDP, bindTo(d.From, d.To)
	if d.Proto.IsICMP() {
		kind, proto, bind = unix.SOCK_RAW, int(d.Proto), netip.AddrPortFrom(bind.Addr(), 0)
	}
	to := d.To
	fd, result := openSocket(kind, proto, bind, to)
	if fd < 0 {
		return nil, result
	}
	p.local = localOf(fd)
	s, err := socket.Poll(fd)
	if err != nil {
		return nil, Result{End: Failed, Why: err.Error()}
	}
	w := &datagramWay{p: p, socket: s}
	if d.Proto.IsICMP() {
		p.local = netip.AddrPortFrom(p.local.Addr(), 0)
		w.id = d.From.Port()
		if w.id == 0 {
			w.id = p.agent.echoID()
		}
	}
	p.way = w
	p.agent.enter(p)
	go w.listen()
	return p, Result{}
}

// echoID chooses an identifier for echo requests.
func (a *Agent) echoID() uint16 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens++
	return uint16(a.tokens%0xffff + 1)
}

// datagramWay is the client's socket of UDP or ICMP.
type datagramWay struct {
	p      *peer
	socket *socket.Polled
	id     uint16 // ICMP
}

// send sends a message. The kernel may tell with it of an earlier one, then it is sent again; a rule of this host that stops it may
// still have it answered.
func (w *datagramWay) send(message []byte) error {
	if w.p.proto.IsICMP() {
		message = wire.EncodeTransport(&inet.Packet{
			Proto: w.p.proto, ICMPType: w.p.proto.EchoRequestType(), ICMPID: w.id,
			Src: socket.Unspecified(w.p.proto == inet.ICMPv6), Dst: w.p.remote.Addr(),
		}, message)
	}
	var err error
	for range 2 {
		failed := w.socket.Control(func(fd int) { _, err = unix.Write(fd, message) })
		switch {
		case failed != nil:
			return failed
		case err == nil || errors.Is(err, unix.EPERM):
			return nil
		case !socket.IsAnswer(err):
			return err
		}
	}
	return err
}

func (w *datagramWay) end(ending) {
	w.p.agent.leave(w.p)
	_ = w.socket.Close()
}

// listen takes what comes until the socket is closed.
func (w *datagramWay) listen() {
	buf := make([]byte, 4096)
	for {
		var trouble *socket.Trouble
		n := 0
		err := w.socket.Read(func(fd int) bool {
			if t, there := socket.NextTrouble(fd); there {
				trouble = &t
				return true
			}
			var err error
			n, err = unix.Read(fd, buf)
			return !errors.Is(err, unix.EAGAIN) // an error is told by the queue as well
		})
		switch {
		case err != nil:
			return
		case trouble != nil && !w.isOwn(trouble):
		case trouble != nil:
			w.p.fail(troubleOf(*trouble, w.p.remote.Addr().Is6()))
		case n > 0:
			w.take(buf[:n])
		}
	}
}

// isOwn says whether an error is about what this socket sent, as far as it tells.
func (w *datagramWay) isOwn(t *socket.Trouble) bool {
	if !w.p.proto.IsICMP() {
		return t.IsAbout(w.p.remote.Addr(), 0, nil)
	}
	const identifier = 4 // behind type, code and checksum
	return t.IsAbout(w.p.remote.Addr(), identifier, binary.BigEndian.AppendUint16(nil, w.id))
}

func (w *datagramWay) take(b []byte) {
	if !w.p.proto.IsICMP() {
		if m, err := parseMessage(b); err == nil {
			w.p.take(m, w.p.local, w.p.remote)
		}
		return
	}
	kind, id, m, ok := echo(w.p.proto, b)
	if ok && kind != w.p.proto.EchoRequestType() && id == w.id {
		w.p.agent.hand(m.Question, Result{End: Answered, At: netip.AddrPortFrom(w.p.remote.Addr(), 0)})
	}
}

// echo reads an echo request or its reply, as a raw socket has it: IPv4 with its header.
func echo(proto inet.Proto, b []byte) (kind uint8, id uint16, m message, ok bool) {
	if proto == inet.ICMP {
		_, behind, err := wire.DecodeHeader(b)
		if err != nil {
			return 0, 0, m, false
		}
		b = behind
	}
	if len(b) <= 8 {
		return 0, 0, m, false
	}
	m, err := parseMessage(b[8:])
	c := raw.Delivered(netip.Addr{}, netip.Addr{}, proto, b)
	request := inet.Packet{Proto: proto, ICMPType: proto.EchoRequestType()}
	isEcho := c.ICMPType == request.ICMPType || c.ICMPType == request.Answer().ICMPType
	return c.ICMPType, c.ICMPID, m, err == nil && m.Question != "" && isEcho
}

// udpServed is the server's end of UDP: where a listener's datagram came to, and from.
type udpServed struct {
	conn *net.UDPConn
	info []byte // the control message that answers from there
	to   netip.AddrPort
}

func (w *udpServed) send(message []byte) error {
	_, _, err := w.conn.WriteMsgUDPAddrPort(message, w.info, w.to)
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

func (w *udpServed) end(ending) {}

// answerDatagrams answers what comes to a UDP socket, until it is closed.
func (a *Agent) answerDatagrams(conn *net.UDPConn, port uint16) {
	buf, control := make([]byte, 4096), make([]byte, 128)
	for {
		n, controlLen, _, from, err := conn.ReadMsgUDPAddrPort(buf, control)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error about an answer
		}
		m, err := parseMessage(buf[:n])
		if err != nil {
			continue
		}
		local, info, err := socket.Destination(control[:controlLen])
		if err != nil {
			continue // a datagram came without its destination address, which the socket is told to have
		}
		at, from := proper(netip.AddrPortFrom(local, port)), proper(from)
		p := &peer{agent: a, proto: inet.UDP, local: at, remote: from, way: &udpServed{conn, info, from}}
		p.take(m, at, from)
	}
}
