package peers

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/proxy"
	kubeconntrack "k8s.io/kubernetes/pkg/proxy/conntrack"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	simtools "github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// mendedFlows is what a mended kube-proxy remembers about flows.
type mendedFlows struct {
	// syncFailed and serviceChanged (one that speaks UDP) say what happened since it last looked.
	syncFailed, serviceChanged bool
	// served are the places where UDP services were.
	served map[place]bool
	// known is what the last look went by.
	known []string
}

// place is an address and port of a UDP service; without an address it is a node port.
type place struct {
	addr netip.Addr
	port int
}

// errLook says of a sync of a mended kube-proxy that it could not look for stale flows.
var errLook = errors.New("stale flows were not looked for")

// mendFlows looks for the stale flows that kube-proxy has not looked for in a sync that ended well.
func (k *process) mendFlows(f *processFamily, family v1.IPFamily) error {
	if k.mends == 0 {
		return nil
	}
	services, endpoints := *field[proxy.ServicePortMap](f.proxier, "svcPortMap"), *field[proxy.EndpointsMap](f.proxier, "endpointsMap")
	m := &f.mended
	failed := f.flows.failed
	if !f.flows.looked && (m.syncFailed && k.mends.has(FailedSyncsFlows) || m.serviceChanged && k.mends.has(ChangedServicesFlows) ||
		failed && k.mends.has(FailedLooksFlows)) {
		kubeconntrack.CleanStaleEntries(f.flows, family, services, endpoints)
	}
	m.syncFailed, m.serviceChanged = false, false
	served, idle := placesOfUDP(services, endpoints)
	if k.mends.has(EmptyServicesFlows) && f.flows.looked {
		k.deleteFlows(f, family, idle, func(*conntrack.Entry) bool { return true })
	}
	if k.mends.has(DeletedServicesFlows) {
		k.deleteFlows(f, family, without(m.served, served), func(e *conntrack.Entry) bool {
			return !k.isAt(served, e.Original.Dst) && e.Reply.Src != e.Original.Dst
		})
	}
	m.served = served
	if f.flows.failed && k.mends.has(FailedLooksFlows) {
		f.proxier.Sync()
		return errLook
	}
	return nil
}

// nothingNew says that stale flows need not be looked for, as all that such a look goes by is as at the last one.
func (k *process) nothingNew(f *processFamily) bool {
	if !k.mends.has(SameNotLookedFor) {
		return false
	}
	services, endpoints := *field[proxy.ServicePortMap](f.proxier, "svcPortMap"), *field[proxy.EndpointsMap](f.proxier, "endpointsMap")
	var known []string
	for name, service := range services {
		if service.Protocol() != v1.ProtocolUDP {
			continue
		}
		serving := slices.DeleteFunc(slices.Clone(endpoints[name]), func(e proxy.Endpoint) bool { return !e.IsServing() })
		known = append(known, fmt.Sprint(name, placesOf(service), serving))
	}
	slices.Sort(known)
	same := f.mended.known != nil && !f.flows.failed && slices.Equal(known, f.mended.known)
	f.mended.known = append([]string{}, known...)
	return same
}

// placesOfUDP are the places of UDP services, and those of them behind which no endpoint serves.
func placesOfUDP(services proxy.ServicePortMap, endpoints proxy.EndpointsMap) (all, idle map[place]bool) {
	all, serving := map[place]bool{}, map[place]bool{}
	for name, service := range services {
		if service.Protocol() != v1.ProtocolUDP {
			continue
		}
		serves := slices.ContainsFunc(endpoints[name], proxy.Endpoint.IsServing)
		for _, at := range placesOf(service) {
			all[at] = true
			if serves {
				serving[at] = true
			}
		}
	}
	return all, without(all, serving)
}

// without are the places that are not among others.
func without(places, others map[place]bool) map[place]bool {
	out := maps.Clone(places)
	maps.DeleteFunc(out, func(at place, _ bool) bool { return others[at] })
	return out
}

// deleteFlows deletes the UDP flows to some places that are to go.
func (k *process) deleteFlows(f *processFamily, family v1.IPFamily, to map[place]bool, goes func(*conntrack.Entry) bool) {
	if len(to) == 0 {
		return
	}
	var list []conntrack.Entry
	table := unseen(f.flows.table)
	err := table.Walk(family, func(e conntrack.Entry) {
		if e.Protocol == uint8(inet.UDP) && k.isAt(to, e.Original.Dst) && goes(&e) {
			list = append(list, e)
		}
	})
	if err == nil && len(list) > 0 {
		_, err = table.Delete(family, list)
	}
	f.flows.failed = f.flows.failed || err != nil
}

// unseen is a table of connections for mends: what they do meets no fault, and nobody takes it for what kube-proxy does.
func unseen(table conntrack.Table) conntrack.Table {
	if seen, ok := table.(*simtools.Conntrack); ok {
		return seen.Table
	}
	return table
}

// udpServiceChanged says whether a service that speaks UDP has come, gone, or changed in what it asks for. A service without a cluster IP of
// the family has no flows of it.
func udpServiceChanged(family v1.IPFamily, before, after *v1.Service) bool {
	speaks := func(s *v1.Service) bool {
		return s != nil && proxyutil.GetClusterIPByFamily(family, s) != "" &&
			slices.ContainsFunc(s.Spec.Ports, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolUDP })
	}
	if !speaks(before) && !speaks(after) {
		return false
	}
	return before == nil || after == nil || !reflect.DeepEqual(before.Spec, after.Spec) || !reflect.DeepEqual(before.Status, after.Status)
}

func placesOf(service proxy.ServicePort) []place {
	var out []place
	for _, ip := range append(slices.Concat(service.ExternalIPs(), service.LoadBalancerVIPs()), service.ClusterIP()) {
		if a, ok := netip.AddrFromSlice(ip); ok {
			out = append(out, place{a.Unmap(), service.Port()})
		}
	}
	if service.NodePort() != 0 {
		out = append(out, place{port: service.NodePort()})
	}
	return out
}

// isAt says whether a packet goes to one of the places.
func (k *process) isAt(places map[place]bool, to netip.AddrPort) bool {
	return places[place{to.Addr(), int(to.Port())}] || places[place{port: int(to.Port())}] && k.ofNode(to.Addr())
}

// ofNode says whether an address is one of the node's.
func (k *process) ofNode(a netip.Addr) bool {
	addresses, _ := k.process.Kernel.Network.NodeAddresses()
	return a.IsLoopback() || slices.Contains(addresses, a)
}

// own says whether an address is the node's or a service's.
func (k *process) own(f *processFamily, a netip.Addr) bool {
	if k.ofNode(a) {
		return true
	}
	for _, service := range *field[proxy.ServicePortMap](f.proxier, "svcPortMap") {
		if slices.ContainsFunc(placesOf(service), func(p place) bool { return p.addr == a }) {
			return true
		}
	}
	return false
}
