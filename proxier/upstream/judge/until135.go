package judge

import (
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// correct returns the slices that a kube-proxy has to be given that starts now, if it is to do what ours does: without those of other
// proxies, and for kube-proxy until v1.35 with one endpoint only of those of a service port that have the same address. It says whether
// there were more.
func correct(objects *cases.Objects, family v1.IPFamily) (all []*discovery.EndpointSlice, duplicates bool) {
	for _, slice := range objects.SortedSlices() {
		if !peers.OfAnotherProxy(slice) {
			all = append(all, slice)
		}
	}
	if peers.Minor >= 36 {
		return all, false
	}
	chosen, duplicates := chooseEndpoints(all, family)
	if !duplicates {
		return all, false
	}
	var single []*discovery.EndpointSlice
	for _, slice := range all {
		single = append(single, chosen.only(slice, family)...)
	}
	return single, true
}

// placeOfEndpoint is an address at a port of a service.
type placeOfEndpoint struct {
	service types.NamespacedName
	port    string
	address netip.Addr
}

// endpointOf is an endpoint of a slice, by their places in the lists.
type endpointOf struct {
	slice string
	index int
}

type chosenEndpoints map[placeOfEndpoint]endpointOf

// chooseEndpoints takes the last endpoint that does not terminate, or the first if all do, slices by name. It says whether any
// was left out.
func chooseEndpoints(all []*discovery.EndpointSlice, family v1.IPFamily) (chosen chosenEndpoints, duplicates bool) {
	chosen = chosenEndpoints{}
	for _, slice := range all {
		if slice.AddressType != discovery.AddressType(family) || !peers.BothFollow(slice) {
			continue
		}
		for p := range slice.Ports {
			for i := range slice.Endpoints {
				at, ok := placeOf(slice, p, i)
				if !ok {
					continue
				}
				_, taken := chosen[at]
				duplicates = duplicates || taken
				if t := slice.Endpoints[i].Conditions.Terminating; !taken || t == nil || !*t {
					chosen[at] = endpointOf{slice.Name, i}
				}
			}
		}
	}
	return chosen, duplicates
}

// placeOf is where an endpoint of a slice is reached through a port of it.
func placeOf(slice *discovery.EndpointSlice, port, index int) (placeOfEndpoint, bool) {
	p := &slice.Ports[port]
	if p.Name == nil || p.Port == nil {
		return placeOfEndpoint{}, false
	}
	service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discovery.LabelServiceName]}
	return placeOfEndpoint{
		service, fmt.Sprintf("%s/%s/%d", *p.Name, *p.Protocol, *p.Port), parse(slice.Endpoints[index].Addresses[0]),
	}, true
}

// only makes a slice for each port, with the endpoints that are chosen there.
func (c chosenEndpoints) only(slice *discovery.EndpointSlice, family v1.IPFamily) []*discovery.EndpointSlice {
	if slice.AddressType != discovery.AddressType(family) || !peers.BothFollow(slice) {
		return []*discovery.EndpointSlice{slice}
	}
	var single []*discovery.EndpointSlice
	for p := range slice.Ports {
		s := slice.DeepCopy()
		s.Name, s.Ports, s.Endpoints = fmt.Sprintf("%s-%d", slice.Name, p), s.Ports[p:p+1], nil
		for i := range slice.Endpoints {
			if at, ok := placeOf(slice, p, i); ok && c[at] == (endpointOf{slice.Name, i}) {
				s.Endpoints = append(s.Endpoints, slice.Endpoints[i])
			}
		}
		single = append(single, s)
	}
	return single
}
