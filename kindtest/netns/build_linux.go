package netns

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/packetsim"
	simnet "github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// host is a host of the plan in its namespace.
type host struct {
	*plan.Host
	ns      *linked
	exec    *variantExec
	devices map[uint32]string // by index
	watch   *watch
	sockets map[socketKey]int // the sockets that listen
	spoken  int               // how many sightings speakSCTP has looked at
	ct      *nftrace.Socket   // of conntrack, once it is needed
}

// network is the plan, built.
type network struct {
	plan  *plan.Plan
	hosts []*host
	// underlay is the namespace of the bridge that is the underlay.
	underlay *linked
	mac      uint32
	via      string
}

// settings are what all hosts have: nothing that answers, asks or limits by itself.
func settings() [][2]string {
	return [][2]string{
		{"net.ipv4.conf.all.rp_filter", "0"}, {"net.ipv4.conf.default.rp_filter", "0"},
		{"net.ipv4.conf.all.send_redirects", "0"}, {"net.ipv4.conf.default.send_redirects", "0"},
		{"net.ipv4.icmp_ratemask", "0"}, {"net.ipv6.icmp.ratelimit", "0"},
		{"net.ipv4.ping_group_range", "0 2147483647"}, {"net.ipv4.tcp_synack_retries", "0"},
		{"net.ipv6.conf.default.addr_gen_mode", "1"}, {"net.ipv6.conf.default.accept_ra", "0"},
		{"net.ipv6.conf.default.dad_transmits", "0"}, {"net.ipv6.conf.default.router_solicitations", "0"},
		{"net.netfilter.nf_log.2", "nfnetlink_log"}, {"net.netfilter.nf_log.10", "nfnetlink_log"},
	}
}

// build makes all namespaces of a cluster and joins them. What it has made when it
// fails is in the network that it returns.
func build(cluster *scenarios.Cluster) (*network, error) {
	n := &network{plan: plan.Of(cluster)}
	var err error
	if n.underlay, err = newLinked(); err != nil {
		return n, err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "underlay"}}
	if err := errors.Join(n.underlay.link.LinkAdd(bridge), n.underlay.link.LinkSetUp(bridge)); err != nil {
		return n, fmt.Errorf("make the underlay: %w", err)
	}
	for i := range n.plan.Hosts {
		if err := n.addHost(&n.plan.Hosts[i], cluster.Tool); err != nil {
			return n, fmt.Errorf("host %s: %w", n.plan.Hosts[i].Name, err)
		}
	}
	for i, port := range n.plan.Segment {
		if err := n.attach(port, underlayPort(i), bridge); err != nil {
			return n, fmt.Errorf("join %s to the underlay: %w", port.Host, err)
		}
	}
	for _, link := range n.plan.Links {
		if err := n.join(link[0], link[1]); err != nil {
			return n, fmt.Errorf("join %s and %s: %w", link[0].Host, link[1].Host, err)
		}
	}
	for _, h := range n.hosts {
		if err := n.configure(h); err != nil {
			return n, fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	return n, n.neighbours()
}

func (n *network) close() error {
	var errs []error
	for _, h := range n.hosts {
		errs = append(errs, h.close())
	}
	if n.underlay != nil {
		errs = append(errs, n.underlay.close())
	}
	return errors.Join(errs...)
}

func (h *host) close() error {
	for _, fd := range h.sockets {
		_ = unix.Close(fd)
	}
	var err error
	if h.ct != nil {
		err = h.ct.Close()
	}
	return errors.Join(err, h.watch.close(), h.ns.close())
}

func (n *network) host(name string) *host {
	for _, h := range n.hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// underlayPort is the bridge's device to the host at a place of the segment.
func underlayPort(place int) string { return fmt.Sprintf("port%d", place+1) }

func (n *network) addHost(p *plan.Host, tool scenarios.Tool) error {
	ns, err := newLinked()
	if err != nil {
		return err
	}
	h := &host{Host: p, ns: ns, exec: newExec(ns.Namespace, tool), devices: map[uint32]string{}, sockets: map[socketKey]int{}}
	n.hosts = append(n.hosts, h)
	if err := ns.setSysctls(settings()); err != nil {
		return err
	}
	lo, err := ns.link.LinkByName("lo")
	if err != nil {
		return err
	}
	return ns.link.LinkSetUp(lo)
}

// nextMAC is a hardware address that no device has yet.
func (n *network) nextMAC() net.HardwareAddr {
	n.mac++
	return net.HardwareAddr{2, 0xc4, 0, byte(n.mac >> 16), byte(n.mac >> 8), byte(n.mac)}
}

// join makes a wire between two hosts. Both ends have one hardware address and ask
// for none, so that whatever is sent on one end is taken at the other.
func (n *network) join(a, z simnet.Port) error {
	mac := n.nextMAC()
	from, to := n.host(a.Host).ns, n.host(z.Host).ns
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: a.Device, HardwareAddr: mac, MTU: 1500}, PeerMTU: 1500,
		PeerName: z.Device, PeerHardwareAddr: mac, PeerNamespace: netlink.NsFd(to.FD()),
	}
	if err := from.link.LinkAdd(veth); err != nil {
		return err
	}
	peer, err := to.link.LinkByName(z.Device)
	if err != nil {
		return err
	}
	return errors.Join(from.link.LinkSetARPOff(veth), to.link.LinkSetARPOff(peer))
}

// attach makes a wire between a host and the bridge.
func (n *network) attach(port simnet.Port, name string, bridge netlink.Link) error {
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: n.nextMAC(), MTU: 1500}, PeerMTU: 1500,
		PeerName: port.Device, PeerHardwareAddr: n.nextMAC(), PeerNamespace: netlink.NsFd(n.host(port.Host).ns.FD()),
	}
	link := n.underlay.link
	if err := link.LinkAdd(veth); err != nil {
		return err
	}
	return errors.Join(link.LinkSetMaster(veth, bridge), link.LinkSetUp(veth))
}

// configure gives a host its addresses, routes, rules and settings.
func (n *network) configure(h *host) error {
	for i := range h.Devices {
		d := &h.Devices[i]
		link, err := h.ns.link.LinkByName(d.Name)
		if err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
		h.devices[uint32(link.Attrs().Index)] = d.Name
		for _, a := range inKernelOrder(d.Addresses) {
			address := &netlink.Addr{IPNet: ipNet(a.Prefix)}
			if a.Prefix.Addr().Is6() {
				address.Flags = unix.IFA_F_NODAD
			}
			if err := h.ns.link.AddrAdd(link, address); err != nil {
				return fmt.Errorf("address %s: %w", a.Prefix, err)
			}
		}
		if err := h.ns.link.LinkSetUp(link); err != nil {
			return err
		}
	}
	h.devices[1] = "lo"
	var sysctls [][2]string
	for _, name := range slices.Sorted(maps.Keys(h.Sysctls)) {
		sysctls = append(sysctls, [2]string{name, h.Sysctls[name]})
	}
	if err := h.ns.setSysctls(sysctls); err != nil {
		return err
	}
	return h.setRoutes(h.Routes)
}

// inKernelOrder is the order in which addresses are added to be in the order of the
// list afterwards: the kernel puts a new IPv6 address before the others.
func inKernelOrder(list []packetsim.Address) []packetsim.Address {
	var out []packetsim.Address
	for _, a := range list {
		if a.Prefix.Addr().Is4() {
			out = append(out, a)
		}
	}
	for _, a := range slices.Backward(list) {
		if a.Prefix.Addr().Is6() {
			out = append(out, a)
		}
	}
	return out
}

// hasFamily reports whether a host has an address of a family.
func (h *host) hasFamily(v6 bool) bool {
	return slices.ContainsFunc(h.Devices, func(d packetsim.Device) bool {
		return slices.ContainsFunc(d.Addresses, func(a packetsim.Address) bool { return a.Prefix.Addr().Is6() == v6 })
	})
}

// setRoutes adds routes, or replaces those to the same prefix. Routes without a
// gateway come first: the others' gateways are reached by them.
func (h *host) setRoutes(routes []packetsim.Route) error {
	ordered := slices.Clone(routes)
	slices.SortStableFunc(ordered, func(a, b packetsim.Route) int { return cmp.Compare(boolInt(a.Via.IsValid()), boolInt(b.Via.IsValid())) })
	for _, r := range ordered {
		if !h.hasFamily(r.Dst.Addr().Is6()) {
			continue // it could reach no gateway
		}
		link, err := h.ns.link.LinkByName(r.Dev)
		if err != nil {
			return err
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(r.Dst), Table: int(r.Table)}
		if r.Via.IsValid() {
			route.Gw = r.Via.AsSlice()
		} else if r.Dst.Addr().Is4() {
			route.Scope = netlink.SCOPE_LINK
		}
		if err := h.ns.link.RouteReplace(route); err != nil {
			return fmt.Errorf("route to %s via %s: %w", r.Dst, r.Via, err)
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// viaPriority is behind the kernel's own rules for the tables main and default.
const viaPriority = 40000

// routeVia makes the router and the neighbours hand what nobody has to a node.
func (n *network) routeVia(via string) error {
	if n.via == via {
		return nil
	}
	for _, p := range n.plan.Via(via) {
		h := n.host(p.Name)
		if err := h.setRoutes(p.Routes); err != nil {
			return fmt.Errorf("host %s: %w", p.Name, err)
		}
		if n.via != "" {
			continue
		}
		for _, r := range p.Rules {
			if r.In == "" {
				continue // the kernel has these
			}
			rule := netlink.NewRule()
			rule.IifName, rule.Table, rule.Priority, rule.Family = r.In, int(r.Table), viaPriority, unix.AF_INET
			if r.Family == fakeipt.IPv6 {
				rule.Family = unix.AF_INET6
			}
			if err := h.ns.link.RuleAdd(rule); err != nil {
				return fmt.Errorf("host %s: rule for %s: %w", p.Name, r.In, err)
			}
		}
	}
	n.via = via
	return nil
}

// neighbours tells the hosts of the underlay each other's hardware addresses.
func (n *network) neighbours() error {
	links := make([]netlink.Link, len(n.plan.Segment))
	for i, port := range n.plan.Segment {
		var err error
		if links[i], err = n.host(port.Host).ns.link.LinkByName(port.Device); err != nil {
			return err
		}
	}
	for i, port := range n.plan.Segment {
		for j, other := range n.plan.Segment {
			if i == j {
				continue
			}
			for _, a := range n.host(other.Host).Devices[0].Addresses {
				neighbour := &netlink.Neigh{
					LinkIndex: links[i].Attrs().Index, State: netlink.NUD_PERMANENT,
					IP: a.Prefix.Addr().AsSlice(), HardwareAddr: links[j].Attrs().HardwareAddr,
				}
				if err := n.host(port.Host).ns.link.NeighSet(neighbour); err != nil {
					return fmt.Errorf("host %s: neighbour %s: %w", port.Host, a.Prefix.Addr(), err)
				}
			}
		}
	}
	return nil
}

// device is a host's name for a device; of a node's devices to pods, the pod's.
func (n *network) device(h *host, name string) string {
	if pod, ok := n.plan.Pods[simnet.Port{Host: h.Name, Device: name}]; ok {
		return pod
	}
	return strings.TrimSpace(name)
}
