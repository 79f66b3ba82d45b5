package snapshot

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// neighbours reads what is known of the machines behind the ports of bridges and behind tunnels. The neighbour table knows the link-layer
// address of an IP address, the forwarding database knows the port or the remote machine of a link-layer address.
func (t *taker) neighbours(links []netlink.Link) {
	entries, err := dump(func() ([]netlink.Neigh, error) { return t.netlink.NeighList(0, unix.AF_BRIDGE) })
	if err != nil {
		t.unread(UnreadForwarding, "%v", err)
		return
	}
	var known []netlink.Neigh
	for _, family := range bothFamilies() {
		list, err := dump(func() ([]netlink.Neigh, error) { return t.netlink.NeighList(0, netlinkFamily(family)) })
		if err != nil {
			t.unread(UnreadNeighbours, "%v", err)
			return
		}
		known = append(known, list...)
	}
	for _, link := range links {
		i := slices.IndexFunc(t.snapshot.Devices, func(d Device) bool { return d.Index == link.Attrs().Index })
		d := &t.snapshot.Devices[i]
		if tunnel, ok := link.(*netlink.Vxlan); ok {
			t.tunnel(d, tunnel, entries, known)
		}
		if slices.ContainsFunc(links, func(l netlink.Link) bool { return l.Attrs().Index == link.Attrs().MasterIndex && l.Type() == "bridge" }) {
			t.bridgePort(d, link, entries, known)
		}
	}
}

// bridgePort fills what a port of a bridge has.
func (t *taker) bridgePort(d *Device, link netlink.Link, entries, known []netlink.Neigh) {
	if info, err := t.netlink.LinkGetProtinfo(link); err != nil {
		t.unread(unreadHairpin+d.Name, "%v", err)
	} else {
		d.Hairpin = info.Hairpin
	}
	for i := range entries {
		e := &entries[i]
		if e.LinkIndex != d.Index || e.MasterIndex != link.Attrs().MasterIndex {
			continue
		}
		for _, addr := range addressesOf(e, known, link.Attrs().MasterIndex) {
			if !slices.Contains(d.Neighbours, addr) { // one entry for each VLAN
				d.Neighbours = append(d.Neighbours, addr)
			}
		}
	}
	slices.SortFunc(d.Neighbours, netip.Addr.Compare)
}

// tunnel fills what a VXLAN device has.
func (t *taker) tunnel(d *Device, link *netlink.Vxlan, entries, known []netlink.Neigh) {
	if link.FlowBased {
		t.unread("tunnel "+d.Name, "not supported: a tunnel whose identifier is set for each packet by a program")
		return
	}
	v := &packetsim.VXLAN{ID: uint32(link.VxlanId), Port: uint16(link.Port), Local: addrOf(link.SrcAddr), Remotes: map[netip.Addr]netip.Addr{}}
	for i := range entries {
		e := &entries[i]
		remote := addrOf(e.IP)
		if e.LinkIndex != d.Index || e.Flags&unix.NTF_SELF == 0 || !remote.IsValid() {
			continue
		}
		for _, addr := range addressesOf(e, known, d.Index) {
			if _, twice := v.Remotes[addr]; !twice {
				v.Remotes[addr] = remote
			}
		}
	}
	d.VXLAN = vxlanOf(v)
}

// addressesOf are the neighbours on a device with the link-layer address of the entry.
func addressesOf(entry *netlink.Neigh, known []netlink.Neigh, device int) []netip.Addr {
	var list []netip.Addr
	for i := range known {
		n := &known[i]
		if n.LinkIndex == device && len(n.HardwareAddr) > 0 && n.State&(unix.NUD_FAILED|unix.NUD_INCOMPLETE|unix.NUD_NOARP) == 0 &&
			n.HardwareAddr.String() == entry.HardwareAddr.String() {
			list = append(list, addrOf(n.IP))
		}
	}
	return list
}
