package live

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// filler gives services what an API server gives them when they are applied: cluster IPs and node ports, the same on all sides.
type filler struct {
	taken    map[netip.Addr]bool
	ports    map[int32]bool
	clusters map[types.NamespacedName]map[bool]string // the IPs that were given, by family: true is IPv6
	given    map[string]int32                         // the node ports that were given, by service and port
	names    []string                                 // of services that were given something
}

// fill gives the services of all sides what they lack, and the clusters the EndpointSlices of services that select pods. The clusters are
// new ones; the notes say which services were given addresses.
func fill(sides []Side) (notes []string, err error) {
	f := filler{
		taken: map[netip.Addr]bool{}, ports: map[int32]bool{},
		clusters: map[types.NamespacedName]map[bool]string{}, given: map[string]int32{},
	}
	for _, side := range sides {
		f.take(side.Cluster)
	}
	for i, side := range sides {
		own := *side.Cluster
		own.Objects = slices.Clone(own.Objects)
		v6 := own.firstIsIPv6()
		for k, o := range own.Objects {
			service, is := o.Object.(*corev1.Service)
			if !is {
				continue
			}
			if own.Objects[k], err = manifest.New(f.filled(service.DeepCopy(), v6)); err != nil {
				return nil, err
			}
		}
		change, err := controller.New(own.Objects).Apply(own.Objects)
		if err != nil {
			return nil, err
		}
		own.Objects = append(own.Objects, change.Apply...)
		sides[i].Cluster = &own
	}
	if len(f.names) > 0 {
		slices.Sort(f.names)
		notes = append(notes, "as an API server would, this run has chosen cluster IPs or node ports of services that have none in the files: "+
			strings.Join(slices.Compact(f.names), ", "))
	}
	return notes, nil
}

// take notes the addresses and node ports that services have.
func (f *filler) take(c *Cluster) {
	for _, s := range c.services() {
		for _, text := range append(s.Spec.ClusterIPs, s.Spec.ClusterIP) {
			a, ok := parse(text)
			if !ok {
				continue
			}
			f.taken[a] = true
			name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
			if f.clusters[name] == nil {
				f.clusters[name] = map[bool]string{}
			}
			f.clusters[name][a.Is6()] = text
		}
		for i := range s.Spec.Ports {
			if p := &s.Spec.Ports[i]; p.NodePort != 0 {
				f.ports[p.NodePort], f.given[portKey(s, p)] = true, p.NodePort
			}
		}
	}
}

func portKey(s *corev1.Service, p *corev1.ServicePort) string {
	return fmt.Sprintf("%s/%s %s %d", s.Namespace, s.Name, p.Protocol, p.Port)
}

// firstIsIPv6 says whether a cluster's first family is IPv6: that of its first node.
func (c *Cluster) firstIsIPv6() bool {
	for _, node := range c.nodes() {
		for _, address := range node.Status.Addresses {
			if a, ok := parse(address.Address); ok {
				return a.Is6()
			}
		}
	}
	return false
}

// filled gives a service the cluster IPs and node ports that it lacks.
func (f *filler) filled(s *corev1.Service, v6 bool) *corev1.Service {
	if s.Spec.Type == corev1.ServiceTypeExternalName || s.Spec.ClusterIP == corev1.ClusterIPNone {
		return s
	}
	name := s.Namespace + "/" + s.Name
	if s.Spec.ClusterIP == "" && len(s.Spec.ClusterIPs) == 0 {
		families := s.Spec.IPFamilies
		if len(families) == 0 {
			families = []corev1.IPFamily{map[bool]corev1.IPFamily{false: corev1.IPv4Protocol, true: corev1.IPv6Protocol}[v6]}
		}
		for _, family := range families {
			s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, f.clusterIP(s, family == corev1.IPv6Protocol))
		}
		s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
		f.names = append(f.names, name)
	}
	if s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer ||
		s.Spec.AllocateLoadBalancerNodePorts != nil && !*s.Spec.AllocateLoadBalancerNodePorts {
		return s
	}
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.NodePort == 0 {
			p.NodePort = f.nodePort(portKey(s, p))
			f.names = append(f.names, name)
		}
	}
	return s
}

// clusterIP is the address of a family that a service has on another side, or else a free one of the ranges that kubeadm gives services.
func (f *filler) clusterIP(s *corev1.Service, v6 bool) string {
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if f.clusters[name] == nil {
		f.clusters[name] = map[bool]string{}
	}
	if known := f.clusters[name][v6]; known != "" {
		return known
	}
	first := netip.MustParseAddr("10.96.128.1")
	if v6 {
		first = netip.MustParseAddr("fd00:10:96::8001")
	}
	for f.taken[first] {
		first = first.Next()
	}
	f.taken[first], f.clusters[name][v6] = true, first.String()
	return f.clusters[name][v6]
}

// nodePort is the node port that a service port has on another side, or else a free one of Kubernetes' range.
func (f *filler) nodePort(key string) int32 {
	const first, last = 30000, 32767
	if known := f.given[key]; known != 0 {
		return known
	}
	for port := int32(first); port <= last; port++ {
		if !f.ports[port] {
			f.ports[port], f.given[key] = true, port
			return port
		}
	}
	return 0 // none is free: it stays without
}

// countServices counts the services that any side has.
func countServices(sides []Side) int {
	seen := map[types.NamespacedName]bool{}
	for _, side := range sides {
		for _, s := range side.Cluster.services() {
			seen[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = true
		}
	}
	return len(seen)
}
