package probe

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
)

// change is Client.Change.
func change(changes []Change) error {
	for _, c := range changes {
		if err := c.make(); err != nil {
			return fmt.Errorf("%s %s: %w", c.Action, c, err)
		}
	}
	return nil
}

// String names what is changed.
func (c Change) String() string {
	if !c.Prefix.IsValid() {
		return c.Device
	}
	return c.Device + " " + c.Prefix.String()
}

func (c Change) make() error {
	link, err := netlink.LinkByName(c.Device)
	if err != nil {
		return err
	}
	switch c.Action {
	case LinkUp:
		return netlink.LinkSetUp(link)
	case LinkDown:
		return netlink.LinkSetDown(link)
	}
	if !c.Prefix.IsValid() {
		return errors.New("no prefix")
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: socket.IPNet(c.Prefix.Masked()), Gw: c.Via.AsSlice()}
	if route.Gw == nil {
		route.Scope = netlink.SCOPE_LINK
	}
	switch c.Action {
	case AddAddress:
		return netlink.AddrReplace(link, addressOf(c.Prefix))
	case RemoveAddress:
		return unless(netlink.AddrDel(link, addressOf(c.Prefix)), unix.EADDRNOTAVAIL)
	case AddRoute:
		return netlink.RouteReplace(route)
	case RemoveRoute:
		return unless(netlink.RouteDel(route), unix.ESRCH)
	}
	return errors.New("no such action")
}

// unless is an error that is not this one.
func unless(err error, not unix.Errno) error {
	if errors.Is(err, not) {
		return nil
	}
	return err
}

// addressOf is an address that is used at once, without a look whether another host has it.
func addressOf(p netip.Prefix) *netlink.Addr {
	a := &netlink.Addr{IPNet: socket.IPNet(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}

// devices is Client.Devices.
func devices() (any, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	told := make([]Device, len(all))
	for i := range all {
		addresses, err := all[i].Addrs()
		if err != nil {
			return nil, err
		}
		told[i] = Device{Name: all[i].Name, Up: all[i].Flags&net.FlagUp != 0, Hardware: all[i].HardwareAddr}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				told[i].Addresses = append(told[i].Addresses, p)
			}
		}
	}
	return told, nil
}
