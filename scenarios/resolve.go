package scenarios

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	netutils "k8s.io/utils/net"
)

// resolver fills a Cluster in; what does not fit is noted with its position.
type resolver struct {
	cluster Cluster
	errs    document.Errors
	names   map[string]bool
}

func (r *resolver) errorf(pos document.Position, format string, args ...any) {
	r.errs = append(r.errs, &document.Error{Position: pos, Msg: fmt.Sprintf(format, args...)})
}

// resolve fills in the topology of a scenario.
func resolve(s *Scenario) (*Cluster, document.Errors) {
	r := resolver{names: map[string]bool{RouterName: true}}
	c := &r.cluster
	c.IPFamily, c.Preload = s.Topology.IPFamily, s.IPTables.Preload
	if c.IPFamily == "" {
		c.IPFamily = FamilyIPv4
	}
	r.nodes(s.Topology.Nodes)
	r.underlay()
	r.pods(s.Topology.Pods)
	r.outside(s.Topology.Outside)
	r.endpointPods(s)
	r.clients(s)
	r.configs(s.KubeProxy)
	c.Objects = append(c.NodeObjects(), s.Objects...)
	return c, r.errs
}

func (r *resolver) take(pos document.Position, name string) {
	if r.names[name] {
		r.errorf(pos, "the name %q is taken (nodes, pods and machines outside share their names)", name)
	}
	r.names[name] = true
}

func (r *resolver) families() []bool {
	switch r.cluster.IPFamily {
	case FamilyIPv6:
		return []bool{true}
	case FamilyDual:
		return []bool{false, true}
	}
	return []bool{false}
}

// offset adds a small number to an address.
func offset(a netip.Addr, n int) netip.Addr {
	b := a.AsSlice()
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		n += int(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	out, _ := netip.AddrFromSlice(b)
	return out
}

func (r *resolver) nodes(given Nodes) {
	if given == nil {
		given = make(Nodes, defaultNodes)
	}
	for i, node := range given {
		if node.Name == "" {
			node.Name = fmt.Sprintf("node%d", i+1)
		}
		r.take(node.Pos, node.Name)
		r.nodeAddresses(&node, i+1)
		r.cluster.Nodes = append(r.cluster.Nodes, node)
	}
}

func (r *resolver) nodeAddresses(node *Node, number int) {
	if node.Addresses == nil {
		for _, v6 := range r.families() {
			base := netip.MustParseAddr(defaultNodeNet4)
			if v6 {
				base = netip.MustParseAddr(defaultNodeNet6)
			}
			node.Addresses = append(node.Addresses, offset(base, number+1))
		}
	}
	if node.PodCIDRs == nil {
		for _, v6 := range r.families() {
			node.PodCIDRs = append(node.PodCIDRs, defaultPodCIDR(v6, number))
		}
	}
	r.checkFamilies(node.Pos, "addresses of "+node.Name, node.Addresses)
	for _, a := range node.ExtraAddresses {
		if !r.cluster.IPFamily.Has(a) {
			r.errorf(node.Pos, "extraAddresses of %s: %s is not of the cluster's family %s", node.Name, a, r.cluster.IPFamily)
		}
	}
}

func defaultPodCIDR(v6 bool, number int) netip.Prefix {
	if v6 {
		b := netip.MustParsePrefix(defaultPods6).Addr().As16()
		b[7] = byte(number)
		return netip.PrefixFrom(netip.AddrFrom16(b), 64)
	}
	b := netip.MustParsePrefix(defaultPods4).Addr().As4()
	b[2] = byte(number)
	return netip.PrefixFrom(netip.AddrFrom4(b), 24)
}

// checkFamilies holds a list to exactly one address for each family of the cluster.
func (r *resolver) checkFamilies(pos document.Position, what string, addresses []netip.Addr) {
	for _, v6 := range r.families() {
		count := 0
		for _, a := range addresses {
			if a.Is6() == v6 {
				count++
			}
		}
		if count != 1 {
			r.errorf(pos, "%s: want one %s address, got %d", what, familyName(v6), count)
		}
	}
	for _, a := range addresses {
		if !r.cluster.IPFamily.Has(a) {
			r.errorf(pos, "%s: %s is not of the cluster's family %s", what, a, r.cluster.IPFamily)
		}
	}
}

func familyName(v6 bool) IPFamily {
	if v6 {
		return FamilyIPv6
	}
	return FamilyIPv4
}

// underlay collects the networks that the nodes' addresses are in.
func (r *resolver) underlay() {
	c := &r.cluster
	for _, node := range c.Nodes {
		for _, a := range node.Addresses {
			network := underlayOf(a)
			if slices.Contains(c.Underlay, network) {
				continue
			}
			c.Underlay = append(c.Underlay, network)
			c.Router = append(c.Router, r.routerAddress(network))
		}
	}
}

func underlayOf(a netip.Addr) netip.Prefix {
	bits := underlayBits4
	if a.Is6() {
		bits = underlayBits6
	}
	network, _ := a.Prefix(bits)
	return network
}

// routerAddress is the first address of the network that no node has.
func (r *resolver) routerAddress(network netip.Prefix) netip.Addr {
	for a := offset(network.Addr(), routerHostNumber); ; a = a.Next() {
		if r.cluster.nodeWith(a) == nil {
			return a
		}
	}
}

func (r *resolver) pods(given []Pod) {
	for i, pod := range given {
		r.take(pod.Pos, pod.Name)
		node := r.cluster.Node(pod.Node)
		if node == nil {
			r.errorf(pod.Pos, "pod %s: there is no node %q%s", pod.Name, pod.Node, document.Suggest(pod.Node, r.cluster.nodeNames()))
			continue
		}
		if pod.Addresses == nil {
			for _, cidr := range node.PodCIDRs {
				pod.Addresses = append(pod.Addresses, offset(cidr.Masked().Addr(), firstPodAddress+i))
			}
		}
		r.checkFamilies(pod.Pos, "addresses of pod "+pod.Name, pod.Addresses)
		r.checkFree(pod.Pos, pod.Addresses)
		r.cluster.Pods = append(r.cluster.Pods, pod)
	}
}

func (r *resolver) checkFree(pos document.Position, addresses []netip.Addr) {
	for _, a := range addresses {
		if owner := r.cluster.Owner(a); owner != "" {
			r.errorf(pos, "%s already has the address %s", owner, a)
		}
	}
}

func (r *resolver) outside(given []Machine) {
	for _, m := range given {
		r.take(m.Pos, m.Name)
		r.checkFree(m.Pos, m.Addresses)
		for _, a := range m.Addresses {
			if !r.cluster.IPFamily.Has(a) {
				r.errorf(m.Pos, "addresses of %s: %s is not of the cluster's family %s", m.Name, a, r.cluster.IPFamily)
			}
		}
		r.cluster.Outside = append(r.cluster.Outside, m)
	}
}

// endpointPods makes a pod behind every endpoint that the scenario ever has.
func (r *resolver) endpointPods(s *Scenario) {
	objects := slices.Clone(s.Objects)
	for i := range s.Steps {
		objects = append(objects, s.Steps[i].Apply...)
	}
	for _, o := range objects {
		slice, ok := o.Object.(*discoveryv1.EndpointSlice)
		if !ok || slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				r.endpoint(o, slice, endpoint.NodeName, address)
			}
		}
	}
}

func (r *resolver) endpoint(o manifest.Object, slice *discoveryv1.EndpointSlice, nodeName *string, address string) {
	c := &r.cluster
	std, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(address))
	a := std.Unmap()
	if node := c.nodeWith(a); node != nil {
		listenOn(node, a, slice.Ports)
		return
	}
	if c.Owner(a) != "" || !c.IPFamily.Has(a) {
		return
	}
	switch {
	case nodeName != nil && c.Node(*nodeName) == nil:
		r.errorf(o.Pos, "the endpoint %s is on the node %q, which the topology does not have%s", a, *nodeName, document.Suggest(*nodeName, c.nodeNames()))
	case nodeName != nil:
		c.Pods = append(c.Pods, Pod{Name: a.String(), Node: *nodeName, Addresses: []netip.Addr{a}})
	default:
		r.byAddress(a)
	}
}

// listenOn gives a node the processes behind endpoints that are the node itself.
func listenOn(node *Node, a netip.Addr, ports []discoveryv1.EndpointPort) {
	for _, p := range ports {
		if p.Port == nil {
			continue
		}
		proto := map[corev1.Protocol]string{corev1.ProtocolTCP: "tcp", corev1.ProtocolUDP: "udp", corev1.ProtocolSCTP: "sctp"}[*p.Protocol]
		l := Listener{Proto: proto, Addr: a, Port: uint16(*p.Port)}
		if !slices.Contains(node.Listen, l) {
			node.Listen = append(slices.Clip(node.Listen), l) // the list is the file's
		}
	}
}

// byAddress makes what an address must be: a pod if a node's podCIDR holds it,
// otherwise a machine outside.
func (r *resolver) byAddress(a netip.Addr) {
	c := &r.cluster
	for _, node := range c.Nodes {
		for _, cidr := range node.PodCIDRs {
			if cidr.Contains(a) {
				c.Pods = append(c.Pods, Pod{Name: a.String(), Node: node.Name, Addresses: []netip.Addr{a}})
				return
			}
		}
	}
	c.Outside = append(c.Outside, Machine{Name: a.String(), Addresses: []netip.Addr{a}})
}

// clients makes the machines that steps name by an address that nothing has yet.
func (r *resolver) clients(s *Scenario) {
	for i := range s.Steps {
		for _, c := range s.Steps[i].connections() {
			if a, err := netip.ParseAddr(c.From); err == nil && r.cluster.Owner(a) == "" && r.cluster.IPFamily.Has(a) {
				r.byAddress(a)
			}
		}
	}
}

// connections are the connections of a connect or cases step.
func (s *Step) connections() []*Connect {
	var out []*Connect
	if s.Connect != nil {
		out = append(out, s.Connect)
	}
	for i := range s.Cases {
		out = append(out, &s.Cases[i])
	}
	return out
}

func (r *resolver) configs(common KubeProxy) {
	r.cluster.Configs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for _, node := range r.cluster.Nodes {
		config := &kubeproxyconfig.KubeProxyConfiguration{
			Mode:             "iptables",
			HostnameOverride: node.Name,
			ClusterCIDR:      r.cluster.podRange(),
		}
		common.over(config)
		node.KubeProxy.over(config)
		r.cluster.Configs[node.Name] = config
	}
}

// podRange covers the podCIDRs of all nodes: one prefix for each family.
func (c *Cluster) podRange() string {
	var out string
	for _, usual := range []string{defaultPods4, defaultPods6} {
		cover := netip.MustParsePrefix(usual)
		found := false
		for _, node := range c.Nodes {
			for _, cidr := range node.PodCIDRs {
				if cidr.Addr().Is6() != cover.Addr().Is6() {
					continue
				}
				if !found && (!cover.Contains(cidr.Addr()) || cover.Bits() > cidr.Bits()) {
					cover = cidr
				}
				found = true
				cover = widen(cover, cidr)
			}
		}
		if found && out != "" {
			out += ","
		}
		if found {
			out += cover.Masked().String()
		}
	}
	return out
}

// widen is the smallest prefix that holds both.
func widen(a, b netip.Prefix) netip.Prefix {
	bits := min(a.Bits(), b.Bits())
	for ; bits > 0; bits-- {
		if netip.PrefixFrom(a.Addr(), bits).Contains(b.Addr()) {
			break
		}
	}
	return netip.PrefixFrom(a.Addr(), bits).Masked()
}
