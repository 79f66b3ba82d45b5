package differ

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// join joins groups on the client's device, by sockets that are never read.
func (l *lab) join() error {
	return l.node.Do(func() error {
		device, err := net.InterfaceByName(clientDev)
		if err != nil {
			return err
		}
		for _, group := range joined {
			fd, err := joinGroup(group, device.Index)
			if err != nil {
				return fmt.Errorf("%s: %w", group, err)
			}
			l.silent = append(l.silent, fd)
		}
		return nil
	})
}

func joinGroup(group netip.Addr, device int) (fd int, err error) {
	domain := unix.AF_INET6
	if group.Is4() {
		domain = unix.AF_INET
	}
	if fd, err = unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return fd, err
	}
	if group.Is4() {
		err = unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP,
			&unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(device)})
	} else {
		err = unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP,
			&unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(device)})
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// orderGroupRoutes makes the route to all groups by the server's device the last one. The kernel takes the first of routes that are alike,
// and makes them when the devices' wires are ready, in any order.
func orderGroupRoutes() error {
	link, err := netlink.LinkByName(serverDev)
	if err != nil {
		return err
	}
	last := &netlink.Route{
		Dst: &net.IPNet{IP: net.ParseIP("ff00::"), Mask: net.CIDRMask(8, 128)}, LinkIndex: link.Attrs().Index, Table: unix.RT_TABLE_LOCAL,
		Type: unix.RTN_MULTICAST, Priority: 256, Protocol: unix.RTPROT_KERNEL,
	}
	if err := netlink.RouteDel(last); err != nil {
		return err
	}
	return netlink.RouteAppend(last)
}
