package probe

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// mostListeners bounds what one agent listens on.
const mostListeners = 4096

// Serve is Client.Serve, for who has the agent in hand.
func (a *Agent) Serve(wanted []Listener) error {
	a.serving.Lock()
	defer a.serving.Unlock()
	if len(wanted) > mostListeners {
		return fmt.Errorf("%d listeners: the most are %d", len(wanted), mostListeners)
	}
	a.mu.Lock()
	before := maps.Clone(a.listeners)
	a.mu.Unlock()
	opened, err := a.listenOn(before, wanted)
	if err != nil {
		for _, closeIt := range opened {
			closeIt()
		}
		return err
	}
	now := map[Listener]func(){}
	for _, l := range wanted {
		if closeIt, stays := before[l]; stays {
			now[l] = closeIt
			delete(before, l)
		}
	}
	maps.Copy(now, opened)
	a.mu.Lock()
	a.listeners = now
	a.mu.Unlock()
	for _, closeIt := range before {
		closeIt()
	}
	return nil
}

// listenOn opens those that are not open.
func (a *Agent) listenOn(open map[Listener]func(), wanted []Listener) (map[Listener]func(), error) {
	opened := map[Listener]func(){}
	for _, l := range wanted {
		if open[l] != nil || opened[l] != nil {
			continue
		}
		closeIt, err := a.listen(l)
		if err != nil {
			return opened, fmt.Errorf("listen on %s %s: %w", l.Proto, netip.AddrPortFrom(l.Addr, l.Port), err)
		}
		opened[l] = closeIt
	}
	return opened, nil
}

// listen opens one listener.
func (a *Agent) listen(l Listener) (closeIt func(), err error) {
	at := netip.AddrPortFrom(l.Addr, l.Port)
	if !l.Addr.IsValid() {
		return nil, errors.New("no address: want one, or the unspecified one of a family")
	}
	if err := checkProto("listen", l.Proto, at); err != nil {
		return nil, err
	}
	switch l.Proto {
	case inet.TCP:
		return a.listenTCP(at)
	case inet.UDP:
		return a.listenUDP(at)
	case inet.SCTP:
		return a.sctp.listen(at)
	}
	return a.listenEchoes(l.Proto, at)
}

func (a *Agent) listenTCP(at netip.AddrPort) (func(), error) {
	fd, err := socket.Open(unix.SOCK_STREAM, unix.IPPROTO_TCP, at, true)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), at.String())
	defer func() { _ = file.Close() }()
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return nil, err
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	go a.accept(listener)
	return func() { _ = listener.Close() }, nil
}

// accept lets a peer speak on each connection that comes.
func (a *Agent) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			(&peer{agent: a, proto: inet.TCP}).startTCP(conn.(*net.TCPConn))
		}
	}
}

// datagramsBehind is how much of what comes to a listener of UDP may wait to be read. Clients send hundreds of questions at once, each of
// them is some 800 bytes to the kernel, and of what has no room nobody hears.
const datagramsBehind = 8 << 20

func (a *Agent) listenUDP(at netip.AddrPort) (func(), error) {
	fd, err := socket.Open(unix.SOCK_DGRAM, unix.IPPROTO_UDP, at, true)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), at.String())
	defer func() { _ = file.Close() }()
	if err := errors.Join(socket.WantDestination(fd, at.Addr().Is6()), socket.ReadBehind(fd, datagramsBehind)); err != nil {
		return nil, err
	}
	conn, err := net.FilePacketConn(file)
	if err != nil {
		return nil, err
	}
	go a.answerDatagrams(conn.(*net.UDPConn), at.Port())
	return func() { _ = conn.Close() }, nil
}

// listenEchoes records echo requests, which the kernel answers.
func (a *Agent) listenEchoes(proto inet.Proto, at netip.AddrPort) (func(), error) {
	fd, err := socket.Open(unix.SOCK_RAW, int(proto), at, false)
	if err != nil {
		return nil, err
	}
	s, err := socket.Poll(fd)
	if err == nil && proto == inet.ICMPv6 {
		err = errors.Join(s.Control(func(fd int) { err = socket.WantDestination(fd, true) }), err)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	go a.recordEchoes(proto, s)
	return func() { _ = s.Close() }, nil
}

func (a *Agent) recordEchoes(proto inet.Proto, s *socket.Polled) {
	buf, control := make([]byte, 4096), make([]byte, 128)
	for {
		n, controlLen, from, err := s.Receive(buf, control)
		if err != nil {
			return
		}
		kind, _, m, ok := echo(proto, buf[:n])
		if !ok || kind != proto.EchoRequestType() {
			continue
		}
		at := destinationOf(proto, buf[:n], control[:controlLen])
		a.note(Arrival{
			Proto: proto, Kind: scenarios.PacketData, Token: m.Question, At: netip.AddrPortFrom(at, 0),
			Client: netip.AddrPortFrom(proper(socket.AddrPort(from)).Addr(), 0),
		})
	}
}

// destinationOf is where a packet went that a raw socket has: by IPv4's header, or what the kernel says beside an IPv6 packet.
func destinationOf(proto inet.Proto, packet, control []byte) netip.Addr {
	if proto == inet.ICMPv6 {
		at, _, err := socket.Destination(control)
		if err != nil {
			return netip.Addr{}
		}
		return at
	}
	h, _, err := wire.DecodeHeader(packet)
	if err != nil {
		return netip.Addr{}
	}
	return h.Dst
}
