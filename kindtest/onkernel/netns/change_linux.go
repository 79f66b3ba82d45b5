package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// StartPods makes the namespaces of pods and joins them to their nodes.
func (s *session) StartPods(_ context.Context, pods []scenarios.Pod) error {
	if err := s.cluster.StartPods(pods); err != nil {
		return err
	}
	return s.network.become(plan.Of(s.cluster))
}

// StopPods gives the namespaces of pods up. Their sockets say nothing of it.
func (s *session) StopPods(_ context.Context, names []string) error {
	if err := s.cluster.StopPods(names); err != nil {
		return err
	}
	for _, f := range s.flows {
		f.lose(names)
	}
	return s.network.become(plan.Of(s.cluster))
}

// SetAddresses gives a node other addresses.
func (s *session) SetAddresses(_ context.Context, node string, addresses []netip.Addr) error {
	if err := s.cluster.SetAddresses(node, addresses); err != nil {
		return err
	}
	return s.network.become(plan.Of(s.cluster))
}

// lose closes the sockets that a kept connection has on hosts that go.
func (f *keptFlow) lose(names []string) {
	if slices.Contains(names, f.client.Name) {
		f.silence(&f.clientFD)
	}
	if f.server != nil && slices.Contains(names, f.server.Name) {
		f.silence(&f.serverFD)
	}
}

// become makes the network another one: hosts go and come, and those that stay have other addresses and routes.
func (n *network) become(p *plan.Plan) error {
	before := n.plan
	n.plan = p
	if err := n.drop(before); err != nil {
		return err
	}
	if err := n.grow(); err != nil {
		return err
	}
	for _, h := range n.hosts {
		now := p.Host(h.Name)
		was := h.Host
		h.Host = now
		if err := h.adapt(was); err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	if err := errors.Join(n.forsake(before), n.neighbours()); err != nil {
		return err
	}
	return n.steer()
}

// forsake makes what is sent to addresses that a host of the underlay has no more go to nobody, at once: to ask who has them takes seconds.
func (n *network) forsake(before *plan.Plan) error {
	nobody := net.HardwareAddr{2, 0xc4, 0xff, 0xff, 0xff, 0xff}
	for _, was := range before.Segment {
		for _, a := range before.Host(was.Host).Devices[0].Addresses {
			if slices.Contains(n.plan.Host(was.Host).Devices[0].Addresses, a) {
				continue
			}
			for _, port := range n.plan.Segment {
				if err := n.host(port.Host).setNeighbour(port.Device, a.Prefix.Addr(), nobody); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// drop gives up the hosts that are not in the plan any more. The wire goes first, since a namespace ends at a time of its own.
func (n *network) drop(before *plan.Plan) error {
	var errs []error
	n.hosts = slices.DeleteFunc(n.hosts, func(h *host) bool {
		if n.plan.Host(h.Name) != nil {
			return false
		}
		for _, link := range before.Links {
			if link[1].Host == h.Name {
				errs = append(errs, n.cut(link[0].Host, link[0].Device))
			}
		}
		errs = append(errs, h.close())
		return true
	})
	return errors.Join(errs...)
}

// cut takes a device from a host, and with it the other end of its wire.
func (n *network) cut(name, device string) error {
	h := n.host(name)
	if h == nil {
		return nil // it goes itself
	}
	link, err := h.ns.link.LinkByName(device)
	if err != nil {
		return err
	}
	delete(h.devices, uint32(link.Attrs().Index))
	return h.ns.link.LinkDel(link)
}

// grow makes the hosts of the plan that are not there yet.
func (n *network) grow() error {
	var made []*host
	for i := range n.plan.Hosts {
		p := &n.plan.Hosts[i]
		if n.host(p.Name) != nil {
			continue
		}
		if err := n.addHost(p); err != nil {
			return err
		}
		made = append(made, n.host(p.Name))
	}
	for _, h := range made {
		for _, link := range n.plan.Links {
			if link[1].Host != h.Name {
				continue
			}
			if err := n.join(link[0], link[1]); err != nil {
				return fmt.Errorf("join %s and %s: %w", link[0].Host, link[1].Host, err)
			}
		}
		if err := errors.Join(n.configure(h), h.startWatch()); err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	return nil
}

// adapt gives a host the devices' addresses and the routes that it has now.
func (h *host) adapt(was *plan.Host) error {
	for i := range h.Devices {
		d := &h.Devices[i]
		place := slices.IndexFunc(was.Devices, func(o packetsim.Device) bool { return o.Name == d.Name })
		if place >= 0 && slices.Equal(was.Devices[place].Addresses, d.Addresses) {
			continue
		}
		if err := h.readdress(d); err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
	}
	for _, r := range was.Routes {
		kept := slices.ContainsFunc(h.Routes, func(o packetsim.Route) bool { return o.Dst == r.Dst && o.Table == r.Table })
		if kept || r.Steered {
			continue
		}
		err := h.ns.link.RouteDel(&netlink.Route{Dst: socket.IPNet(r.Dst), Table: int(r.Table)})
		if err != nil && !errors.Is(err, unix.ESRCH) { // it went with its device
			return fmt.Errorf("remove the route to %s: %w", r.Dst, err)
		}
	}
	return h.setRoutes(h.Routes)
}

// readdress takes all addresses from a device and gives it others: the kernel's order is that in which they come.
func (h *host) readdress(d *packetsim.Device) error {
	link, err := h.ns.link.LinkByName(d.Name)
	if err != nil {
		return err
	}
	h.devices[uint32(link.Attrs().Index)] = d.Name
	have, err := h.ns.link.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	for i := range have {
		if err := h.ns.link.AddrDel(link, &have[i]); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return err // one that is gone was a secondary of one before it
		}
	}
	if err := h.setAddresses(link, d.Addresses); err != nil {
		return err
	}
	return h.ns.link.LinkSetUp(link)
}
