package live

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// anonymise gives everything that has a name or an address another one, and the same everywhere. Ports stay: what a
// service does depends on them, and they tell nothing that the kind of service does not.
func (d *draft) anonymise() {
	seen := map[netip.Addr]bool{}
	collect := newRenamer(func(a netip.Addr) netip.Addr {
		seen[a] = true
		return a
	})
	collect.draft(d.copy())
	newRenamer(disguiseFor(seen).address).draft(d)
}

func (d *draft) copy() *draft {
	out := &draft{topology: d.topology, config: d.config.DeepCopy(), own: map[string]*kubeproxyconfig.KubeProxyConfiguration{}}
	out.preload = slices.Clone(d.preload)
	for name, config := range d.own {
		out.own[name] = config.DeepCopy()
	}
	out.topology.Nodes = append(scenarios.Nodes{}, d.topology.Nodes...)
	out.topology.Pods = append([]scenarios.Pod{}, d.topology.Pods...)
	out.topology.Outside = append([]scenarios.Machine{}, d.topology.Outside...)
	for _, o := range d.objects {
		out.objects = append(out.objects, manifest.Object{Object: o.DeepCopyObject()})
	}
	return out
}

// renamer gives names by kind, in the order in which they come.
type renamer struct {
	address func(netip.Addr) netip.Addr
	names   map[string]map[string]string // new names by kind and old name
}

func newRenamer(address func(netip.Addr) netip.Addr) *renamer {
	return &renamer{address: address, names: map[string]map[string]string{}}
}

// name is the new name of something of a kind; what has none has none afterwards.
func (r *renamer) name(kind, old string) string {
	if old == "" {
		return ""
	}
	if r.names[kind] == nil {
		r.names[kind] = map[string]string{}
	}
	if r.names[kind][old] == "" {
		r.names[kind][old] = fmt.Sprintf("%s%d", kind, len(r.names[kind])+1)
	}
	return r.names[kind][old]
}

func (r *renamer) namep(kind string, old *string) *string {
	if old == nil {
		return nil
	}
	name := r.name(kind, *old)
	return &name
}

// text is another address, or prefix, in the place of one. What is neither stays.
func (r *renamer) text(old string) string {
	if a, ok := parse(old); ok {
		return r.address(a).String()
	}
	if p, err := netip.ParsePrefix(strings.TrimSpace(old)); err == nil {
		return r.prefix(p).String()
	}
	return old
}

// prefix is the other value of a prefix: that of its addresses.
func (r *renamer) prefix(p netip.Prefix) netip.Prefix {
	return netip.PrefixFrom(r.address(p.Masked().Addr()), p.Bits()).Masked()
}

func (r *renamer) texts(old []string) []string {
	if old == nil {
		return nil
	}
	out := make([]string, len(old))
	for i, text := range old {
		out[i] = r.text(text)
	}
	return out
}

func (r *renamer) addresses(old []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range old {
		out = append(out, r.address(a))
	}
	return out
}

func (r *renamer) draft(d *draft) {
	for i := range d.topology.Nodes {
		r.node(&d.topology.Nodes[i])
	}
	for i := range d.topology.Pods {
		p := &d.topology.Pods[i]
		p.Name, p.Node, p.Addresses = r.name("pod", p.Node+" "+p.Name), r.name("node", p.Node), r.addresses(p.Addresses)
	}
	for i := range d.topology.Outside {
		m := &d.topology.Outside[i]
		m.Addresses = r.addresses(m.Addresses)
	}
	for _, o := range d.objects {
		switch o := o.Object.(type) {
		case *corev1.Service:
			r.service(o)
		case *discoveryv1.EndpointSlice:
			r.slice(o)
		}
	}
	d.eachConfig(func(c *kubeproxyconfig.KubeProxyConfiguration) {
		c.ClusterCIDR = strings.Join(r.texts(strings.Split(c.ClusterCIDR, ",")), ",")
		c.NodePortAddresses = r.texts(c.NodePortAddresses)
	})
	for i := range d.preload {
		p := &d.preload[i]
		nodes := []string{}
		for _, node := range p.Nodes {
			nodes = append(nodes, r.name("node", node))
		}
		p.Nodes, p.of.renamer = nodes, r
		p.Save, _ = p.of.save()
	}
	own := map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for name, config := range d.own { // the nodes have their names by now
		own[r.name("node", name)] = config
	}
	d.own = own
}

func (r *renamer) node(n *scenarios.Node) {
	n.Name, n.Zone = r.name("node", n.Name), r.name("zone", n.Zone)
	n.Addresses, n.ExtraAddresses = r.addresses(n.Addresses), r.addresses(n.ExtraAddresses)
	cidrs := []netip.Prefix{}
	for _, p := range n.PodCIDRs {
		cidrs = append(cidrs, r.prefix(p))
	}
	n.PodCIDRs = cidrs
}

func (r *renamer) service(s *corev1.Service) {
	old := s.Namespace + "/" + s.Name
	s.Namespace, s.Name = r.name("namespace", s.Namespace), r.name("service", old)
	spec := &s.Spec
	spec.ClusterIP, spec.ClusterIPs = r.text(spec.ClusterIP), r.texts(spec.ClusterIPs)
	spec.ExternalIPs, spec.LoadBalancerIP = r.texts(spec.ExternalIPs), r.text(spec.LoadBalancerIP)
	spec.LoadBalancerSourceRanges = r.texts(spec.LoadBalancerSourceRanges)
	if spec.ExternalName != "" {
		spec.ExternalName = r.name("external", spec.ExternalName) + ".invalid"
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		p.Name = r.name("port", p.Name)
		if p.TargetPort.Type == intstr.String {
			p.TargetPort.StrVal = r.name("port", p.TargetPort.StrVal)
		}
	}
	for i := range s.Status.LoadBalancer.Ingress {
		ingress := &s.Status.LoadBalancer.Ingress[i]
		ingress.IP = r.text(ingress.IP)
		if ingress.Hostname != "" {
			ingress.Hostname = r.name("balancer", ingress.Hostname) + ".invalid"
		}
	}
	r.labels(s.Labels)
}

func (r *renamer) labels(labels map[string]string) {
	if old, ok := labels[labelProxyName]; ok {
		labels[labelProxyName] = r.name("proxy", old)
	}
}

func (r *renamer) slice(s *discoveryv1.EndpointSlice) {
	if service, ok := s.Labels[discoveryv1.LabelServiceName]; ok {
		s.Labels[discoveryv1.LabelServiceName] = r.name("service", s.Namespace+"/"+service)
	}
	r.labels(s.Labels)
	s.Name, s.Namespace = r.name("slice", s.Namespace+"/"+s.Name), r.name("namespace", s.Namespace)
	for i := range s.Ports {
		s.Ports[i].Name = r.namep("port", s.Ports[i].Name)
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if s.AddressType == discoveryv1.AddressTypeFQDN {
			e.Addresses = []string{"endpoint.invalid"}
		}
		e.Addresses = r.texts(e.Addresses)
		e.NodeName, e.Zone = r.namep("node", e.NodeName), r.namep("zone", e.Zone)
		if e.Hints == nil {
			continue
		}
		for j := range e.Hints.ForZones {
			e.Hints.ForZones[j].Name = r.name("zone", e.Hints.ForZones[j].Name)
		}
		for j := range e.Hints.ForNodes {
			e.Hints.ForNodes[j].Name = r.name("node", e.Hints.ForNodes[j].Name)
		}
	}
}
