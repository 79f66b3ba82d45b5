package kind

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Mapping says which node, pod and address of the cluster stands for which of a scenario. Both ways are one to one. Addresses that are met
// for the first time are given one when they are asked for; the same questions in the same order give the same answers.
type Mapping struct {
	facts   *Facts
	cluster *scenarios.Cluster
	nodes   map[string]string // of the scenario to that of the cluster
	hosts   map[string]Host
	shared  map[string]bool // pods of the scenario that are in one pod of the pool with others
	to      map[netip.Addr]netip.Addr
	back    map[netip.Addr]netip.Addr
	ranges  map[netip.Prefix]netip.Prefix // back: the ranges that were mapped
	next    map[netip.Prefix]netip.Addr   // the address that was given last, by range
	used    map[string]int                // how many pods of the pool are in use, by node
	real    map[manifest.Ref]cluster.Pod  // the pods that were made for Pod objects
}

// Host is where a node, pod or machine of a scenario is in the cluster.
type Host struct {
	// Machine is the node's name, or that of the container outside: where the relay is.
	Machine string
	Agent   string
	// Addresses are the host's own addresses in the cluster.
	Addresses []netip.Addr
}

// Map maps a scenario's cluster as it is at its start. The error says what the cluster has too little of.
func Map(facts *Facts, c *scenarios.Cluster) (*Mapping, error) {
	m := &Mapping{
		facts: facts, cluster: c, nodes: map[string]string{}, hosts: map[string]Host{}, shared: map[string]bool{},
		to: map[netip.Addr]netip.Addr{}, back: map[netip.Addr]netip.Addr{},
		ranges: map[netip.Prefix]netip.Prefix{}, next: map[netip.Prefix]netip.Addr{}, used: map[string]int{},
		real: map[manifest.Ref]cluster.Pod{},
	}
	for _, v6 := range families(c.IPFamily) {
		if !facts.has(v6) {
			return nil, fmt.Errorf("the cluster has no %s", familyName(v6))
		}
	}
	if len(c.Nodes) > len(facts.Nodes) {
		return nil, fmt.Errorf("it has %d nodes, and the cluster has %d", len(c.Nodes), len(facts.Nodes))
	}
	for i := range c.Nodes {
		m.mapNode(&c.Nodes[i], &facts.Nodes[i])
	}
	for i := range c.Nodes {
		for _, a := range c.Nodes[i].ExtraAddresses {
			m.give(a, upperHalf(rangeOf(facts.Networks, a.Is6())))
		}
	}
	if err := m.startPods(c.Pods); err != nil {
		return nil, err
	}
	for _, a := range c.ServiceIPs { // one may be called before it is a service's
		if facts.has(a.Is6()) {
			m.clusterIP(a)
		}
	}
	for i := range c.Outside {
		m.mapMachine(&c.Outside[i])
	}
	return m, nil
}

func familyName(v6 bool) scenarios.IPFamily {
	if v6 {
		return scenarios.FamilyIPv6
	}
	return scenarios.FamilyIPv4
}

// pair makes two addresses stand for one another.
func (m *Mapping) pair(of, in netip.Addr) netip.Addr {
	m.to[of], m.back[in] = in, of
	return in
}

func (m *Mapping) mapNode(n *scenarios.Node, real *cluster.Node) {
	m.nodes[n.Name] = real.Name
	m.hosts[n.Name] = Host{Machine: real.Name, Agent: real.Name, Addresses: real.Addresses}
	for _, a := range n.Addresses {
		m.pair(a, ofFamily(real.Addresses, a.Is6()))
	}
	for _, cidr := range n.PodCIDRs {
		in := rangeOf(real.PodCIDRs, cidr.Addr().Is6())
		if gateway := cidr.Masked().Addr().Next(); in.IsValid() && !m.to[gateway].IsValid() {
			m.pair(gateway, in.Masked().Addr().Next())
		}
	}
}

// startPods gives each pod one of the pool, on the node that its own is mapped on. What is more than the pool has shares pods with
// others: they get further addresses. A pod with the address of one that was stopped gets that one's place.
func (m *Mapping) startPods(pods []scenarios.Pod) error {
	for i := range pods {
		p := &pods[i]
		if p.Object != nil {
			if err := m.ownPod(p); err != nil {
				return err
			}
			continue
		}
		node := m.nodes[p.Node]
		pool := m.facts.podsOn(node)
		if len(pool) == 0 {
			return fmt.Errorf("the pod %s needs one on %s, where the pool has none", p.Name, node)
		}
		if place := slices.IndexFunc(pool, func(in cluster.Pod) bool { return slices.Contains(in.Addresses, m.to[p.Addresses[0]]) }); place >= 0 {
			m.hosts[p.Name] = Host{Machine: node, Agent: pool[place].Name, Addresses: pool[place].Addresses}
			continue
		}
		place := m.used[node]
		m.used[node]++
		if place >= len(pool) {
			m.share(p, &pool[len(pool)-1-place%max(len(pool)-1, 1)]) // the first one stays as it is for as long as there are others
			continue
		}
		m.hosts[p.Name] = Host{Machine: node, Agent: pool[place].Name, Addresses: pool[place].Addresses}
		for _, a := range p.Addresses {
			if _, known := m.to[a]; known {
				return fmt.Errorf("the pod %s has the address %s, which has another place in the cluster", p.Name, a)
			}
			m.pair(a, ofFamily(pool[place].Addresses, a.Is6()))
		}
	}
	return nil
}

// ownPod gives the pod of a Pod object the real one that was made for it. As long as none was, addresses are put by for it.
func (m *Mapping) ownPod(p *scenarios.Pod) error {
	ref := refOf(p.Object)
	host := Host{Machine: m.nodes[p.Node], Agent: agentOf(ref)}
	real, made := m.real[ref]
	for _, a := range p.Addresses {
		if !made {
			host.Addresses = append(host.Addresses, m.To(a))
			continue
		}
		in := ofFamily(real.Addresses, a.Is6())
		if of, used := m.back[in]; used && of != a {
			return fmt.Errorf("the pod %s has got the address %s, which stands for %s", p.Name, in, of)
		}
		delete(m.back, m.to[a])
		host.Addresses = append(host.Addresses, m.pair(a, in))
	}
	m.hosts[p.Name] = host
	return nil
}

// stopPods forgets the names of pods. Their addresses keep their places.
func (m *Mapping) stopPods(names []string) {
	for _, name := range names {
		delete(m.hosts, name)
	}
}

// share makes a pod a further address of one of the pool.
func (m *Mapping) share(p *scenarios.Pod, in *cluster.Pod) {
	host := Host{Machine: in.Node, Agent: in.Name}
	for _, a := range p.Addresses {
		host.Addresses = append(host.Addresses, m.give(a, rangeOf(m.facts.node(in.Node).PodCIDRs, a.Is6())))
	}
	m.hosts[p.Name], m.shared[p.Name] = host, true
	for name, other := range m.hosts {
		if other.Agent == in.Name {
			m.shared[name] = true
		}
	}
}

func (m *Mapping) mapMachine(machine *scenarios.Machine) {
	host := Host{Machine: m.facts.Outside.Name, Agent: m.facts.Outside.Name}
	for _, a := range machine.Addresses {
		host.Addresses = append(host.Addresses, m.To(a))
	}
	m.hosts[machine.Name] = host
}

// Node is the cluster's name of a scenario's node; any other name is as it is.
func (m *Mapping) Node(name string) string {
	if in, ok := m.nodes[name]; ok {
		return in
	}
	return name
}

// Host is where a node, pod or machine of the scenario is. It is false for a name that the scenario does not have.
func (m *Mapping) Host(name string) (Host, bool) {
	h, ok := m.hosts[name]
	return h, ok
}

// agents are the agents of all hosts, in order.
func (m *Mapping) agents() []agent {
	var out []agent
	for _, name := range sorted(m.hosts) {
		if a := (agent{m.hosts[name].Machine, m.hosts[name].Agent}); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// givenAddresses are the addresses of the pool, and the cluster's addresses that stand for the scenario's, without the nodes' own.
func (m *Mapping) givenAddresses() []netip.Addr {
	var out []netip.Addr
	for i := range m.facts.Pods {
		out = append(out, m.facts.Pods[i].Addresses...)
	}
	for in := range m.back {
		if !slices.ContainsFunc(m.facts.Nodes, func(n cluster.Node) bool { return slices.Contains(n.Addresses, in) }) {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// Shared reports whether a pod of the scenario is in a pod of the pool with another one, so that they reach one another without a node.
func (m *Mapping) Shared(pod string) bool { return m.shared[pod] }

// added reports whether a pod's addresses are further ones of a pod of the pool.
func (m *Mapping) added(pod string) bool {
	host := m.hosts[pod]
	return m.shared[pod] && !slices.ContainsFunc(m.facts.Pods, func(in cluster.Pod) bool {
		return in.Name == host.Agent && slices.Equal(in.Addresses, host.Addresses)
	})
}

// To is the cluster's address for one of the scenario.
func (m *Mapping) To(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if in, ok := m.to[a]; ok || !a.IsValid() {
		return in
	}
	if !a.IsGlobalUnicast() { // loopback, unspecified, multicast: the same everywhere
		return a
	}
	for i := range m.cluster.Nodes {
		n := &m.cluster.Nodes[i]
		for _, cidr := range n.PodCIDRs {
			if cidr.Contains(a) {
				return m.give(a, rangeOf(m.facts.node(m.nodes[n.Name]).PodCIDRs, a.Is6()))
			}
		}
	}
	for _, network := range m.cluster.Underlay {
		if network.Contains(a) {
			return m.give(a, rangeOf(m.facts.Networks, a.Is6()))
		}
	}
	if m.free(a) && !m.inUse(a) {
		return m.pair(a, a)
	}
	return m.give(a, elsewhere(a.Is6()))
}

// clusterIP is the cluster's address for a cluster IP of the scenario.
func (m *Mapping) clusterIP(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if in, ok := m.to[a]; ok {
		return in
	}
	services := rangeOf(m.facts.Services, a.Is6())
	if services.Contains(a) && m.free(a) {
		return m.pair(a, a)
	}
	return m.give(a, services)
}

// elsewhere is a range for addresses outside that are in use in the cluster: that of benchmarks, or one of nobody.
func elsewhere(v6 bool) netip.Prefix {
	if v6 {
		return netip.MustParsePrefix("fd00:c4a1::/64")
	}
	return netip.MustParsePrefix("198.18.0.0/16")
}

// inUse reports whether an address is in a range that means something in the cluster.
func (m *Mapping) inUse(a netip.Addr) bool {
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	return slices.ContainsFunc(m.facts.Networks, in) || slices.ContainsFunc(m.facts.Services, in) ||
		slices.ContainsFunc(m.facts.Nodes, func(n cluster.Node) bool { return slices.ContainsFunc(n.PodCIDRs, in) })
}

// free reports whether an address of the cluster stands for none yet, and nobody has it.
func (m *Mapping) free(a netip.Addr) bool {
	if _, used := m.back[a]; used || slices.Contains(m.facts.TakenIPs, a) || slices.Contains(m.facts.Outside.Addresses, a) {
		return false
	}
	owns := func(addresses []netip.Addr) bool { return slices.Contains(addresses, a) }
	return !slices.ContainsFunc(m.facts.Nodes, func(n cluster.Node) bool { return owns(n.Addresses) }) &&
		!slices.ContainsFunc(m.facts.Pods, func(p cluster.Pod) bool { return owns(p.Addresses) }) &&
		!slices.ContainsFunc(slices.Collect(maps.Values(m.real)), func(p cluster.Pod) bool { return owns(p.Addresses) })
}

// lowerHalf and upperHalf are the halves of a range.
func lowerHalf(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(p.Addr(), p.Bits()+1).Masked() }

func upperHalf(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(lastOf(p), p.Bits()+1).Masked() }

// ownShare is the part of a range that addresses are given of: all of it, unless others give addresses of it to their clusters at the
// same time.
func (m *Mapping) ownShare(p netip.Prefix) netip.Prefix {
	if m.facts.Place == 0 || !slices.ContainsFunc(m.facts.Networks, p.Overlaps) {
		return p
	}
	return upperHalf(lowerHalf(p))
}

// firstGiven is how far from the beginning of a range the addresses are that are given: those before it others may get of their own
// accord, such as Docker and the plugins of pods.
const firstGiven = 128

// give gives an address the next free one of a range.
func (m *Mapping) give(a netip.Addr, in netip.Prefix) netip.Addr {
	last, begun := m.next[in]
	if !begun {
		last = m.ownShare(in).Masked().Addr()
		for range firstGiven {
			last = last.Next()
		}
	}
	for last = last.Next(); !m.free(last); last = last.Next() {
	}
	if !m.ownShare(in).Contains(last) {
		panic(fmt.Sprintf("kind: no address is left in %s for %s", in, a))
	}
	m.next[in] = last
	return m.pair(a, last)
}

// Back is the scenario's address for one of the cluster. Others are as they are.
func (m *Mapping) Back(a netip.Addr) netip.Addr {
	if of, ok := m.back[a.Unmap()]; ok {
		return of
	}
	return a
}

// ToPort and BackPort map the address, and leave the port.
func (m *Mapping) ToPort(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(m.To(a.Addr()), a.Port())
}

// BackPort maps the address back, and leaves the port.
func (m *Mapping) BackPort(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(m.Back(a.Addr()), a.Port())
}

// Owner is the node, pod or machine of the scenario that has an address of the scenario; empty if none has it.
func (m *Mapping) Owner(a netip.Addr) string {
	for i := range m.cluster.Nodes {
		if n := &m.cluster.Nodes[i]; slices.Contains(n.Addresses, a) || slices.Contains(n.ExtraAddresses, a) {
			return n.Name
		}
	}
	for i := range m.cluster.Pods {
		if slices.Contains(m.cluster.Pods[i].Addresses, a) {
			return m.cluster.Pods[i].Name
		}
	}
	for i := range m.cluster.Outside {
		if slices.Contains(m.cluster.Outside[i].Addresses, a) {
			return m.cluster.Outside[i].Name
		}
	}
	return ""
}
