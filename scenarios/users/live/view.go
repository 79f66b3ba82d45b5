package live

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
)

// View is a cluster as one packet meets it.
type View struct{ exam *exam }

// View looks at the cluster for a packet between two addresses: who has them is in the topology, and of the other address family nothing.
// Nodes and pods without an object come from the snapshots.
func (c *Cluster) View(src, dst netip.Addr) (*View, error) {
	own := *c
	own.Objects = slices.Clone(c.Objects)
	own.only = scenarios.FamilyIPv4
	if dst.Is6() {
		own.only = scenarios.FamilyIPv6
	}
	if err := own.addFound(src, dst); err != nil {
		return nil, err
	}
	own.ends = own.needed(src, dst)
	e, err := own.prepared(func(*snapshot.Connection) bool { return true })
	if err != nil {
		return nil, err
	}
	return &View{exam: e}, nil
}

// needed are the ends of a packet that somebody must have for the packet to be followed: the source, unless the node chooses it, and a
// destination that is in the world outside.
func (c *Cluster) needed(src, dst netip.Addr) []netip.Addr {
	var out []netip.Addr
	if src.IsValid() && !src.IsUnspecified() && !src.IsLoopback() && c.nodeWith(src) == "" {
		out = append(out, src)
	}
	isPod := slices.ContainsFunc(c.pods(), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.PodIPs, func(ip corev1.PodIP) bool { a, ok := parse(ip.IP); return ok && a == dst })
	})
	if isPod || dst.IsGlobalUnicast() && !dst.IsPrivate() && !c.isServices(dst) {
		out = append(out, dst)
	}
	return out
}

// nodeWith is the node that has an address on its side of its pods' links, as the snapshot shows; empty if none does. Other addresses of
// nodes are in the topology.
func (c *Cluster) nodeWith(a netip.Addr) string {
	for _, node := range c.nodes() {
		taken := c.snapshotOf(node.Name)
		if taken == nil || !slices.ContainsFunc(podCIDRs(node), func(text string) bool {
			cidr, err := netip.ParsePrefix(text)
			return err == nil && cidr.Contains(a)
		}) {
			continue
		}
		if device, _ := labs.DeviceWith(taken, a); device != "" {
			return taken.Hostname
		}
	}
	return ""
}

// isServices says whether an address is one of a service's, or a rule is about packets to it.
func (c *Cluster) isServices(a netip.Addr) bool {
	s := survey{cluster: c, taken: map[netip.Addr]bool{}}
	s.takeServices()
	if s.taken[a] {
		return true
	}
	about := netip.PrefixFrom(a, a.BitLen())
	return slices.ContainsFunc(c.Snapshots, func(taken *snapshot.NodeSnapshot) bool {
		return someRule(taken, func(f *netfilter.Fact) bool { return f.Conditions.Dst == about })
	})
}

// addFound adds the Nodes of snapshots that have no object, and of these nodes the pods that matter to a packet between two addresses: its
// ends and what rules translate destinations to.
func (c *Cluster) addFound(ends ...netip.Addr) error {
	known := map[string]bool{}
	owned := map[netip.Addr]bool{}
	for _, node := range c.nodes() {
		known[node.Name] = true
		for _, a := range internal(node) {
			owned[a] = true
		}
	}
	for _, pod := range c.pods() {
		for _, ip := range pod.Status.PodIPs {
			if a, ok := parse(ip.IP); ok {
				owned[a] = true
			}
		}
	}
	var found []*snapshot.NodeSnapshot
	for _, taken := range c.Snapshots {
		if known[taken.Hostname] {
			continue
		}
		found = append(found, taken)
		object, err := manifest.New(nodeOf(taken, c.Snapshots))
		if err != nil {
			return err
		}
		c.Objects = append(c.Objects, object)
		for _, a := range underlayAddresses(taken) {
			owned[a] = true
		}
	}
	ways := make([]*labs.Ways, len(found))
	for i := range found {
		ways[i] = labs.WaysOf(found[i])
	}
	for _, a := range append(ends, translatedTo(found)...) {
		if owned[a] {
			continue
		}
		owned[a] = true
		if err := c.addPod(a, found, ways); err != nil {
			return err
		}
	}
	return nil
}

// addPod adds the pod that has an address, if one of the nodes has a device of its own to it.
func (c *Cluster) addPod(a netip.Addr, nodes []*snapshot.NodeSnapshot, ways []*labs.Ways) error {
	for i, taken := range nodes {
		device := ways[i].DeviceTo(a)
		if device == "" || slices.Contains(underlayDevices(taken), device) || isTunnel(taken, device) {
			continue
		}
		object, err := manifest.New(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: a.String()}, Spec: corev1.PodSpec{NodeName: taken.Hostname},
			Status: corev1.PodStatus{PodIP: a.String(), PodIPs: []corev1.PodIP{{IP: a.String()}}},
		})
		if err != nil {
			return err
		}
		c.Objects, c.found = append(c.Objects, object), append(c.found, a)
		return nil
	}
	return nil
}

// isTunnel says whether a device of a node carries packets to other nodes.
func isTunnel(taken *snapshot.NodeSnapshot, device string) bool {
	return slices.ContainsFunc(taken.Devices, func(d snapshot.Device) bool { return d.Name == device && labs.IsTunnel(&d) })
}

// underlayDevices are the devices of a node's default routes; the first that has an address for others if it has no such route.
func underlayDevices(taken *snapshot.NodeSnapshot) []string {
	var out []string
	for i := range taken.Routes {
		if r := &taken.Routes[i]; r.Dst.Bits() == 0 && r.Dev != "" && !slices.Contains(out, r.Dev) {
			out = append(out, r.Dev)
		}
	}
	for i := range taken.Devices {
		if d := &taken.Devices[i]; len(out) == 0 && slices.ContainsFunc(d.Addresses, isForOthers) {
			out = append(out, d.Name)
		}
	}
	return out
}

func isForOthers(a snapshot.Address) bool {
	return a.Prefix.Addr().IsGlobalUnicast() && (a.Scope == packetsim.ScopeGlobal || a.Scope == "")
}

// underlayAddresses are a node's own on these devices.
func underlayAddresses(taken *snapshot.NodeSnapshot) []netip.Addr {
	var out []netip.Addr
	devices := underlayDevices(taken)
	for i := range taken.Devices {
		d := &taken.Devices[i]
		for _, a := range d.Addresses {
			if slices.Contains(devices, d.Name) && isForOthers(a) {
				out = append(out, a.Prefix.Addr())
			}
		}
	}
	return out
}

// nodeOf is the Node object that a snapshot tells of. Its podCIDRs are the networks that other nodes reach by it.
func nodeOf(taken *snapshot.NodeSnapshot, all []*snapshot.NodeSnapshot) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: taken.Hostname}}
	own := underlayAddresses(taken)
	for _, a := range own {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	for _, other := range all {
		for i := range other.Routes {
			r := &other.Routes[i]
			if text := r.Dst.String(); slices.Contains(own, r.Via) && r.Dst.Bits() > 0 && !slices.Contains(node.Spec.PodCIDRs, text) {
				node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, text)
			}
		}
	}
	return node
}

// translatedTo are the addresses that rules of nodes translate destinations to.
func translatedTo(nodes []*snapshot.NodeSnapshot) []netip.Addr {
	var out []netip.Addr
	for _, taken := range nodes {
		someRule(taken, func(f *netfilter.Fact) bool {
			if to := f.Translation.To(); to.Port() != 0 && !slices.Contains(out, to.Addr()) {
				out = append(out, to.Addr())
			}
			return false
		})
	}
	return out
}

// someRule says whether something holds for a rule of a node, one of whatever tool. Of rules that cannot be read nothing holds: making
// a host of the node reports them.
func someRule(taken *snapshot.NodeSnapshot, holds func(*netfilter.Fact) bool) bool {
	rulesets, err := taken.Rulesets()
	if err != nil {
		return false
	}
	for _, rules := range rulesets {
		for _, table := range rules.Tables {
			for chain := range table.Chains() {
				for _, f := range chain.Facts() {
					if holds(&f) {
						return true
					}
				}
			}
		}
	}
	return false
}
