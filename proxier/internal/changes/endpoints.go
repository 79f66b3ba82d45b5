package changes

import (
	"bytes"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// sliceReader turns slices of one address family into endpoints. What it cannot
// use it logs and leaves out.
type sliceReader struct {
	family   v1.IPFamily
	nodeName string
	logger   klog.Logger
	marks    *mark.Recorder // of the decisions; may be nil
	// byPort is what the slices of one Service hold. Its lists are used again for
	// the next Service.
	byPort portLists
	// texts are those by which endpoints are sorted, and ofSlice those of one slice. Both are memory that is used again.
	texts   []byte
	ofSlice []Endpoint
}

// found is an endpoint and where the text by which it is sorted is in texts.
type found struct {
	start, end int
	endpoint   Endpoint
}

// portLists are lists of endpoints by service port. A Service has few ports, so they are looked for one by one.
type portLists struct {
	ports []ServicePortName
	lists [][]found
}

// reset empties the lists and keeps their memory.
func (l *portLists) reset() { l.ports = l.ports[:0] }

// of returns the list of a service port, which is empty at first.
func (l *portLists) of(port ServicePortName) *[]found {
	place := slices.Index(l.ports, port)
	if place < 0 {
		place = len(l.ports)
		l.ports = append(l.ports, port)
		if place == len(l.lists) {
			l.lists = append(l.lists, nil)
		}
		l.lists[place] = l.lists[place][:0]
	}
	return &l.lists[place]
}

// builtEndpoints are the endpoints of the ports of one Service: a map would be many times as large.
type builtEndpoints []portEndpoints

type portEndpoints struct {
	port ServicePortName
	list []Endpoint
}

// of returns the place of a port, -1 where it has no endpoints.
func (b builtEndpoints) of(port ServicePortName) int {
	return slices.IndexFunc(b, func(p portEndpoints) bool { return p.port == port })
}

// read returns the endpoints of a Service. The slices are read in the order of
// their names, so equal slices give equal endpoints.
func (r *sliceReader) read(service types.NamespacedName, applied namedSlices) builtEndpoints {
	r.byPort.reset()
	r.texts = r.texts[:0]
	for _, named := range applied {
		r.readSlice(service, named.slice)
	}
	if len(r.byPort.ports) == 0 {
		return nil
	}
	endpoints := make(builtEndpoints, len(r.byPort.ports))
	for i, port := range r.byPort.ports {
		endpoints[i] = portEndpoints{port, r.merge(r.byPort.lists[i])}
	}
	return endpoints
}

func (r *sliceReader) readSlice(service types.NamespacedName, slice *discovery.EndpointSlice) {
	endpoints := r.endpointsOf(slice)
	if len(endpoints) == 0 {
		return
	}
	for _, port := range slice.Ports {
		// A nil port would mean "all ports", which no API server hands out for
		// a Service with a cluster IP.
		number, ok := portNumber(ptr.Deref(port.Port, 0))
		if !ok || number == 0 {
			r.logger.Error(nil, "Skipping endpoint port without a usable number", "endpointSlice", klog.KObj(slice),
				"portName", ptr.Deref(port.Name, ""))
			continue
		}
		name := ServicePortName{
			NamespacedName: service,
			Port:           ptr.Deref(port.Name, ""),
			Protocol:       ptr.Deref(port.Protocol, v1.ProtocolTCP),
		}
		list := r.byPort.of(name)
		for _, endpoint := range endpoints {
			endpoint.Port = number
			start := len(r.texts)
			r.texts = endpoint.AddrPort().AppendTo(r.texts)
			*list = append(*list, found{start, len(r.texts), endpoint})
		}
	}
}

// merge sorts by Endpoint.String, that is as text: 10.0.0.10:80 comes before
// 10.0.0.1:80. Rules are written in this order, and kube-proxy's are too.
//
// Two slices may hold one address: for a moment, if the endpoint moves from one
// to the other, or because a pod got the address of a pod that is still
// terminating. A terminating endpoint never replaces another one; among the rest
// the one that was read later wins.
func (r *sliceReader) merge(list []found) []Endpoint {
	text := func(f *found) []byte { return r.texts[f.start:f.end] }
	slices.SortStableFunc(list, func(a, b found) int { return bytes.Compare(text(&a), text(&b)) })
	merged := make([]Endpoint, 0, len(list))
	for i := range list {
		next := &list[i]
		switch {
		case i == 0 || !bytes.Equal(text(&list[i-1]), text(next)):
			merged = append(merged, next.endpoint)
		case !next.endpoint.Terminating:
			r.marks.Hit(mark.ChangesEndpointTwice)
			merged[len(merged)-1] = next.endpoint
		default:
			r.marks.Hit(mark.ChangesEndpointTwiceTerminating)
		}
	}
	return merged
}

// endpointsOf returns the slice's endpoints, still without a port. They hold until the next call.
func (r *sliceReader) endpointsOf(slice *discovery.EndpointSlice) []Endpoint {
	endpoints := r.ofSlice[:0]
	for i := range slice.Endpoints {
		from := &slice.Endpoints[i]
		addr, ok := r.address(slice, from)
		if !ok {
			continue
		}
		endpoint := Endpoint{
			IP:          addr,
			Local:       r.nodeName != "" && ptr.Deref(from.NodeName, "") == r.nodeName,
			Unplaced:    ptr.Deref(from.NodeName, "") == "",
			Ready:       ptr.Deref(from.Conditions.Ready, true),
			Serving:     ptr.Deref(from.Conditions.Serving, true),
			Terminating: ptr.Deref(from.Conditions.Terminating, false),
		}
		if from.Hints != nil {
			endpoint.ZoneHints, endpoint.NodeHints = hintNames(from.Hints)
		}
		endpoints = append(endpoints, endpoint)
	}
	r.ofSlice = endpoints
	return endpoints
}

// address returns the endpoint's address. The API allows several and says that
// they are alike; the first one counts.
func (r *sliceReader) address(slice *discovery.EndpointSlice, endpoint *discovery.Endpoint) (netip.Addr, bool) {
	if len(endpoint.Addresses) == 0 {
		r.logger.Error(nil, "Skipping endpoint without an address", "endpointSlice", klog.KObj(slice))
		return netip.Addr{}, false
	}
	addr, err := parseAddr(endpoint.Addresses[0])
	if err != nil {
		r.logger.Error(err, "Skipping endpoint", "endpointSlice", klog.KObj(slice))
		return netip.Addr{}, false
	}
	if !inFamily(addr, r.family) {
		r.logger.Error(nil, "Skipping endpoint whose address is not of the slice's type", "endpointSlice", klog.KObj(slice),
			"address", addr, "addressType", slice.AddressType)
		return netip.Addr{}, false
	}
	return addr, true
}

func hintNames(hints *discovery.EndpointHints) (zones, nodes []string) {
	for _, hint := range hints.ForZones {
		zones = append(zones, hint.Name)
	}
	for _, hint := range hints.ForNodes {
		nodes = append(nodes, hint.Name)
	}
	return sortedNames(zones), sortedNames(nodes)
}

func sortedNames(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
