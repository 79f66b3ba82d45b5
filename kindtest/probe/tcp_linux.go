package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// openTCP connects.
func (p *peer) openTCP(ctx context.Context, d Dial) (*peer, Result) {
	began := p.agent.clock.Now()
	fd, result := openSocket(unix.SOCK_STREAM, unix.IPPROTO_TCP, bindTo(d.From, d.To), d.To)
	if fd < 0 {
		return nil, result
	}
	p.local = localOf(fd)
	s, err := socket.Poll(fd)
	if err != nil {
		return nil, Result{End: Failed, Why: err.Error()}
	}
	if result := connected(ctx, s, d.To.Addr().Is6()); result.End != "" {
		_ = s.Close()
		result.From = p.local
		return nil, result
	}
	if d.First && cameAgain(s, p.agent.clock.Since(began)) {
		_ = s.Close()
		return nil, Result{End: Silent, From: p.local}
	}
	conn, err := s.Conn()
	if err != nil {
		return nil, Result{End: Failed, Why: err.Error()}
	}
	p.startTCP(conn.(*net.TCPConn))
	return p, Result{}
}

// openSocket opens a socket for a client, which hears of ICMP errors, and connects it. A connection may be under way then. Without a socket
// the result says why.
func openSocket(kind, proto int, bind, to netip.AddrPort) (int, Result) {
	fd, err := socket.Open(kind, proto, bind, false)
	if err != nil {
		return -1, Result{End: Failed, Why: fmt.Sprintf("bind to %s: %v", bind, err)}
	}
	if err = socket.WantErrors(fd, to.Addr().Is6()); err == nil {
		err = unix.Connect(fd, socket.Address(to))
	}
	if err == nil || errors.Is(err, unix.EINPROGRESS) {
		return fd, Result{}
	}
	result := errorOf(err)
	if t, there := socket.NextTrouble(fd); there {
		result = troubleOf(t, to.Addr().Is6())
	}
	result.From = localOf(fd)
	_ = unix.Close(fd)
	return -1, result
}

func localOf(fd int) netip.AddrPort {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}
	}
	return proper(socket.AddrPort(name))
}

// connected waits until a socket is connected. Otherwise the result says what came instead.
func connected(ctx context.Context, s *socket.Polled, six bool) (result Result) {
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := s.Write(func(fd int) bool {
		if t, there := socket.NextTrouble(fd); there {
			result = troubleOf(t, six)
			return true
		}
		if code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && code != 0 {
			result = errorOf(unix.Errno(code))
			return true
		}
		_, err := unix.Getpeername(fd)
		return err == nil
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Result{End: Silent}
	case err != nil:
		return Result{End: Failed, Why: err.Error()}
	}
	return result
}

// repeats is how soon a kernel sends the first packet of a TCP connection again (TCP_TIMEOUT_INIT in include/net/tcp.h).
const repeats = time.Second

// cameAgain reports whether a connection, which was made within this time, came of a packet that was sent again. The round trip is that
// of the packet that was answered, which the answer's time stamp tells: of one that is only slow it is as long as the connection took.
func cameAgain(s *socket.Polled, took time.Duration) (again bool) {
	err := s.Control(func(fd int) {
		info, err := unix.GetsockoptTCPInfo(fd, unix.SOL_TCP, unix.TCP_INFO)
		again = err == nil && info.Total_retrans > 0 && time.Duration(info.Rtt)*time.Microsecond < took-repeats/2
	})
	return err == nil && again
}

// tcpWay is a TCP connection.
type tcpWay struct {
	p    *peer
	conn *net.TCPConn
	// otherEnded says that the other end has sent a FIN.
	otherEnded atomic.Bool

	mu sync.Mutex
	// behindFIN are the numbers of what may come after a FIN; nil before one. expects says that the other end's FIN was still to come then.
	behindFIN *raw.Tell
	expects   bool
}

// startTCP lets a peer speak over a connection that is there.
func (p *peer) startTCP(conn *net.TCPConn) {
	p.local, p.remote = proper(conn.LocalAddr().(*net.TCPAddr).AddrPort()), proper(conn.RemoteAddr().(*net.TCPAddr).AddrPort())
	w := &tcpWay{p: p, conn: conn}
	p.way = w
	p.agent.enter(p)
	go w.talk()
}

// talk takes what comes until the connection ends.
func (w *tcpWay) talk() {
	p := w.p
	lines := bufio.NewScanner(w.conn)
	lines.Buffer(make([]byte, 0, maxMessage), maxMessage)
	for lines.Scan() {
		m, err := parseMessage(lines.Bytes())
		if err != nil {
			p.finish(Result{End: Answered, Why: fmt.Sprintf("it is no agent that says %.40q", lines.Text())})
			w.end(byReset)
			return
		}
		p.take(m, p.local, p.remote)
	}
	switch err := lines.Err(); {
	case err == nil:
		w.otherEnded.Store(true)
		p.note(scenarios.PacketFIN, "", p.local, p.remote)
		p.finish(Result{End: Answered, Why: "the other end closes the connection without an answer"})
	case errors.Is(err, net.ErrClosed):
		p.finish(Result{End: Failed, Why: err.Error()})
		return
	case errors.Is(err, unix.ECONNRESET):
		p.note(scenarios.PacketRST, "", p.local, p.remote)
		p.finish(errorOf(err))
	default:
		p.finish(errorOf(err))
	}
	if p.end.conn == "" {
		w.end(normally)
	}
}

// writeTimeout is how long a full connection may hold up an agent.
const writeTimeout = 5 * time.Second

func (w *tcpWay) send(message []byte) error {
	err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = w.conn.Write(message)
	}
	return err
}

func (w *tcpWay) end(how ending) {
	w.p.agent.leave(w.p)
	switch how {
	case quietly:
		_ = w.control(func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1) })
	case byReset:
		_ = w.conn.SetLinger(0)
	}
	_ = w.conn.Close()
}

// control calls f with the socket.
func (w *tcpWay) control(f func(fd int) error) error {
	conn, err := w.conn.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(conn.Control(func(fd uintptr) { err = f(int(fd)) }), err)
}

// lookAgain is how often the kernel is asked whether a FIN was acknowledged, of which it tells nobody.
const lookAgain = 2 * time.Millisecond

// sendFIN sends a FIN, and waits until it is acknowledged.
func (w *tcpWay) sendFIN(ctx context.Context) Result {
	if seq, ack, err := w.numbers(); err == nil { // who may not ask for them sends nothing behind the FIN
		w.mu.Lock()
		w.behindFIN, w.expects = &raw.Tell{Seq: seq + 1, Ack: ack}, !w.otherEnded.Load()
		w.mu.Unlock()
	}
	if err := w.conn.CloseWrite(); err != nil {
		return Result{End: Failed, Why: err.Error()}
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		state, err := w.state()
		switch {
		case err != nil:
			return Result{End: Failed, Why: err.Error()}
		case state == stateFinWait2 || state == stateTimeWait:
			return Result{End: Answered}
		case state == stateClose:
			return w.closed()
		}
		select {
		case <-ctx.Done():
			return Result{End: Silent}
		case <-again.C:
		}
	}
}

// The states of a TCP socket that matter here (net/tcp_states.h).
const (
	stateFinWait2 = 5
	stateTimeWait = 6
	stateClose    = 7
)

func (w *tcpWay) state() (state uint8, err error) {
	err = w.control(func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			state = info.State
		}
		return err
	})
	return state, err
}

// closed says why a socket is closed: both ends have said that they end, or one was reset.
func (w *tcpWay) closed() Result {
	result := Result{End: Answered}
	err := w.control(func(fd int) error {
		code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			result = errorOf(unix.Errno(code))
		}
		return err
	})
	if err != nil {
		return Result{End: Failed, Why: err.Error()}
	}
	return result
}

// sendReset sends a reset.
func (w *tcpWay) sendReset() Result {
	w.end(byReset)
	return Result{End: Sent}
}

// outOfWindow is how far from its place a segment is that no window holds.
const outOfWindow = 1 << 30

// numbers are the sequence numbers of the next byte to send and of the next expected one.
func (w *tcpWay) numbers() (seq, ack uint32, err error) {
	err = w.control(func(fd int) (err error) {
		seq, ack, err = socket.Numbers(fd)
		return err
	})
	if err != nil {
		err = fmt.Errorf("numbers of the connection: %w", err)
	}
	return seq, ack, err
}

// sendOutOfWindow sends a segment that the other end does not expect, beside the socket.
func (w *tcpWay) sendOutOfWindow() (Result, error) {
	seq, ack, err := w.numbers()
	if err != nil {
		return Result{}, err
	}
	return w.sendPastSocket(inet.PSH|inet.ACK, raw.Tell{Seq: seq + outOfWindow, Ack: ack, Payload: []byte(w.p.agent.token())})
}

// sendBehindFIN sends all that a TCP can still say after its FIN, an acknowledgement; false before a FIN.
func (w *tcpWay) sendBehindFIN() (result Result, sent bool, err error) {
	w.mu.Lock()
	tell, expects := w.behindFIN, w.expects
	w.mu.Unlock()
	if tell == nil {
		return Result{}, false, nil
	}
	now := *tell
	if expects && w.otherEnded.Load() {
		now.Ack++
	}
	result, err = w.sendPastSocket(inet.ACK, now)
	return result, true, err
}

// sendPastSocket sends a segment of the connection past the socket. The Result's Token is its print.
func (w *tcpWay) sendPastSocket(flags inet.TCPFlags, tell raw.Tell) (Result, error) {
	packet := raw.Craft(&inet.Packet{
		Proto: inet.TCP, Src: w.p.local.Addr(), SrcPort: w.p.local.Port(), Dst: w.p.remote.Addr(), DstPort: w.p.remote.Port(), TCPFlags: flags,
	}, tell)
	print, err := raw.Parse(packet)
	if err == nil {
		err = raw.Inject(packet, w.p.remote.Addr(), 0)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{End: Sent, Token: print.Print}, nil
}
