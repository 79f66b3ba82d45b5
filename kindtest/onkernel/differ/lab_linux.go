package differ

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// lab is a node between a client and a server on the real kernel. Client and server have no addresses: their packets are
// written to the wire and read from it, and nothing of them answers by itself.
type lab struct {
	dialect netfilter.Dialect
	node    *namespace.Namespace
	sides   map[string]*side
	raw     map[netfilter.Family]int
	silent  []int // sockets that nobody reads
	tracer  tracer
	nextID  uint16
	mixed   bool // the node has rules of the other dialect
}

// side is the client or the server.
type side struct {
	name  string
	place *namespace.Namespace
	index int // of its device
	fd    int // of the packet socket on its device
}

// sideName is the only device of client and server.
const sideName = "eth0"

func (s *side) nodeDev() string {
	if s.name == clientPlace {
		return clientDev
	}
	return serverDev
}

// newLab builds the namespaces. The machine's lock must be held.
func newLab(d netfilter.Dialect) (*lab, error) {
	l := &lab{dialect: d, sides: map[string]*side{}, raw: map[netfilter.Family]int{}, nextID: 0x4000}
	if err := l.build(); err != nil {
		l.close()
		return nil, fmt.Errorf("building the lab: %w", err)
	}
	return l, nil
}

func (l *lab) build() (err error) {
	if l.node, err = namespace.New(); err != nil {
		return err
	}
	if err := l.quietIPv6(l.node); err != nil {
		return err
	}
	for _, name := range []string{clientPlace, serverPlace} {
		if err := l.addSide(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, value := range sysctls() {
		if err := setSysctl(l.node, name, value); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
	if err := l.node.Do(l.addRoutes); err != nil {
		return err
	}
	for f, domain := range map[netfilter.Family]int{netfilter.IPv4: unix.AF_INET, netfilter.IPv6: unix.AF_INET6} {
		if l.raw[f], err = l.node.Socket(domain, unix.SOCK_RAW, unix.IPPROTO_RAW); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(l.raw[f], unix.SOL_SOCKET, unix.SO_BROADCAST, 1); err != nil {
			return err
		}
	}
	if err := l.silenceProtocols(); err != nil {
		return err
	}
	if err := l.join(); err != nil {
		return fmt.Errorf("joining groups: %w", err)
	}
	if err := l.waitQuiet(); err != nil {
		return err
	}
	if err := errors.Join(l.node.Do(askForNobody), l.node.Do(orderGroupRoutes)); err != nil {
		return err
	}
	l.tracer, err = newTracer(l)
	return err
}

// quietIPv6 keeps the namespace's devices from speaking by themselves.
func (l *lab) quietIPv6(p *namespace.Namespace) error {
	for name, value := range map[string]string{
		"net.ipv6.conf.default.accept_dad": "0", "net.ipv6.conf.default.dad_transmits": "0", "net.ipv6.conf.default.accept_ra": "0",
		"net.ipv6.conf.default.router_solicitations": "0", "net.ipv6.conf.default.addr_gen_mode": "1", "net.ipv6.mld_qrv": "1",
		"net.ipv6.conf.default.mldv1_unsolicited_report_interval": "1", "net.ipv6.conf.default.mldv2_unsolicited_report_interval": "1",
	} {
		if err := setSysctl(p, name, value); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
	return p.Do(func() error { return up("lo") })
}

// setSysctl sets a sysctl of a namespace. One that this kernel does not have is no error: it has nothing to switch off.
func setSysctl(n *namespace.Namespace, name, value string) error {
	err := n.SetSysctl(name, value)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// addSide makes the client or the server and its wire to the node.
func (l *lab) addSide(name string) (err error) {
	s := &side{name: name, fd: -1}
	l.sides[name] = s
	if s.place, err = namespace.New(); err != nil {
		return err
	}
	for _, c := range []string{"all", "default"} {
		if err := setSysctl(s.place, "net.ipv6.conf."+c+".disable_ipv6", "1"); err != nil {
			return err
		}
	}
	err = l.node.Do(func() error {
		veth := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: s.nodeDev(), HardwareAddr: nodeMAC(name)},
			PeerName:  sideName, PeerNamespace: netlink.NsFd(s.place.FD()), PeerHardwareAddr: sideMAC(name),
		}
		return netlink.LinkAdd(veth)
	})
	if err != nil {
		return fmt.Errorf("making its wire: %w", err)
	}
	if err := s.place.Do(func() error { return up(sideName) }); err != nil {
		return err
	}
	if err := l.node.Do(func() error { return l.addAddresses(s) }); err != nil {
		return fmt.Errorf("addresses of %s: %w", s.nodeDev(), err)
	}
	return s.open()
}

// open opens the packet socket by which the side sends and hears.
func (s *side) open() (err error) {
	if s.fd, err = s.place.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, wire.AllProtocols); err != nil {
		return err
	}
	return s.place.Do(func() error {
		dev, err := net.InterfaceByName(sideName)
		if err != nil {
			return err
		}
		s.index = dev.Index
		return unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: wire.AllProtocols, Ifindex: dev.Index})
	})
}

// addAddresses gives the node's device its addresses.
func (l *lab) addAddresses(s *side) error {
	link, err := netlink.LinkByName(s.nodeDev())
	if err != nil {
		return err
	}
	for f, w := range worlds {
		address, bits := w.node[0], 24
		if s.name == serverPlace {
			address = w.node[1]
		}
		if f == netfilter.IPv6 {
			bits = 64
		}
		a := &netlink.Addr{IPNet: socket.IPNet(netip.PrefixFrom(address, bits))}
		if f == netfilter.IPv6 {
			a.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(link, a); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
	}
	return netlink.LinkSetUp(link)
}

// addRoutes gives the node the routes that newHost has.
func (l *lab) addRoutes() error {
	for _, w := range worlds {
		for dst, r := range map[string]netlink.Route{
			w.networks[2].String(): {Gw: w.gateway.AsSlice()},
			w.blackhole.String():   {Type: unix.RTN_BLACKHOLE},
			w.prohibited.String():  {Type: unix.RTN_PROHIBIT},
		} {
			_, network, err := net.ParseCIDR(dst)
			if err != nil {
				return err
			}
			r.Dst = network
			if err := netlink.RouteAdd(&r); err != nil {
				return fmt.Errorf("route %s: %w", dst, err)
			}
		}
		if err := w.routeMarked(); err != nil {
			return err
		}
	}
	return nil
}

// routeMarked gives packets with the mark a table of their own.
func (w *world) routeMarked() error {
	types := map[packetsim.RouteType]int{
		"": unix.RTN_UNICAST, packetsim.RouteUnreachable: unix.RTN_UNREACHABLE, packetsim.RouteProhibit: unix.RTN_PROHIBIT,
		packetsim.RouteBlackhole: unix.RTN_BLACKHOLE,
	}
	for _, r := range w.markedRoutes() {
		route := netlink.Route{Dst: socket.IPNet(r.Dst), Table: int(r.Table), Type: types[r.Type], Gw: r.Via.AsSlice()}
		if r.Dev != "" {
			link, err := netlink.LinkByName(r.Dev)
			if err != nil {
				return err
			}
			route.LinkIndex = link.Attrs().Index
		}
		if err := netlink.RouteAdd(&route); err != nil {
			return fmt.Errorf("route %s of table %s: %w", r.Dst, r.Table, err)
		}
	}
	rule := netlink.NewRule()
	rule.Family, rule.Priority, rule.Table = socket.Domain(w.family == netfilter.IPv6), routedPriority, int(routedTable)
	mask := uint32(routedMark)
	rule.Mark, rule.Mask = routedMark, &mask
	if err := netlink.RuleAdd(rule); err != nil {
		return fmt.Errorf("the rule of the routing policy: %w", err)
	}
	return nil
}

// silenceProtocols opens raw sockets for the protocols without ports, so that the node does not call them unreachable.
func (l *lab) silenceProtocols() error {
	for _, domain := range []int{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range silentProtocols {
			fd, err := l.node.Socket(domain, unix.SOCK_RAW, protocol)
			if err != nil {
				return fmt.Errorf("raw socket of protocol %d: %w", protocol, err)
			}
			l.silent = append(l.silent, fd)
			// A filter that takes nothing, since it is never read. A socket with a full buffer would not count as listening.
			none := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
			err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &none})
			if err != nil {
				return fmt.Errorf("filter of protocol %d: %w", protocol, err)
			}
		}
	}
	return nil
}

// askForNobody keeps the node's devices from asking for neighbours: whatever address is behind one, its side gets the packet. The kernel
// has joined the groups in which the node's own addresses are asked for by then.
func askForNobody() error {
	for _, dev := range []string{clientDev, serverDev} {
		link, err := netlink.LinkByName(dev)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetARPOff(link); err != nil {
			return err
		}
	}
	return nil
}

// silentProtocols are those to which a socket of the node listens, without an answer.
var silentProtocols = []int{47, 99, unix.IPPROTO_SCTP, unix.IPPROTO_ESP, unix.IPPROTO_AH}

// quietLooks is how often in a row nothing must have been sent: multicast reports come some hundred milliseconds after each other.
const quietLooks = 10

// waitQuiet waits until IPv6 has told its neighbours about the addresses.
func (l *lab) waitQuiet() error {
	var before string
	quiet := 0
	for range 200 {
		var text []byte
		err := l.node.Do(func() (err error) {
			text, err = os.ReadFile("/proc/thread-self/net/snmp6")
			return err
		})
		if err != nil {
			return err
		}
		sent := field(string(text), "Icmp6OutMsgs")
		if sent != before {
			quiet = 0
		}
		if quiet++; quiet > quietLooks {
			return nil
		}
		before = sent
		// Nothing tells that no more is sent but that nothing was for a while.
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the node does not stop sending ICMPv6: %s messages", before)
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			return words[1]
		}
	}
	return ""
}

// close takes the lab away.
func (l *lab) close() {
	for _, fd := range l.raw {
		_ = unix.Close(fd)
	}
	for _, fd := range l.silent {
		_ = unix.Close(fd)
	}
	if l.tracer != nil {
		l.tracer.close()
	}
	for _, s := range l.sides {
		if s.fd >= 0 {
			_ = unix.Close(s.fd)
		}
		if s.place != nil {
			_ = s.place.Close()
		}
	}
	if l.node != nil {
		_ = l.node.Close()
	}
}
