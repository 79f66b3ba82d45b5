package peers

import (
	"errors"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/proxy"
	kubeconntrack "k8s.io/kubernetes/pkg/proxy/conntrack"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

// mendedFlows is what a mended kube-proxy remembers about flows.
type mendedFlows struct {
	// syncFailed and serviceChanged say what happened since it last looked.
	syncFailed, serviceChanged bool
	// served are the places where UDP services were.
	served map[place]bool
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
	if !f.flows.looked && (m.syncFailed && k.mends.Has(FailedSyncsFlows) || m.serviceChanged && k.mends.Has(ChangedServicesFlows) ||
		failed && k.mends.Has(FailedLooksFlows)) {
		kubeconntrack.CleanStaleEntries(f.flows, family, services, endpoints)
	}
	m.syncFailed, m.serviceChanged = false, false
	all, empty := map[place]bool{}, map[place]bool{}
	for name, service := range services {
		if service.Protocol() != v1.ProtocolUDP {
			continue
		}
		serves := slices.ContainsFunc(endpoints[name], proxy.Endpoint.IsServing)
		for _, at := range placesOf(service) {
			all[at] = true
			empty[at] = !serves
		}
	}
	if k.mends.Has(EmptyServicesFlows) && f.flows.looked {
		k.deleteFlows(f, family, func(e *conntrack.Entry) bool { return k.isAt(empty, e.Original.Dst) })
	}
	if k.mends.Has(DeletedServicesFlows) {
		k.deleteFlows(f, family, func(e *conntrack.Entry) bool {
			return k.isAt(m.served, e.Original.Dst) && !k.isAt(all, e.Original.Dst) && e.Reply.Src != e.Original.Dst
		})
	}
	m.served = all
	if f.flows.failed && k.mends.Has(FailedLooksFlows) {
		f.proxier.Sync()
		return errLook
	}
	return nil
}

// deleteFlows deletes the UDP flows that are to go.
func (k *process) deleteFlows(f *processFamily, family v1.IPFamily, goes func(*conntrack.Entry) bool) {
	var list []conntrack.Entry
	err := f.flows.table.Walk(family, func(e conntrack.Entry) {
		if e.Protocol == uint8(packetsim.UDP) && goes(&e) {
			list = append(list, e)
		}
	})
	if err == nil && len(list) > 0 {
		_, err = f.flows.table.Delete(family, list)
	}
	f.flows.failed = f.flows.failed || err != nil
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
