package probe

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// inject is Client.Inject.
func inject(i Injection) (string, error) {
	in, err := inet.ParseInput(i.Packet)
	if err != nil {
		return "", err
	}
	packet := raw.Numbered(&in.Packet, i.Number)
	seen, err := raw.Parse(packet)
	if err != nil {
		return "", err
	}
	if in.Local {
		return seen.Print, raw.Inject(packet, in.Dst, in.Mark)
	}
	device, err := net.InterfaceByName(in.In)
	if err != nil {
		return "", fmt.Errorf("device %s: %w", in.In, err)
	}
	to := i.To
	switch {
	case len(to) > 0:
	case device.Flags&net.FlagLoopback != 0:
		to = make(net.HardwareAddr, 6)
	default:
		if to, err = gatewayOf(device.Index, in.Is6()); err != nil {
			return "", fmt.Errorf("device %s: the hardware address to send to is not given, and %w", in.In, err)
		}
	}
	return seen.Print, raw.InjectOn(packet, device.Index, to)
}

// gatewayOf is the hardware address of the neighbour that a device's default route leads to.
func gatewayOf(device int, six bool) (net.HardwareAddr, error) {
	family := unix.AF_INET
	if six {
		family = unix.AF_INET6
	}
	routes, err := netlink.RouteList(nil, family)
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		if r.LinkIndex == device && r.Gw != nil && (r.Dst == nil || r.Dst.IP.IsUnspecified()) {
			return neighbour(device, family, r.Gw)
		}
	}
	return nil, fmt.Errorf("there is no default route by it")
}

// neighbour is the hardware address of a neighbour that the host knows.
func neighbour(device, family int, address net.IP) (net.HardwareAddr, error) {
	known, err := netlink.NeighList(device, family)
	if err != nil {
		return nil, err
	}
	for _, n := range known {
		if n.IP.Equal(address) && len(n.HardwareAddr) > 0 {
			return n.HardwareAddr, nil
		}
	}
	gateway, _ := netip.AddrFromSlice(address)
	return nil, fmt.Errorf("the hardware address of the gateway %s is not known yet: have the agent dial something first", gateway.Unmap())
}
