package gen

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
)

// node is a node of the cluster and the pods behind endpoints that it may have.
type node struct {
	name   string
	number int // counted from 1, as its default addresses are
	zone   string
	extra  bool // it has addresses beside its main ones
}

var (
	zones = []string{"zone-a", "zone-b"}
	// The machines that every scenario has, if its cluster has the family.
	neighbours = map[corev1.IPFamily]string{corev1.IPv4Protocol: "192.168.0.99", corev1.IPv6Protocol: "2001:db8::99"}
	// neighbourhoods are the networks of the nodes' main addresses.
	neighbourhoods = map[corev1.IPFamily]string{corev1.IPv4Protocol: "192.168.0.0/24", corev1.IPv6Protocol: "2001:db8::/64"}
	outsiders      = map[corev1.IPFamily]string{corev1.IPv4Protocol: "203.0.113.7", corev1.IPv6Protocol: "2001:db8:9::7"}
)

// setup chooses the machines of a cluster, and what is on them before kube-proxy starts.
type setup struct {
	mixture
	cluster *cluster
	out     *scenarios.Scenario
}

func (u *setup) topology() {
	t := &u.out.Topology
	t.IPFamily, u.cluster.families = scenarios.FamilyIPv4, []corev1.IPFamily{corev1.IPv4Protocol}
	switch {
	case u.has.Has(DualStack):
		t.IPFamily, u.cluster.families = scenarios.FamilyDual, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	case u.has.Has(IPv6Only):
		t.IPFamily, u.cluster.families = scenarios.FamilyIPv6, []corev1.IPFamily{corev1.IPv6Protocol}
	}
	u.makeNodes(t)
	u.makePods(t)
	u.makeMachines(t)
}

func (u *setup) makeNodes(t *scenarios.Topology) {
	count := 1
	if u.has.Has(SeveralNodes) {
		count = choose(u.draw, []weighted[int]{{40, 2}, {60, 3}})
	}
	for i := range count {
		n := node{name: fmt.Sprintf("node%d", i+1), number: i + 1}
		if u.has.Has(Zones) && u.in(9, 10) {
			n.zone = zones[i%len(zones)]
		}
		one := scenarios.Node{Name: n.name, Zone: n.zone}
		if u.has.Has(ExtraAddresses) && u.in(1, 2) {
			n.extra = true
			for _, f := range u.cluster.families {
				one.ExtraAddresses = append(one.ExtraAddresses, parse(extraAddress(f, n.number)))
			}
		}
		if u.has.Has(HostProcesses) && u.in(2, 3) {
			one.Listen = u.hostProcesses()
		}
		if u.has.Has(TCPLiberal) && u.in(1, 2) {
			one.Sysctls = map[string]string{"net.netfilter.nf_conntrack_tcp_be_liberal": "1"}
		}
		if u.has.Has(NoLocalhostNodePorts) && !u.options.OwnSysctls && u.in(1, 2) { // as a kube-proxy that served them leaves it
			if one.Sysctls == nil {
				one.Sysctls = map[string]string{}
			}
			one.Sysctls["net.ipv4.conf.all.route_localnet"] = "1"
		}
		u.cluster.nodes = append(u.cluster.nodes, n)
		t.Nodes = append(t.Nodes, one)
	}
}

// hostProcesses listen on ports of their own, and where node ports and services will be.
func (u *setup) hostProcesses() []scenarios.Listener {
	out := []scenarios.Listener{{Proto: "tcp", Port: 22}}
	if u.in(1, 2) {
		out = append(out, scenarios.Listener{Proto: pick(u.draw, "tcp", "udp"), Port: 30001})
	}
	if u.in(1, 3) {
		out = append(out, scenarios.Listener{Proto: "tcp", Addr: loopback(u.cluster.families[0]), Port: 10255})
	}
	return out
}

// makePods makes the pods that are clients only. Those behind endpoints need not be given.
func (u *setup) makePods(t *scenarios.Topology) {
	count := 1
	if len(u.cluster.nodes) > 1 {
		count = choose(u.draw, []weighted[int]{{60, 2}, {40, 1}})
	}
	for i := range count {
		t.Pods = append(t.Pods, scenarios.Pod{Name: fmt.Sprintf("client%d", i+1), Node: u.cluster.nodes[i].name})
	}
}

func (u *setup) makeMachines(t *scenarios.Topology) {
	addresses := func(of map[corev1.IPFamily]string) []netip.Addr {
		var list []string
		for _, f := range u.cluster.families {
			list = append(list, of[f])
		}
		return addressesOf(list...)
	}
	t.Outside = append(t.Outside, scenarios.Machine{Name: "internet", Addresses: addresses(outsiders)})
	if u.in(1, 2) {
		t.Outside = append(t.Outside, scenarios.Machine{Name: "neighbour", Addresses: addresses(neighbours)})
	}
}

func addressesOf(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range list {
		out = append(out, parse(a))
	}
	return out
}

func loopback(f corev1.IPFamily) netip.Addr {
	if f == corev1.IPv6Protocol {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// nodeAddress is the main address of a node, as scenarios gives it out.
func nodeAddress(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8::%x", number+1)
	}
	return fmt.Sprintf("192.168.0.%d", number+1)
}

func extraAddress(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8:1::%x", number+1)
	}
	return fmt.Sprintf("192.168.1.%d", number+1)
}

// podAddress is an address of a node's podCIDR.
func podAddress(f corev1.IPFamily, number, pod int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("fd00:10:244:%x::%x", number, pod)
	}
	return fmt.Sprintf("10.244.%d.%d", number, pod)
}

// farAddress is an address of no node.
func farAddress(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8:99::%x", number)
	}
	return fmt.Sprintf("192.0.2.%d", number)
}
