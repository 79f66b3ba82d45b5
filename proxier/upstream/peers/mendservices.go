package peers

import (
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/proxy"
	utilnet "k8s.io/utils/net"
)

// lostAnnotation is what a service that a proxier is told of has in its annotations: the addresses, protocols and ports that another
// service has claimed.
const lostAnnotation = "chainwalk.example/claimed-by-another"

// mendedServices are the services that a proxier was told of, as they are and as it was told. Of several that claim an address and a port,
// one with the address as its cluster IP has it, and otherwise the first by name.
type mendedServices struct {
	there, told map[types.NamespacedName]*v1.Service
}

// change notes that a service is another one (nil: none) now, and says which services the proxier is to be told of, with what it was told
// before.
func (s *mendedServices) change(before, after *v1.Service) (changes [][2]*v1.Service) {
	if s.there == nil {
		s.there, s.told = map[types.NamespacedName]*v1.Service{}, map[types.NamespacedName]*v1.Service{}
	}
	changed := before
	if after != nil {
		changed = after
	}
	at := types.NamespacedName{Namespace: changed.Namespace, Name: changed.Name}
	s.there[at] = after
	if after == nil {
		delete(s.there, at)
		changes = append(changes, [2]*v1.Service{s.told[at], nil})
		delete(s.told, at)
	}
	names := slices.SortedFunc(maps.Keys(s.there), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	lost := s.lost(names)
	for _, name := range names {
		text := strings.Join(lost[name], ",")
		was := s.told[name]
		if name != at && was.Annotations[lostAnnotation] == text {
			continue
		}
		is := s.there[name].DeepCopy()
		if text != "" {
			metav1.SetMetaDataAnnotation(&is.ObjectMeta, lostAnnotation, text)
		}
		s.told[name] = is
		changes = append(changes, [2]*v1.Service{was, is})
	}
	return changes
}

// lost are the claims of each service that others have.
func (s *mendedServices) lost(names []types.NamespacedName) map[types.NamespacedName][]string {
	owners, lost := map[string]types.NamespacedName{}, map[types.NamespacedName][]string{}
	claim := func(addresses func(*v1.Service) []string) {
		for _, name := range names {
			service := s.there[name]
			if !FollowsService(service) {
				continue
			}
			for _, address := range addresses(service) {
				for _, p := range service.Spec.Ports {
					key := claimOf(utilnet.ParseIPSloppy(address), p.Protocol, int(p.Port))
					if owner, ok := owners[key]; !ok {
						owners[key] = name
					} else if owner != name {
						lost[name] = append(lost[name], key)
					}
				}
			}
		}
	}
	claim(func(service *v1.Service) []string { return service.Spec.ClusterIPs })
	claim(func(service *v1.Service) []string {
		out := slices.Clone(service.Spec.ExternalIPs)
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			if service.Spec.Type == v1.ServiceTypeLoadBalancer && ingress.IP != "" &&
				(ingress.IPMode == nil || *ingress.IPMode == v1.LoadBalancerIPModeVIP) {
				out = append(out, ingress.IP)
			}
		}
		return out
	})
	return lost
}

// claimOf is what a service port claims.
func claimOf(ip net.IP, protocol v1.Protocol, port int) string {
	return fmt.Sprintf("%s/%s/%d", ip, protocol, port)
}

// leaveLost takes the addresses from the service ports of a proxier that another service has claimed, as the annotation says.
func leaveLost(proxier any) {
	tracker := *field[*proxy.ServiceChangeTracker](proxier, "serviceChanges")
	makePort := fieldOf(tracker, "makeServiceInfo")
	type maker = func(*v1.ServicePort, *v1.Service, *proxy.BaseServicePortInfo) proxy.ServicePort
	plain := makePort.Convert(reflect.TypeFor[maker]()).Interface().(maker)
	mended := func(port *v1.ServicePort, service *v1.Service, base *proxy.BaseServicePortInfo) proxy.ServicePort {
		if text := service.Annotations[lostAnnotation]; text != "" {
			lost := strings.Split(text, ",")
			for _, name := range []string{"externalIPs", "loadBalancerVIPs"} {
				list := field[[]net.IP](base, name)
				*list = slices.DeleteFunc(*list, func(ip net.IP) bool {
					return slices.Contains(lost, claimOf(ip, base.Protocol(), base.Port()))
				})
			}
		}
		return plain(port, service, base)
	}
	makePort.Set(reflect.ValueOf(mended).Convert(makePort.Type()))
}
