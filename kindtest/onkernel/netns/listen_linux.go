package netns

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	simnet "github.com/chainwalk/chainwalk/packetsim/network"
)

// socketKey is what a listening socket is bound to.
type socketKey struct {
	proto inet.Proto
	netip.AddrPort
}

// listen opens the socket of a host for a protocol, address and port, if it is not open.
func (h *host) listen(key socketKey) error {
	if _, ok := h.sockets[key]; ok {
		return nil
	}
	fd := -1
	err := h.ns.Do(func() (err error) {
		switch key.proto {
		case inet.TCP:
			if fd, err = socket.Open(unix.SOCK_STREAM, unix.IPPROTO_TCP, key.AddrPort, true); err == nil {
				err = unix.Listen(fd, 128)
			}
		case inet.UDP:
			if fd, err = socket.Open(unix.SOCK_DGRAM, unix.IPPROTO_UDP, key.AddrPort, true); err == nil {
				err = socket.WantDestination(fd, key.Addr().Is6())
			}
		case inet.SCTP: // only so that the kernel does not refuse: see speakSCTP
			fd, err = socket.Open(unix.SOCK_RAW, unix.IPPROTO_SCTP, netip.AddrPortFrom(key.Addr(), 0), false)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: listen on %s %s: %w", h.Name, key.proto, key.AddrPort, err)
	}
	h.sockets[key] = fd
	return nil
}

// openFor opens the sockets that a connection can come to: those that the plan
// names, and where a host answers on every port, the ports of endpoints and the one
// that is called.
func (s *session) openFor(proto inet.Proto, called netip.AddrPort) error {
	if !proto.HasPorts() {
		return nil // the kernel itself answers
	}
	for _, h := range s.network.hosts {
		for _, l := range h.Listeners {
			for _, key := range s.keysOf(l, proto, called) {
				if err := h.listen(key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keysOf are the sockets that a listener has for a protocol and the family of the address that is called.
func (s *session) keysOf(l simnet.Listener, proto inet.Proto, called netip.AddrPort) (keys []socketKey) {
	v6 := called.Addr().Is6()
	if l.Proto != 0 && l.Proto != proto || l.Addr.IsValid() && l.Addr.Is6() != v6 {
		return nil
	}
	at := l.Addr
	if !at.IsValid() {
		at = socket.Unspecified(v6)
	}
	ports := []uint16{l.Port}
	if l.Port == 0 {
		ports = append(s.ports.of(proto), called.Port())
	}
	for _, port := range ports {
		if proto == inet.SCTP {
			port = 0 // a raw socket is for all ports
		}
		keys = append(keys, socketKey{proto, netip.AddrPortFrom(at, port)})
	}
	return keys
}

// reopen closes a listening socket and with it all handshakes that were begun on it.
func (h *host) reopen(proto inet.Proto, at netip.AddrPort) error {
	for _, addr := range []netip.Addr{at.Addr(), socket.Unspecified(at.Addr().Is6())} {
		key := socketKey{proto, netip.AddrPortFrom(addr, at.Port())}
		if fd, ok := h.sockets[key]; ok {
			delete(h.sockets, key)
			socket.Reset(fd)
			if err := h.listen(key); err != nil {
				return err
			}
		}
	}
	return nil
}
