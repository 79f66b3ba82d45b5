package peers

import (
	"reflect"
	"slices"
	"strings"

	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/utils/net"
)

// mendedSlices are the slices that a proxier was told of, as they are and as it was told.
type mendedSlices struct {
	there, told map[types.NamespacedName]*discovery.EndpointSlice
}

// change notes that a slice is another one (nil: none) now, and says which slices the proxier is to be told of, with what it was told
// before.
func (s *mendedSlices) change(mends Mends, before, after *discovery.EndpointSlice) (changes [][2]*discovery.EndpointSlice) {
	if s.there == nil {
		s.there, s.told = map[types.NamespacedName]*discovery.EndpointSlice{}, map[types.NamespacedName]*discovery.EndpointSlice{}
	}
	at := nameOf(before, after)
	s.there[at] = after
	if after == nil {
		delete(s.there, at)
	}
	others := []types.NamespacedName{at}
	for name := range s.there {
		if name != at && mends.has(SlicesInOrder) {
			others = append(others, name)
		}
	}
	slices.SortFunc(others, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range others {
		was, is := s.told[name], s.mended(mends, s.there[name])
		if name != at && sameEndpoints(was, is) {
			continue
		}
		s.told[name] = is
		changes = append(changes, [2]*discovery.EndpointSlice{was, is})
	}
	return changes
}

func nameOf(list ...*discovery.EndpointSlice) types.NamespacedName {
	i := slices.IndexFunc(list, func(s *discovery.EndpointSlice) bool { return s != nil })
	return types.NamespacedName{Namespace: list[i].Namespace, Name: list[i].Name}
}

// saysTheSame says whether two states of a slice differ in what means nothing to a proxier, such as annotations.
func saysTheSame(a, b *discovery.EndpointSlice) bool {
	return a.AddressType == b.AddressType && reflect.DeepEqual(a.Labels, b.Labels) && reflect.DeepEqual(a.Ports, b.Ports) &&
		slices.EqualFunc(a.Endpoints, b.Endpoints, func(a, b discovery.Endpoint) bool {
			a.TargetRef, b.TargetRef = nil, nil
			return reflect.DeepEqual(a, b)
		})
}

func sameEndpoints(a, b *discovery.EndpointSlice) bool {
	return reflect.DeepEqual(a.Endpoints, b.Endpoints)
}

// mended is a slice without what is to be left out.
func (s *mendedSlices) mended(mends Mends, slice *discovery.EndpointSlice) *discovery.EndpointSlice {
	if slice == nil {
		return nil
	}
	out := slice.DeepCopy()
	out.Endpoints = slices.DeleteFunc(out.Endpoints, func(e discovery.Endpoint) bool {
		return mends.has(OwnFamilyOnly) && otherFamily(slice, &e) || mends.has(SlicesInOrder) && s.later(slice, &e)
	})
	return out
}

func otherFamily(slice *discovery.EndpointSlice, e *discovery.Endpoint) bool {
	ip := utilnet.ParseIPSloppy(e.Addresses[0])
	return ip != nil && (ip.To4() == nil) != (slice.AddressType == discovery.AddressTypeIPv6)
}

// later says whether a slice of the same service with the same ports and a later name has an endpoint too.
func (s *mendedSlices) later(slice *discovery.EndpointSlice, e *discovery.Endpoint) bool {
	for _, other := range s.there {
		if other.Namespace == slice.Namespace && other.Name > slice.Name && other.AddressType == slice.AddressType &&
			other.Labels[discovery.LabelServiceName] == slice.Labels[discovery.LabelServiceName] && reflect.DeepEqual(other.Ports, slice.Ports) &&
			slices.ContainsFunc(other.Endpoints, func(o discovery.Endpoint) bool {
				return utilnet.ParseIPSloppy(o.Addresses[0]).Equal(utilnet.ParseIPSloppy(e.Addresses[0]))
			}) {
			return true
		}
	}
	return false
}
