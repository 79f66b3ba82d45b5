package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// SCTP is spoken over raw sockets, as few kernels have SCTP sockets: four chunks make an association, and each message is one DATA chunk,
// which is sent once.

// sctpHost is all SCTP that an agent's host listens to.
type sctpHost struct {
	agent        *Agent
	mu           sync.Mutex
	sockets      map[bool]*socket.Polled // by whether it is IPv6
	listening    map[netip.AddrPort]bool
	associations map[[2]netip.AddrPort]*sctpServed // by the own address and the other's
}

// errKernelSCTP says that this kernel answers SCTP packets itself, as soon as its module is loaded.
var errKernelSCTP = errors.New("this kernel speaks SCTP itself: unload its module sctp, or leave SCTP out")

// kernelSpeaksSCTP looks for the protocol without loading its module, as opening a socket would.
func kernelSpeaksSCTP() error {
	known, err := os.ReadFile("/proc/net/protocols")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(known)) {
		if strings.HasPrefix(line, "SCTP") {
			return errKernelSCTP
		}
	}
	return nil
}

// listen accepts associations at an address.
func (h *sctpHost) listen(at netip.AddrPort) (func(), error) {
	if err := kernelSpeaksSCTP(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	six := at.Addr().Is6()
	if h.sockets[six] == nil {
		if err := h.open(six); err != nil {
			return nil, err
		}
	}
	if h.listening == nil {
		h.listening, h.associations = map[netip.AddrPort]bool{}, map[[2]netip.AddrPort]*sctpServed{}
	}
	h.listening[at] = true
	return func() { h.leave(at) }, nil
}

// open opens the socket of a family.
func (h *sctpHost) open(six bool) error {
	s, err := sctpSocket(netip.AddrPortFrom(socket.Unspecified(six), 0))
	if err != nil {
		return err
	}
	if h.sockets == nil {
		h.sockets = map[bool]*socket.Polled{}
	}
	h.sockets[six] = s
	go receiveSCTP(s, six, h.take, func(*socket.Trouble) {})
	return nil
}

// sctpSocket is a raw socket that says where its packets went.
func sctpSocket(at netip.AddrPort) (*socket.Polled, error) {
	fd, err := socket.Open(unix.SOCK_RAW, unix.IPPROTO_SCTP, at, false)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(socket.WantDestination(fd, at.Addr().Is6()), socket.WantErrors(fd, at.Addr().Is6())); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return socket.Poll(fd)
}

// leave accepts no more at an address. The socket of a family that is not needed is closed, and the kernel refuses again.
func (h *sctpHost) leave(at netip.AddrPort) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listening, at)
	for other := range h.listening {
		if other.Addr().Is6() == at.Addr().Is6() {
			return
		}
	}
	if s := h.sockets[at.Addr().Is6()]; s != nil {
		_ = s.Close()
		delete(h.sockets, at.Addr().Is6())
	}
}

// forget drops all associations without a packet.
func (h *sctpHost) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.associations)
}

// receiveSCTP hands over packets with the payloads of their DATA chunks, and what the error queue tells, until the socket is closed.
func receiveSCTP(s *socket.Polled, six bool, take func(c *raw.Capture, data []byte), fail func(*socket.Trouble)) {
	buf, control := make([]byte, 4096), make([]byte, 128)
	for {
		var n, controlLen int
		var from unix.Sockaddr
		var trouble *socket.Trouble
		err := s.Read(func(fd int) bool {
			if t, there := socket.NextTrouble(fd); there {
				trouble = &t
				return true
			}
			var err error
			n, controlLen, _, from, err = unix.Recvmsg(fd, buf, control, 0)
			return !errors.Is(err, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return
		case trouble != nil:
			fail(trouble)
		case n > 0:
			if c, data, ok := readSCTP(six, buf[:n], control[:controlLen], from); ok {
				take(c, data)
			}
		}
	}
}

// readSCTP reads a packet as a raw socket of a family has it.
func readSCTP(six bool, packet, control []byte, from unix.Sockaddr) (c *raw.Capture, data []byte, ok bool) {
	behind := packet
	if six {
		at, _, err := socket.Destination(control)
		if err != nil {
			return nil, nil, false
		}
		c = raw.Delivered(proper(socket.AddrPort(from)).Addr(), at, inet.SCTP, packet)
	} else {
		var err error
		if c, err = raw.Parse(packet); err != nil {
			return nil, nil, false
		}
		if _, behind, err = wire.DecodeHeader(packet); err != nil {
			return nil, nil, false
		}
	}
	if c.Chunk != inet.SCTPData {
		return c, nil, true
	}
	const chunk, header = 12, 16
	if len(behind) < chunk+header {
		return nil, nil, false
	}
	size := int(binary.BigEndian.Uint16(behind[chunk+2:]))
	if size < header || chunk+size > len(behind) {
		return nil, nil, false
	}
	return c, behind[chunk+header : chunk+size], true
}

// take is what a server does with a packet.
func (h *sctpHost) take(c *raw.Capture, data []byte) {
	at, from := c.Destination(), c.Source()
	h.mu.Lock()
	here := h.listening[at] || h.listening[netip.AddrPortFrom(socket.Unspecified(at.Addr().Is6()), at.Port())]
	key := [2]netip.AddrPort{at, from}
	served := h.associations[key]
	if c.Chunk == inet.SCTPInit && here {
		served = &sctpServed{own: c.Ack ^ ^uint32(0) | 1, peer: c.Ack}
		served.p = &peer{agent: h.agent, proto: inet.SCTP, local: at, remote: from, way: served}
		h.associations[key] = served
	}
	h.mu.Unlock()
	switch {
	case c.Chunk == inet.SCTPInit && !here:
		_ = sendChunk(at, from, raw.Tell{Seq: c.Ack, Chunk: inet.SCTPAbort}) // whoever called hears nothing then
	case served == nil, c.Chunk != inet.SCTPInit && c.Seq != served.own: // of an association that was before
	case c.Chunk == inet.SCTPInit:
		_ = sendChunk(at, from, raw.Tell{Seq: served.peer, Ack: served.own, Chunk: inet.SCTPInitAck})
	case c.Chunk == inet.SCTPCookieEcho:
		_ = sendChunk(at, from, raw.Tell{Seq: served.peer, Chunk: inet.SCTPCookieAck})
	case c.Chunk == inet.SCTPData:
		served.p.takeText(data)
	case c.Chunk == inet.SCTPAbort:
		h.mu.Lock()
		delete(h.associations, key)
		h.mu.Unlock()
		served.p.note(scenarios.PacketRST, "", at, from)
		served.p.finish(Result{End: Refused, With: withAbort})
	}
}

// takeText is take for a message that was not read yet.
func (p *peer) takeText(text []byte) {
	if m, err := parseMessage(text); err == nil {
		p.take(m, p.local, p.remote)
	}
}

// sendChunk sends a packet of one chunk.
func sendChunk(from, to netip.AddrPort, t raw.Tell) error {
	return raw.Inject(raw.Craft(&inet.Packet{
		Proto: inet.SCTP, Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port(),
	}, t), to.Addr(), 0)
}

// sctpServed is the server's end of an association.
type sctpServed struct {
	p         *peer
	own, peer uint32 // the tags that packets to each end carry
	numbers   sctpNumbers
}

// sctpNumbers counts DATA chunks.
type sctpNumbers struct {
	mu   sync.Mutex
	last uint32
}

func (n *sctpNumbers) next() uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	return n.last
}

func (w *sctpServed) send(message []byte) error {
	return sendChunk(w.p.local, w.p.remote, raw.Tell{Seq: w.peer, Ack: w.numbers.next(), Chunk: inet.SCTPData, Payload: message})
}

func (w *sctpServed) end(ending) {}

// sctpWay is the client's end of an association.
type sctpWay struct {
	p         *peer
	socket    *socket.Polled
	own, peer uint32
	numbers   sctpNumbers
	made      chan Result // what came of the handshake
}

// openSCTP makes an association.
func (p *peer) openSCTP(ctx context.Context, d Dial) (*peer, Result) {
	if err := kernelSpeaksSCTP(); err != nil {
		return nil, Result{End: Failed, Why: err.Error()}
	}
	bind := bindTo(d.From, d.To)
	fd, result := openSocket(unix.SOCK_RAW, unix.IPPROTO_SCTP, netip.AddrPortFrom(bind.Addr(), 0), d.To)
	if fd < 0 {
		return nil, result
	}
	port := bind.Port()
	if port == 0 {
		port = p.agent.clientPort() // a node remembers an association for some seconds after its end
	}
	p.local = netip.AddrPortFrom(localOf(fd).Addr(), port)
	if err := socket.WantDestination(fd, d.To.Addr().Is6()); err != nil {
		_ = unix.Close(fd)
		return nil, Result{End: Failed, Why: err.Error()}
	}
	s, err := socket.Poll(fd)
	if err != nil {
		return nil, Result{End: Failed, Why: err.Error()}
	}
	w := &sctpWay{p: p, socket: s, own: uint32(p.agent.echoID())<<16 | uint32(port), made: make(chan Result, 1)}
	p.way = w
	p.agent.enter(p)
	go receiveSCTP(s, d.To.Addr().Is6(), w.take, w.fail)
	if result := w.associate(ctx); result.End != Answered {
		w.end(quietly)
		result.From = p.local
		return nil, result
	}
	return p, Result{}
}

// associate makes the association: Answered says that it is there.
func (w *sctpWay) associate(ctx context.Context) Result {
	if err := sendChunk(w.p.local, w.p.remote, raw.Tell{Chunk: inet.SCTPInit, Ack: w.own}); err != nil {
		return Result{End: Failed, Why: fmt.Sprintf("send an INIT: %v", err)}
	}
	select {
	case result := <-w.made:
		return result
	case <-ctx.Done():
		return Result{End: Silent}
	}
}

// settle says what came of the handshake. Later ones are of no interest.
func (w *sctpWay) settle(r Result) {
	select {
	case w.made <- r:
	default:
	}
}

// fail tells of an ICMP error about this association, after which it goes on.
func (w *sctpWay) fail(t *socket.Trouble) {
	ports := binary.BigEndian.AppendUint16(nil, w.p.local.Port())
	if !t.IsAbout(w.p.remote.Addr(), 0, binary.BigEndian.AppendUint16(ports, w.p.remote.Port())) {
		return
	}
	r := troubleOf(*t, w.p.remote.Addr().Is6())
	w.settle(r)
	w.p.fail(r)
}

func (w *sctpWay) finish(r Result) {
	w.settle(r)
	w.p.finish(r)
}

// take is what a client does with a packet.
func (w *sctpWay) take(c *raw.Capture, data []byte) {
	if c.Source() != w.p.remote || c.Destination() != w.p.local || c.Seq != w.own {
		return
	}
	switch c.Chunk {
	case inet.SCTPInitAck:
		w.peer = c.Ack
		_ = sendChunk(w.p.local, w.p.remote, raw.Tell{Seq: w.peer, Chunk: inet.SCTPCookieEcho}) // no answer comes then
	case inet.SCTPCookieAck:
		w.settle(Result{End: Answered})
	case inet.SCTPAbort:
		w.p.note(scenarios.PacketRST, "", w.p.local, w.p.remote)
		w.finish(Result{End: Refused, With: withAbort})
	case inet.SCTPData:
		w.p.takeText(data)
	}
}

func (w *sctpWay) send(message []byte) error {
	return sendChunk(w.p.local, w.p.remote, raw.Tell{Seq: w.peer, Ack: w.numbers.next(), Chunk: inet.SCTPData, Payload: message})
}

func (w *sctpWay) end(how ending) {
	w.p.agent.leave(w.p)
	if how != quietly {
		_ = sendChunk(w.p.local, w.p.remote, raw.Tell{Seq: w.peer, Chunk: inet.SCTPAbort}) // the other end keeps it, then
	}
	_ = w.socket.Close()
}
