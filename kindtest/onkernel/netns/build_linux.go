package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/chainwalk/chainwalk/netfilter"
	simnet "github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// network is the plan, built.
type network struct {
	plan  *plan.Plan
	hosts []*host
	tools []netfilter.Dialect // whose rules nodes have
	// underlay is the namespace of the bridge that is the underlay.
	underlay *linked
	mac      uint32
	via      string
}

// build makes all namespaces of a cluster and joins them. What it has made when it
// fails is in the network that it returns.
func build(cluster *scenarios.Cluster) (*network, error) {
	n := &network{plan: plan.Of(cluster), tools: cluster.Dialects()}
	var err error
	if n.underlay, err = newLinked(); err != nil {
		return n, err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "underlay"}}
	if err := errors.Join(n.underlay.link.LinkAdd(bridge), n.underlay.link.LinkSetUp(bridge)); err != nil {
		return n, fmt.Errorf("make the underlay: %w", err)
	}
	for i := range n.plan.Hosts {
		if err := n.addHost(&n.plan.Hosts[i]); err != nil {
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

// neighbours tells the hosts of the underlay each other's hardware addresses.
func (n *network) neighbours() error {
	for _, port := range n.plan.Segment {
		at, err := n.host(port.Host).ns.link.LinkByName(port.Device)
		if err != nil {
			return err
		}
		for _, other := range n.plan.Segment {
			if other == port {
				continue
			}
			for _, a := range n.host(port.Host).Devices[0].Addresses {
				if err := n.host(other.Host).setNeighbour(other.Device, a.Prefix.Addr(), at.Attrs().HardwareAddr); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// setNeighbour tells a host which hardware address has an address that it reaches by a device.
func (h *host) setNeighbour(device string, a netip.Addr, hardware net.HardwareAddr) error {
	by, err := h.ns.link.LinkByName(device)
	if err != nil {
		return err
	}
	neighbour := &netlink.Neigh{LinkIndex: by.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: hardware}
	if err := h.ns.link.NeighSet(neighbour); err != nil {
		return fmt.Errorf("host %s: neighbour %s: %w", h.Name, a, err)
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
