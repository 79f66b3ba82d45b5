package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// capture sees the packets of the agent's host.
type capture struct {
	seen    *record[sighting]
	sockets []*watched
	// devices are the names of devices that packets were seen on, by index, which the kernel gives to no other device: the socket of all
	// devices alone uses them.
	devices map[int]string
}

// watched is a socket of a capture. What waits in it is taken by who comes first: the goroutine that waits for more, or somebody who asks.
type watched struct {
	*socket.Polled
	mu           sync.Mutex
	buf, control []byte
	take         func(packet, control []byte, from unix.Sockaddr, when time.Time)
}

// takeAll takes what waits in the socket, without waiting for more.
func (w *watched) takeAll(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		n, controlLen, _, from, err := unix.Recvmsg(fd, w.buf, w.control, 0)
		if err != nil {
			return
		}
		w.take(w.buf[:n], w.control[:controlLen], from, socket.Received(w.control[:controlLen]))
	}
}

// sighting is a Sighting that is not spelled yet.
type sighting struct {
	*raw.Capture
	point  Point
	device string
	when   time.Time
}

// mostSightings is how many a capture remembers at most; the oldest go.
const mostSightings = 100_000

// mostCaptures bounds how many an agent has.
const mostCaptures = 64

// mostDeaf bounds how many captures an agent keeps open for the next that is wanted.
const mostDeaf = 2

// capture is Client.Capture.
func (a *Agent) capture(name string) error {
	c, err := a.hearing()
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	a.mu.Lock()
	before, many := a.captures[name], len(a.captures) >= mostCaptures
	if before == nil && !many {
		a.captures[name] = c
	}
	a.mu.Unlock()
	switch {
	case before != nil:
		a.deafen(c)
		return fmt.Errorf("capture %s is there already: release it first", name)
	case many:
		a.deafen(c)
		return fmt.Errorf("%d captures: release some", mostCaptures)
	}
	return nil
}

// hearing is a capture that nobody has: one that was deafened, or a new one.
func (a *Agent) hearing() (*capture, error) {
	a.mu.Lock()
	var c *capture
	if last := len(a.deaf) - 1; last >= 0 {
		c, a.deaf = a.deaf[last], a.deaf[:last]
	}
	a.mu.Unlock()
	var err error
	if c != nil {
		err = c.each(socket.Listen)
	} else {
		c = &capture{seen: newRecord[sighting](mostSightings), devices: map[int]string{}}
		err = c.open()
	}
	if err != nil {
		c.close()
	}
	return c, err
}

// deafen has a capture see nothing more, and keeps it for the next one. To close its sockets would take the kernel longer: it waits until
// none of its processors can have a packet for them.
func (a *Agent) deafen(c *capture) {
	err := c.each(socket.Deafen)
	if err == nil {
		err = c.takeAll() // what had come already
	}
	c.seen.clear()
	a.mu.Lock()
	keep := err == nil && len(a.deaf) < mostDeaf
	if keep {
		a.deaf = append(a.deaf, c)
	}
	a.mu.Unlock()
	if !keep {
		c.close()
	}
}

// each does something to each socket.
func (c *capture) each(do func(fd int) error) error {
	var errs []error
	for _, s := range c.sockets {
		errs = append(errs, s.Control(func(fd int) { errs = append(errs, do(fd)) }))
	}
	return errors.Join(errs...)
}

// takeAll takes what waits in the sockets.
func (c *capture) takeAll() error {
	for _, s := range c.sockets {
		if err := s.Control(s.takeAll); err != nil {
			return err
		}
	}
	return nil
}

// open opens the sockets: one for all devices, and one for each protocol whose packets the host takes itself.
func (c *capture) open() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, wire.AllProtocols)
	if err != nil {
		return err
	}
	if err := c.watch(fd, c.takeOnDevice); err != nil {
		return err
	}
	for _, proto := range []inet.Proto{inet.TCP, inet.UDP, inet.ICMP, inet.ICMPv6} {
		for _, six := range []bool{false, true} {
			if proto.IsICMP() && six != (proto == inet.ICMPv6) {
				continue
			}
			if err := c.openLocal(proto, six); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *capture) openLocal(proto inet.Proto, six bool) error {
	fd, err := socket.Open(unix.SOCK_RAW, int(proto), netip.AddrPortFrom(socket.Unspecified(six), 0), false)
	if err != nil {
		return err
	}
	if err := socket.WantDestination(fd, six); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return c.watch(fd, func(packet, control []byte, from unix.Sockaddr, when time.Time) {
		if !six {
			if seen, err := raw.Parse(packet); err == nil {
				c.add(seen, Local, "", when)
			}
			return
		}
		if at, _, err := socket.Destination(control); err == nil {
			c.add(raw.Delivered(proper(socket.AddrPort(from)).Addr(), at, proto, packet), Local, "", when)
		}
	})
}

// captureBuffer is what a socket holds while others have the processor.
const captureBuffer = 4 << 20

// watch hands over what comes to a socket until it is closed.
func (c *capture) watch(fd int, take func(packet, control []byte, from unix.Sockaddr, when time.Time)) error {
	err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, captureBuffer), socket.WantTimes(fd))
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	s, err := socket.Poll(fd)
	if err != nil {
		return err
	}
	w := &watched{Polled: s, buf: make([]byte, 512), control: make([]byte, 128), take: take}
	c.sockets = append(c.sockets, w)
	go func() {
		_ = s.Read(func(fd int) bool { // until the socket is closed
			w.takeAll(fd)
			return false
		})
	}()
	return nil
}

// takeOnDevice takes a packet that came in or leaves.
func (c *capture) takeOnDevice(packet, _ []byte, from unix.Sockaddr, when time.Time) {
	link, ok := from.(*unix.SockaddrLinklayer)
	if !ok {
		return
	}
	seen, err := raw.Parse(packet)
	if err != nil {
		return // ARP, or cut off
	}
	point := In
	if link.Pkttype == unix.PACKET_OUTGOING {
		point = Out
	}
	c.add(seen, point, c.deviceName(link.Ifindex), when)
}

// deviceName asks the kernel once for each device: it lists them all to tell of one.
func (c *capture) deviceName(index int) string {
	name, known := c.devices[index]
	if !known {
		name = fmt.Sprint(index) // if it is gone already
		if device, err := net.InterfaceByIndex(index); err == nil {
			name = device.Name
		}
		c.devices[index] = name
	}
	return name
}

func (c *capture) add(seen *raw.Capture, point Point, device string, when time.Time) {
	c.seen.add(func(int) sighting { return sighting{seen, point, device, when} })
}

func (c *capture) close() {
	for _, s := range c.sockets {
		_ = s.Close()
	}
}

// captured is Client.Captured.
func (a *Agent) captured(ctx context.Context, w *Captured) ([]Sighting, error) {
	refuses := func(*raw.Capture) bool { return false }
	if w.Refusing != "" {
		in, err := inet.ParseInput(w.Refusing)
		if err != nil {
			return nil, err
		}
		refuses = refusalOf(&in.Packet)
	}
	like := func(*raw.Capture) bool { return w.Print == "" && w.Refusing == "" }
	if w.Like != "" {
		in, err := inet.ParseInput(w.Like)
		if err != nil {
			return nil, err
		}
		like = likenessOf(&in.Packet)
	}
	a.mu.Lock()
	c := a.captures[w.Name]
	a.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("there is no capture %s", w.Name)
	}
	if err := c.takeAll(); err != nil { // what the kernel has handed over already is seen, however busy this program is
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.Wait)
	defer cancel()
	found := c.seen.find(ctx, w.After, func(s *sighting) bool {
		return like(s.Capture) || w.Print != "" && s.Print == w.Print || refuses(s.Capture)
	})
	all := make([]Sighting, len(found))
	for i := range found {
		all[i] = found[i].spell()
		all[i].Answer = refuses(found[i].Capture)
		all[i].Behind = all[i].Answer && c.cameIn(found[i].Print)
	}
	return all, nil
}

// likenessOf recognizes what has the same ends.
func likenessOf(p *inet.Packet) func(*raw.Capture) bool {
	return func(c *raw.Capture) bool {
		return c.Proto == p.Proto && c.Dst == p.Dst && c.DstPort == p.DstPort && c.SrcPort == p.SrcPort &&
			(!p.Src.IsValid() || p.Src.IsUnspecified() || c.Src == p.Src)
	}
}

// cameIn says whether a packet came from another host. Its print is that of what left, whatever was translated.
func (c *capture) cameIn(print string) bool {
	at := c.seen.found(func(s *sighting) bool { return s.Print == print && s.point == In && s.device != loopbackDevice })
	return len(at) > 0
}

const loopbackDevice = "lo"

// refusalOf recognizes what refuses a packet: a reset to its source, or an ICMP error about it.
func refusalOf(p *inet.Packet) func(*raw.Capture) bool {
	source := netip.AddrPortFrom(p.Src, p.SrcPort)
	return func(c *raw.Capture) bool {
		if c.Inner != nil {
			return c.Inner.Proto == p.Proto && netip.AddrPortFrom(c.Inner.Src, c.Inner.SrcPort) == source
		}
		return p.Proto == inet.TCP && c.Proto == inet.TCP && c.TCPFlags&inet.RST != 0 && c.Destination() == source &&
			c.SrcPort == p.DstPort
	}
}

// spell is a sighting as it is told.
func (s *sighting) spell() Sighting {
	shown := s.Shown()
	quoted := shown.Inner
	shown.Inner = nil
	told := Sighting{
		Point: s.point, Device: s.device, Packet: inputText(&shown), With: packetsim.ErrorName(&s.Packet), Print: s.Print, When: s.when,
	}
	if quoted != nil {
		told.Quoted = inputText(quoted)
	}
	if s.Proto == inet.TCP && s.TCPFlags&inet.RST != 0 {
		told.With = withReset
	}
	return told
}

func inputText(p *inet.Packet) string {
	return inet.Input{Packet: *p, Local: true}.String()
}

// release is Client.Release.
func (a *Agent) release(name string) error {
	a.mu.Lock()
	c := a.captures[name]
	delete(a.captures, name)
	a.mu.Unlock()
	if c != nil {
		a.deafen(c)
	}
	return nil
}
