package proxier

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// OnServiceAdd notes a new Service.
func (p *Proxier) OnServiceAdd(service *v1.Service) {
	p.OnServiceUpdate(nil, service)
}

// OnServiceUpdate notes a Service that has changed.
func (p *Proxier) OnServiceUpdate(oldService, service *v1.Service) {
	waits := p.services.Update(oldService, service)
	p.config.Metrics.ServiceEvent(p.services.Pending())
	if waits {
		p.changed()
	}
}

// OnServiceDelete notes a Service that is gone.
func (p *Proxier) OnServiceDelete(service *v1.Service) {
	p.OnServiceUpdate(service, nil)
}

// OnServiceSynced notes that the first Services were delivered.
func (p *Proxier) OnServiceSynced() {
	p.state.markServicesSynced()
	p.changed()
}

// OnEndpointSliceAdd notes a new EndpointSlice. Slices of the other family, or
// with names instead of addresses, are ignored.
func (p *Proxier) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	p.noteSlice(slice, false)
}

// OnEndpointSliceUpdate notes an EndpointSlice that has changed.
func (p *Proxier) OnEndpointSliceUpdate(_, slice *discovery.EndpointSlice) {
	p.noteSlice(slice, false)
}

// OnEndpointSliceDelete notes an EndpointSlice that is gone.
func (p *Proxier) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	p.noteSlice(slice, true)
}

func (p *Proxier) noteSlice(slice *discovery.EndpointSlice, remove bool) {
	waits := p.endpoints.EndpointSliceUpdate(slice, remove)
	// kube-proxy counts no event of a slice without a Service.
	if string(slice.AddressType) == string(p.config.Family) && slice.Labels[discovery.LabelServiceName] != "" {
		p.config.Metrics.EndpointSliceEvent(p.endpoints.Pending())
	}
	if waits {
		p.changed()
	}
}

// OnEndpointSlicesSynced notes that the first EndpointSlices were delivered.
func (p *Proxier) OnEndpointSlicesSynced() {
	p.state.markEndpointsSynced()
	p.changed()
}

// OnNodeAdd notes this node's zone. Other nodes are ignored.
func (p *Proxier) OnNodeAdd(node *v1.Node) {
	p.OnNodeUpdate(nil, node)
}

// OnNodeUpdate notes this node's zone. Other nodes are ignored.
func (p *Proxier) OnNodeUpdate(_, node *v1.Node) {
	if node.Name == p.config.NodeName && p.state.setZone(node.Labels[v1.LabelTopologyZone]) {
		p.config.Marks.Hit(mark.SyncZone)
		p.changed()
	}
}

// OnNodeDelete changes nothing: the rules for a node that goes away stay in
// the zone that it was in.
func (p *Proxier) OnNodeDelete(*v1.Node) {}

// OnNodeSynced changes nothing: a node without a zone is a node like others.
func (p *Proxier) OnNodeSynced() {}

// OnServiceCIDRsChanged notes the ranges that cluster IPs come from, of both families, as ServiceCIDR objects spell them. In mode nftables
// packets to addresses of them that no service has are dropped; mode iptables has no rule for that.
func (p *Proxier) OnServiceCIDRsChanged(cidrs []string) {
	if !p.config.Rules.needsServiceCIDRs() {
		return
	}
	var ranges []netip.Prefix
	for _, text := range cidrs {
		cidr, err := parsePrefix(text)
		if err != nil {
			p.config.Logger.Error(err, "Skipping a range of cluster IPs")
			continue
		}
		if p.config.inFamily(cidr.Addr()) {
			ranges = append(ranges, cidr)
		}
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	if p.state.setRanges(slices.Compact(ranges)) {
		p.changed()
	}
}

// changed tells the owner that there is a reason to sync.
func (p *Proxier) changed() {
	if !p.state.delivered() {
		return
	}
	p.config.Health.QueuedUpdate(p.config.Family)
	p.config.Metrics.Queued(p.config.Clock.Now())
	if p.config.Changed != nil {
		p.config.Changed()
	}
}
