package snapshot

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func (t *taker) devices() error {
	links, err := dump(t.netlink.LinkList)
	if err != nil {
		return fmt.Errorf("list devices: %w", err)
	}
	names := linkNames(links)
	addresses, err := t.addresses()
	if err != nil {
		return err
	}
	for _, link := range links {
		attrs := link.Attrs()
		d := Device{
			Name: attrs.Name, Index: attrs.Index, Kind: linkKind(link),
			Up: attrs.Flags&net.FlagUp != 0, MTU: attrs.MTU, Master: names[attrs.MasterIndex],
			Group:     attrs.Group,
			Addresses: addresses[attrs.Index],
		}
		if len(attrs.HardwareAddr) > 0 {
			d.MAC = attrs.HardwareAddr.String()
		}
		if attrs.NetNsID >= 0 {
			d.PeerNetns = &attrs.NetNsID
		}
		t.snapshot.Devices = append(t.snapshot.Devices, d)
	}
	created := t.creation()
	slices.SortFunc(t.snapshot.Devices, func(a, b Device) int {
		return cmp.Or(cmp.Compare(created[a.Index], created[b.Index]), cmp.Compare(a.Index, b.Index))
	})
	t.neighbours(links)
	return nil
}

// creation says which device came when into the namespace, by index, from below zero on. That decides between the addresses of several
// devices (inet_select_addr in net/ipv4/devinet.c), and an index does not say it: a device that is moved in may have any. The only file
// that is written in this order is that of the multicast groups, in which each device is that is up and speaks IPv4; others have no part
// in a choice.
func (t *taker) creation() map[int]int {
	text, err := os.ReadFile(t.netFile("igmp"))
	if err != nil {
		return nil // a kernel without IGMP
	}
	lines := strings.Split(string(text), "\n")
	created := map[int]int{}
	for i, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "\t") { // a group of the device before
			continue
		}
		if index, err := strconv.Atoi(words[0]); err == nil {
			created[index] = i - len(lines)
		}
	}
	return created
}

func linkNames(links []netlink.Link) map[int]string {
	names := map[int]string{}
	for _, link := range links {
		names[link.Attrs().Index] = link.Attrs().Name
	}
	return names
}

func linkKind(link netlink.Link) string {
	if link.Attrs().Flags&net.FlagLoopback != 0 {
		return "loopback"
	}
	return link.Type()
}

// addresses are the addresses of every device, by its index and in the kernel's order.
func (t *taker) addresses() (map[int][]Address, error) {
	list, err := dump(func() ([]netlink.Addr, error) { return t.netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	addresses := map[int][]Address{}
	for _, addr := range list {
		what := fmt.Sprintf("address %s of device %d", addr.IPNet, addr.LinkIndex)
		prefix, ok := prefixOf(addr.IPNet)
		if !ok {
			t.unread(what, "not an address of IPv4 or IPv6")
			continue
		}
		if addr.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) != 0 {
			t.unread(what, "the kernel does not use it: duplicate address detection has not ended well (yet)")
			continue
		}
		a := Address{
			Prefix:     prefix,
			Secondary:  prefix.Addr().Is4() && addr.Flags&unix.IFA_F_SECONDARY != 0,
			Deprecated: addr.Flags&unix.IFA_F_DEPRECATED != 0,
		}
		if a.Scope, ok = scopeOf(addr.Scope); !ok {
			t.unread(what, "not supported: scope %d", addr.Scope)
			continue
		}
		if addr.Broadcast != nil {
			a.Broadcast = addrOf(addr.Broadcast)
		}
		addresses[addr.LinkIndex] = append(addresses[addr.LinkIndex], a)
	}
	return addresses, nil
}

// scopeOf takes the kernel's number of a scope (enum rt_scope_t).
func scopeOf(n int) (packetsim.Scope, bool) {
	switch n {
	case unix.RT_SCOPE_UNIVERSE:
		return packetsim.ScopeGlobal, true
	case unix.RT_SCOPE_SITE:
		return packetsim.ScopeSite, true
	case unix.RT_SCOPE_LINK:
		return packetsim.ScopeLink, true
	case unix.RT_SCOPE_HOST:
		return packetsim.ScopeHost, true
	case unix.RT_SCOPE_NOWHERE:
		return packetsim.ScopeNowhere, true
	}
	return "", false
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	ones, bits := n.Mask.Size()
	if !ok || bits == 0 {
		return netip.Prefix{}, false
	}
	if bits == 32 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, ones), true
}

func addrOf(ip net.IP) netip.Addr {
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}
