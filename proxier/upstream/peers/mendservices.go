package peers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mendedServices are the services that a proxier was told of, as they are and as it was told. Of several that claim an address and a port,
// the first by name has the address.
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
	claims := map[string]bool{}
	names := slices.SortedFunc(maps.Keys(s.there), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		if service := s.there[name]; FollowsService(service) {
			for _, ip := range service.Spec.ClusterIPs {
				claimed(claims, service, ip)
			}
		}
	}
	for _, name := range names {
		was, is := s.told[name], alone(claims, s.there[name])
		if name == at || !reflect.DeepEqual(was.Spec, is.Spec) || !reflect.DeepEqual(was.Status, is.Status) {
			s.told[name] = is
			changes = append(changes, [2]*v1.Service{was, is})
		}
	}
	return changes
}

// alone is a service without addresses that another one has claimed with one of its ports.
func alone(claims map[string]bool, service *v1.Service) *v1.Service {
	out := service.DeepCopy()
	if !FollowsService(service) {
		return out
	}
	own := map[string]bool{} // one may name an address twice
	for _, ip := range service.Spec.ClusterIPs {
		own[ip] = true
	}
	free := func(ip string) bool {
		if !own[ip] && claimed(claims, service, ip) {
			return false
		}
		own[ip] = true
		return true
	}
	out.Spec.ExternalIPs = slices.DeleteFunc(out.Spec.ExternalIPs, func(ip string) bool { return !free(ip) })
	out.Status.LoadBalancer.Ingress = slices.DeleteFunc(out.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool {
		routed := service.Spec.Type == v1.ServiceTypeLoadBalancer && i.IP != "" && (i.IPMode == nil || *i.IPMode == v1.LoadBalancerIPModeVIP)
		return routed && !free(i.IP)
	})
	return out
}

// claimed says whether one of a service's ports at an address was claimed before, and claims them all if not.
func claimed(claims map[string]bool, service *v1.Service, ip string) bool {
	var keys []string
	for _, p := range service.Spec.Ports {
		keys = append(keys, fmt.Sprint(ip, p.Protocol, p.Port))
	}
	if slices.ContainsFunc(keys, func(key string) bool { return claims[key] }) {
		return true
	}
	for _, key := range keys {
		claims[key] = true
	}
	return false
}
