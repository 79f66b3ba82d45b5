package netns

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// host is a host of the plan in its namespace.
type host struct {
	*plan.Host
	ns       *linked
	exec     *dialectExec
	dialects []netfilter.Dialect // whose rules it has if it is a node, those of its kube-proxy first
	devices  map[uint32]string   // by index
	watch    *watch
	sockets  map[socketKey]int // the sockets that listen
	spoken   int               // how many sightings speakSCTP has looked at
	ct       *nfnetlink.Socket // of conntrack, once it is needed
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

// settings are what all hosts have: nothing that answers, asks or limits by itself.
func settings() [][2]string {
	return append(nfnetlink.LogSysctls(), [][2]string{
		{"net.ipv4.conf.all.rp_filter", "0"}, {"net.ipv4.conf.default.rp_filter", "0"},
		{"net.ipv4.conf.all.send_redirects", "0"}, {"net.ipv4.conf.default.send_redirects", "0"},
		{"net.ipv4.icmp_ratemask", "0"}, {"net.ipv6.icmp.ratelimit", "0"},
		{"net.ipv4.ping_group_range", "0 2147483647"}, {"net.ipv4.tcp_synack_retries", "0"},
		{"net.ipv6.conf.default.addr_gen_mode", "1"}, {"net.ipv6.conf.default.accept_ra", "0"},
		{"net.ipv6.conf.default.dad_transmits", "0"}, {"net.ipv6.conf.default.router_solicitations", "0"},
	}...)
}

func (n *network) addHost(p *plan.Host) error {
	ns, err := newLinked()
	if err != nil {
		return err
	}
	h := &host{
		Host: p, ns: ns, exec: newExec(ns.Namespace, n.tools[0]), dialects: n.tools, devices: map[uint32]string{}, sockets: map[socketKey]int{},
	}
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

// configure gives a host its addresses, routes, rules and settings.
func (n *network) configure(h *host) error {
	for i := range h.Devices {
		d := &h.Devices[i]
		link, err := h.ns.link.LinkByName(d.Name)
		if err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
		h.devices[uint32(link.Attrs().Index)] = d.Name
		if err := h.setAddresses(link, d.Addresses); err != nil {
			return err
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

func (h *host) setAddresses(device netlink.Link, addresses []packetsim.Address) error {
	for _, a := range inKernelOrder(addresses) {
		address := &netlink.Addr{IPNet: socket.IPNet(a.Prefix)}
		if a.Prefix.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD
		}
		if err := h.ns.link.AddrAdd(device, address); err != nil {
			return fmt.Errorf("address %s: %w", a.Prefix, err)
		}
	}
	return nil
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
