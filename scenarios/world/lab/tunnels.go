package lab

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// IsTunnel says whether a device carries packets inside of others.
func IsTunnel(d *snapshot.Device) bool { return d.Kind == "vxlan" || isPlainTunnel(d) }

// isPlainTunnel says whether what carries the packets of a tunnel is not walked: they come out of another node's device of that kind.
func isPlainTunnel(d *snapshot.Device) bool {
	switch d.Kind {
	case "ipip", "ip6tnl", "sit", "gre", "ip6gre", "wireguard", "geneve":
		return true
	case "vxlan":
		return d.VXLAN == nil // a program says for each packet where it goes
	}
	return false
}

// FillTunnels tells a node whose neighbour tables were not read which machine each neighbour on a VXLAN device is behind: the node
// that has the neighbour's address on its own VXLAN device, or among its pods. A table that was read stays as it is: the node does not know
// a neighbour that is missing there.
func FillTunnels(cluster *scenarios.Cluster, nodes map[string]*Attached) {
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		a := nodes[name]
		for i := range a.Devices {
			if a.Devices[i].VXLAN != nil && a.lacksTables() {
				a.fillRemotes(&a.Devices[i], cluster, nodes)
			}
		}
	}
}

// lacksTables says whether a table was not read that says who is behind a tunnel.
func (a *Attached) lacksTables() bool {
	return slices.ContainsFunc(a.Unread, func(u snapshot.Unread) bool {
		return u.What == snapshot.UnreadForwarding || u.What == snapshot.UnreadNeighbours
	})
}

func (a *Attached) fillRemotes(d *snapshot.Device, cluster *scenarios.Cluster, nodes map[string]*Attached) {
	own := *d.VXLAN
	own.Remotes = slices.Clone(own.Remotes)
	known := func(neighbour netip.Addr) bool {
		return slices.ContainsFunc(own.Remotes, func(r snapshot.Remote) bool { return r.Neighbour == neighbour })
	}
	for i := range a.Routes {
		r := &a.Routes[i]
		if r.Dev != d.Name || !r.Via.IsValid() || known(r.Via) {
			continue
		}
		peer := nodeBehind(cluster, nodes, r.Via)
		if peer == nil || peer.Name == a.Hostname {
			continue
		}
		if remote := remoteOf(peer, nodes[peer.Name], &own); remote.IsValid() {
			own.Remotes = append(own.Remotes, snapshot.Remote{Neighbour: r.Via, Remote: remote})
			a.Tunnels[d.Name] = fmt.Sprintf("the tables of %s do not say which machine %s on %s is behind: taken to be %s", a.Hostname, r.Via,
				d.Name, peer.Name)
		}
	}
	d.VXLAN = &own
}

// remoteOf is the address that a node's own end of a tunnel has: what its snapshot says, or that of the node.
func remoteOf(peer *scenarios.Node, a *Attached, own *snapshot.VXLAN) netip.Addr {
	if a != nil {
		for i := range a.Devices {
			if v := a.Devices[i].VXLAN; v != nil && v.ID == own.ID && v.Local.IsValid() && v.Local.Is6() == own.Local.Is6() {
				return v.Local
			}
		}
	}
	return addressLike(peer.Addresses, own.Local)
}

// nodeBehind is the node that has an address on a tunnel, or in the network of its pods; nil if none does.
func nodeBehind(cluster *scenarios.Cluster, nodes map[string]*Attached, address netip.Addr) *scenarios.Node {
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		if a := nodes[n.Name]; a != nil {
			if device, _ := DeviceWith(a.NodeSnapshot, address); device != "" {
				return n
			}
		}
	}
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		if slices.ContainsFunc(n.PodCIDRs, func(p netip.Prefix) bool { return p.Contains(address) }) {
			return n
		}
	}
	return nil
}

// addressLike is the first of the addresses that has the family of another one, IPv4 if that is not set.
func addressLike(addresses []netip.Addr, like netip.Addr) netip.Addr {
	for _, a := range addresses {
		if a.Is6() == like.Is6() {
			return a
		}
	}
	return netip.Addr{}
}

// tunnelTo is the tunnel by which a node sends to an address; nil if it sends there by none. Tables that only policy rules name are
// looked at as well, since WireGuard's routes are in one.
func (a *Attached) tunnelTo(address netip.Addr) *snapshot.Device {
	best, device := 0, ""
	for i := range a.Routes {
		r := &a.Routes[i]
		if r.Dst.Contains(address) && r.Dst.Bits() > best && r.Table != packetsim.TableLocal && len(r.NextHops) == 0 {
			best, device = r.Dst.Bits(), r.Dev
		}
	}
	if d := a.device(device); d != nil && d.Up && IsTunnel(d) {
		return d
	}
	return nil
}

// behind are addresses of what is on a node: its own and its pods'.
type behind struct {
	node *scenarios.Node
	pods []netip.Addr
}

func behindNodes(cluster *scenarios.Cluster) []behind {
	out := make([]behind, len(cluster.Nodes))
	places := map[string]int{}
	for i := range cluster.Nodes {
		out[i].node, places[cluster.Nodes[i].Name] = &cluster.Nodes[i], i
	}
	for i := range cluster.Pods {
		at := &out[places[cluster.Pods[i].Node]]
		at.pods = append(at.pods, cluster.Pods[i].Addresses...)
	}
	return out
}

// samples are one address of a pod, or one that a pod could have, of each family.
func (b *behind) samples() []netip.Addr {
	var out []netip.Addr
	for _, v6 := range []bool{false, true} {
		all := slices.Clone(b.pods)
		for _, cidr := range b.node.PodCIDRs {
			all = append(all, cidr.Masked().Addr().Next().Next())
		}
		if i := slices.IndexFunc(all, func(a netip.Addr) bool { return a.Is6() == v6 }); i >= 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// takes are all addresses whose packets come out of a node's tunnel.
func (b *behind) takes(devices []snapshot.Device) []netip.Prefix {
	out := slices.Clone(b.node.PodCIDRs)
	for _, a := range slices.Concat(b.node.Addresses, b.node.ExtraAddresses, b.pods) {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	for i := range devices {
		for _, a := range devices[i].Addresses {
			if IsTunnel(&devices[i]) {
				out = append(out, netip.PrefixFrom(a.Prefix.Addr(), a.Prefix.Addr().BitLen()))
			}
		}
	}
	return out
}

// dig gives nodes without a snapshot the other ends of the tunnels by which nodes with one send to them, and the way back by these.
func (l *Lab) dig(cluster *scenarios.Cluster, nodes map[string]*Attached) {
	for _, b := range behindNodes(cluster) {
		if nodes[b.node.Name] != nil {
			continue
		}
		host := l.Plan.Host(b.node.Name)
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			for _, sample := range b.samples() {
				if d := nodes[name].tunnelTo(sample); d != nil {
					digTo(host, cluster.Node(name), d, sample.Is6())
				}
			}
		}
	}
}

// digTo gives a planned node its end of a tunnel to another node, and the routes to that one's pods of a family by it.
func digTo(host *plan.Host, to *scenarios.Node, d *snapshot.Device, v6 bool) {
	at := slices.IndexFunc(host.Devices, func(own packetsim.Device) bool { return own.Name == d.Name })
	if at < 0 {
		own := packetsim.Device{Name: d.Name, Kind: d.Kind, MTU: d.MTU, Up: true}
		if d.VXLAN != nil {
			own.VXLAN = &packetsim.VXLAN{ID: d.VXLAN.ID, Port: d.VXLAN.Port, Local: addressLike(host.Node.Addresses, d.VXLAN.Local),
				Remotes: map[netip.Addr]netip.Addr{}}
		}
		at, host.Devices = len(host.Devices), append(host.Devices, own)
	}
	var node, inside netip.Addr // the other node's addresses, of the family, and of those the one in the tunnel
	if i := slices.IndexFunc(to.Addresses, func(a netip.Addr) bool { return a.Is6() == v6 }); i >= 0 {
		node, inside = to.Addresses[i], to.Addresses[i]
	}
	if tunnel := host.Devices[at].VXLAN; tunnel != nil {
		for _, a := range d.Addresses {
			if a.Prefix.Addr().Is6() == v6 {
				inside = a.Prefix.Addr()
				break
			}
		}
		tunnel.Remotes[inside] = addressLike(to.Addresses, d.VXLAN.Local)
	}
	for i := range host.Routes {
		r := &host.Routes[i]
		if r.Via == node && node.IsValid() && !slices.Contains(to.ExtraAddresses, r.Dst.Addr()) {
			r.Via, r.Dev = inside, d.Name
		}
	}
}

// joinTunnels joins the nodes' tunnels that are not walked: those of one kind and name.
func (l *Lab) joinTunnels(cluster *scenarios.Cluster, nodes map[string]*Attached) error {
	ends := map[string][]network.TunnelEnd{}
	add := func(b *behind, kind, device string, devices []snapshot.Device) {
		name := fmt.Sprintf("%s tunnel %s of the nodes", kind, device)
		ends[name] = append(ends[name], network.TunnelEnd{Port: network.Port{Host: b.node.Name, Device: device}, Takes: b.takes(devices)})
	}
	for _, b := range behindNodes(cluster) {
		if a := nodes[b.node.Name]; a != nil {
			for i := range a.Devices {
				if d := &a.Devices[i]; d.Up && isPlainTunnel(d) && a.sendsBy(d.Name) {
					add(&b, d.Kind, d.Name, a.Devices)
				}
			}
			continue
		}
		for _, d := range l.Plan.Host(b.node.Name).Devices {
			if d.VXLAN == nil && isPlainTunnel(&snapshot.Device{Kind: d.Kind}) {
				add(&b, d.Kind, d.Name, nil)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		if err := l.Network.Tunnel(name, ends[name]...); err != nil {
			return err
		}
	}
	return nil
}

// sendsBy says whether a route of the node goes by a device.
func (a *Attached) sendsBy(device string) bool {
	return slices.ContainsFunc(a.Routes, func(r snapshot.Route) bool { return r.Dev == device && r.Table != packetsim.TableLocal })
}

// TunnelNote says what is taken for granted of the tunnel by which a node sends a packet; empty if it sends it by none, or all of it is
// known.
func (a *Attached) TunnelNote(o *packetsim.Outcome) string {
	if filled := slices.Sorted(maps.Keys(a.Tunnels)); o.Packet.Carried != nil && len(filled) > 0 {
		return a.Tunnels[filled[0]]
	}
	if d := a.device(o.Out); d != nil && isPlainTunnel(d) {
		return fmt.Sprintf("what %s sends by %s (%s) is taken to come out of that node's tunnel whose address or pods it is for", a.Hostname,
			d.Name, d.Kind)
	}
	return ""
}
