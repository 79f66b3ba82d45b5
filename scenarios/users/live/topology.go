package live

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
)

// survey reads a cluster's topology from its objects and snapshots. What does not fit into one is noted.
type survey struct {
	cluster *Cluster
	family  scenarios.IPFamily
	out     scenarios.Topology
	names   map[string]bool
	taken   map[netip.Addr]bool // addresses that somebody has
	notes   []string
}

func (c *Cluster) survey() (*survey, error) {
	if err := c.checkSnapshots(); err != nil {
		return nil, err
	}
	s := &survey{cluster: c, names: map[string]bool{scenarios.RouterName: true}, taken: map[netip.Addr]bool{}}
	s.families()
	s.out.IPFamily = s.family
	for _, node := range c.nodes() {
		if err := s.node(node); err != nil {
			return nil, err
		}
	}
	s.takeServices()
	s.pods()
	s.outside()
	return s, nil
}

func (s *survey) notef(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// internal are the first address of each family that a Node object gives as internal.
func internal(node *corev1.Node) (out [2]netip.Addr) {
	for _, address := range node.Status.Addresses {
		a, ok := parse(address.Address)
		if ok && address.Type == corev1.NodeInternalIP && !out[place(a)].IsValid() {
			out[place(a)] = a
		}
	}
	return out
}

// place is where an address is in a pair of both families.
func place(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}

func parse(text string) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return a.Unmap(), ok
}

// families finds the families of which every node has an address.
func (s *survey) families() {
	if s.family = s.cluster.only; s.family != "" {
		return
	}
	all := [2]bool{true, true}
	for _, node := range s.cluster.nodes() {
		for i, a := range internal(node) {
			all[i] = all[i] && a.IsValid()
		}
	}
	switch all {
	case [2]bool{true, true}:
		s.family = scenarios.FamilyDual
	case [2]bool{false, true}:
		s.family = scenarios.FamilyIPv6
	default:
		s.family = scenarios.FamilyIPv4
	}
}

// has reports whether an address is of the cluster's families.
func (s *survey) has(a netip.Addr) bool {
	return s.family == scenarios.FamilyDual || a.Is6() == (s.family == scenarios.FamilyIPv6)
}

func (s *survey) node(object *corev1.Node) error {
	node := scenarios.Node{Name: object.Name, Zone: object.Labels[corev1.LabelTopologyZone]}
	s.names[node.Name] = true
	for _, a := range internal(object) {
		if a.IsValid() && s.has(a) {
			node.Addresses = append(node.Addresses, a)
		}
	}
	if len(node.Addresses) == 0 {
		return fmt.Errorf("node %s has no internal address (status.addresses)", node.Name)
	}
	for _, text := range podCIDRs(object) {
		if prefix, err := netip.ParsePrefix(text); err == nil && s.has(prefix.Addr()) {
			node.PodCIDRs = append(node.PodCIDRs, prefix.Masked())
		}
	}
	if node.PodCIDRs == nil {
		node.PodCIDRs = []netip.Prefix{}
	}
	if taken := s.cluster.snapshotOf(node.Name); taken != nil {
		node.ExtraAddresses = s.extraAddresses(taken, &node)
		node.Sysctls = settings(taken)
	}
	for _, a := range slices.Concat(node.Addresses, node.ExtraAddresses) {
		s.taken[a] = true
	}
	s.out.Nodes = append(s.out.Nodes, node)
	return nil
}

func podCIDRs(node *corev1.Node) []string {
	if len(node.Spec.PodCIDRs) == 0 && node.Spec.PodCIDR != "" {
		return []string{node.Spec.PodCIDR}
	}
	return node.Spec.PodCIDRs
}

// extraAddresses are those by which others reach a node beside the addresses of its Node object: not those of
// loopback, of links, or of its side of its pods' links.
func (s *survey) extraAddresses(taken *snapshot.NodeSnapshot, node *scenarios.Node) []netip.Addr {
	var out []netip.Addr
	pods := s.cluster.podsOwn()
	for _, device := range taken.Devices {
		for _, address := range device.Addresses {
			a := address.Prefix.Addr()
			inPods := slices.ContainsFunc(node.PodCIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
			if device.Up && s.has(a) && a.IsGlobalUnicast() && (address.Scope == packetsim.ScopeGlobal || address.Scope == "") && !inPods &&
				!slices.Contains(node.Addresses, a) && !slices.Contains(out, a) && !s.taken[a] && !pods[a] {
				out = append(out, a)
			}
		}
	}
	return out
}

// podsOwn are the addresses of pods with a network of their own. A node that has one of them has what is not its.
func (c *Cluster) podsOwn() map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, pod := range c.pods() {
		if pod.Spec.HostNetwork || hasEnded(pod) {
			continue
		}
		for _, a := range addressesOf(pod) {
			out[a] = true
		}
	}
	return out
}

// settings are the kernel settings that decide about packets and that kube-proxy does not make itself.
func settings(taken *snapshot.NodeSnapshot) map[string]string {
	const liberal = "net.netfilter.nf_conntrack_tcp_be_liberal"
	if value := taken.Sysctls[liberal]; value != "" && value != "0" {
		return map[string]string{liberal: value}
	}
	return nil
}

// takeServices notes the addresses that services have, so that no machine gets one of them.
func (s *survey) takeServices() {
	for _, service := range s.cluster.services() {
		list := slices.Concat(service.Spec.ClusterIPs, service.Spec.ExternalIPs)
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			list = append(list, ingress.IP)
		}
		for _, text := range list {
			if a, ok := parse(text); ok {
				s.taken[a] = true
			}
		}
	}
}

// pods gives the topology the pods behind endpoints, and of the others one for each node: a client that serves nothing.
func (s *survey) pods() {
	serving := s.endpoints()
	bystander := map[string]bool{} // the nodes that have one
	for _, pod := range s.cluster.pods() {
		addresses, ok := s.podAddresses(pod)
		if !ok {
			continue
		}
		serves := slices.ContainsFunc(addresses, func(a netip.Addr) bool {
			return serving[a] || slices.Contains(s.cluster.ends, a) || slices.Contains(s.cluster.found, a)
		})
		if !serves && bystander[pod.Spec.NodeName] {
			continue
		}
		if !serves {
			bystander[pod.Spec.NodeName] = true
		}
		for _, a := range addresses {
			s.taken[a] = true
		}
		s.out.Pods = append(s.out.Pods, scenarios.Pod{Name: s.podName(pod), Node: pod.Spec.NodeName, Addresses: addresses})
	}
	for a := range serving {
		s.taken[a] = true
	}
}

// endpoints are the addresses of all endpoints.
func (s *survey) endpoints() map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, slice := range s.cluster.slices() {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				if a, ok := parse(text); ok && slice.AddressType != discoveryv1.AddressTypeFQDN {
					out[a] = true
				}
			}
		}
	}
	return out
}

// podAddresses are the addresses of a pod that is there with a network of its own: one of each family.
func (s *survey) podAddresses(pod *corev1.Pod) ([]netip.Addr, bool) {
	onNode := slices.ContainsFunc(s.out.Nodes, func(n scenarios.Node) bool { return n.Name == pod.Spec.NodeName })
	if pod.Spec.HostNetwork || !onNode || hasEnded(pod) {
		return nil, false
	}
	var out []netip.Addr
	for _, a := range addressesOf(pod) {
		if s.has(a) && !s.taken[a] && !slices.ContainsFunc(out, func(b netip.Addr) bool { return a.Is6() == b.Is6() }) {
			out = append(out, a)
		}
	}
	want := 1
	if s.family == scenarios.FamilyDual {
		want = 2
	}
	return out, len(out) == want
}

// podName is a name that no other pod, node or machine has.
func (s *survey) podName(pod *corev1.Pod) string {
	name := pod.Name
	if s.names[name] {
		name = pod.Namespace + "." + pod.Name
	}
	s.names[name] = true
	return name
}

// outside are machines that are no part of the cluster: a neighbour of the nodes, one far away, and one in
// each range that a load balancer lets in.
func (s *survey) outside() {
	s.machine("outside", "198.51.100.10", "2001:db8:ffff::10")
	var near []string
	for _, a := range s.out.Nodes[0].Addresses {
		bits := 24
		if a.Is6() {
			bits = 64
		}
		network, _ := a.Prefix(bits)
		near = append(near, s.free(network, 200).String())
	}
	s.machine("neighbour", near...)
	for i, prefix := range s.sourceRanges() {
		if a := s.free(prefix, 100); a.IsValid() {
			s.machine(fmt.Sprintf("allowed%d", i+1), a.String())
		}
	}
}

func (s *survey) machine(name string, addresses ...string) {
	m := scenarios.Machine{Name: name}
	for _, text := range addresses {
		if a, err := netip.ParseAddr(text); err == nil && s.has(a) && !s.taken[a] {
			m.Addresses = append(m.Addresses, a)
			s.taken[a] = true
		}
	}
	if len(m.Addresses) > 0 && !s.names[name] {
		s.names[name] = true
		s.out.Outside = append(s.out.Outside, m)
	}
}

// sourceRanges are the ranges that load balancers let in, sorted, but for those that hold everything or are pods'.
func (s *survey) sourceRanges() []netip.Prefix {
	found := map[netip.Prefix]bool{}
	for _, service := range s.cluster.services() {
		for _, text := range service.Spec.LoadBalancerSourceRanges {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err == nil && s.has(prefix.Addr()) && prefix.Bits() > 0 && !s.overlapsPods(prefix) {
				found[prefix.Masked()] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), netip.Prefix.Compare)
}

func (s *survey) overlapsPods(prefix netip.Prefix) bool {
	return slices.ContainsFunc(s.out.Nodes, func(n scenarios.Node) bool {
		return slices.ContainsFunc(n.PodCIDRs, prefix.Overlaps)
	})
}

// free is an address of a network that nobody has: after the given number of others if there is one, since routers
// and nodes have the first ones. It is invalid if there is none near.
func (s *survey) free(network netip.Prefix, after int) netip.Addr {
	var last netip.Addr
	a := network.Masked().Addr()
	for i := 0; network.Contains(a) && i <= after+256; i, a = i+1, a.Next() {
		if s.taken[a] || i == 0 && !network.IsSingleIP() {
			continue
		}
		if last = a; i >= after {
			break
		}
	}
	return last
}
