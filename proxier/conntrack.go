package proxier

import (
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// changedUDP is what the next search for stale conntrack entries has to look at.
type changedUDP struct {
	// any says that UDP services or their endpoints have changed.
	any bool
	// former are the UDP service ports as they were before they changed or went.
	former []*changes.ServicePort
}

// add notes what a sync has changed.
func (c *changedUDP) add(services changes.ServiceUpdate, endpoints changes.EndpointsUpdate) {
	c.any = c.any || services.UDPChanged || endpoints.UDPChanged
	c.former = append(c.former, services.FormerUDP...)
}

// staleConnections is one search for stale entries. It knows all that it needs,
// so that the next sync need not wait for it.
type staleConnections struct {
	changed   changedUDP
	frontends *conntrack.Frontends
}

// takeChangedUDP returns nil if there is nothing to look for. The caller syncs.
func (p *Proxier) takeChangedUDP() *staleConnections {
	taken := p.udp
	p.udp = changedUDP{}
	if !taken.any || p.config.Conntrack == nil {
		p.config.Marks.HitIf(mark.ConntrackNothing, !taken.any)
		return nil
	}
	p.config.Marks.Hit(mark.ConntrackSearch)
	return &staleConnections{changed: taken, frontends: p.udpFrontends(taken.former)}
}

// cleanConntrack deletes the conntrack entries that keep UDP clients away from
// the endpoints that the rules lead to by now.
func (p *Proxier) cleanConntrack(stale *staleConnections) error {
	start := p.config.Clock.Now()
	deleted, err := conntrack.Clean(p.config.Conntrack, p.config.Family, stale.frontends)
	p.config.Metrics.ConntrackCleaned(p.config.Clock.Since(start), deleted)
	if err == nil {
		return nil
	}
	p.config.Marks.Hit(mark.ConntrackFailed)
	p.syncing.Lock()
	defer p.syncing.Unlock()
	p.udp.any = true
	p.udp.former = append(p.udp.former, stale.changed.former...)
	return fmt.Errorf("UDP clients may still be led to endpoints that are gone: %w", err)
}

// udpFrontends returns where UDP services are reached, and their serving
// endpoints. Former addresses have none, but for those that another service has
// now.
func (p *Proxier) udpFrontends(former []*changes.ServicePort) *conntrack.Frontends {
	frontends := &conntrack.Frontends{ServesNodePorts: p.servesNodePorts(), Marks: p.config.Marks}
	for _, port := range former {
		p.config.Marks.Hit(mark.ConntrackFormerAddress)
		addFrontends(frontends, port, nil)
	}
	for name, port := range p.services.UDP() {
		backends := conntrack.Backends{}
		for _, endpoint := range p.endpointsMap[name] {
			if endpoint.Serving {
				backends[endpoint.AddrPort()] = struct{}{}
			} else {
				p.config.Marks.Hit(mark.ConntrackNotServing)
			}
		}
		addFrontends(frontends, port, backends)
	}
	return frontends
}

func addFrontends(frontends *conntrack.Frontends, port *changes.ServicePort, backends conntrack.Backends) {
	frontends.AddService(netip.AddrPortFrom(port.ClusterIP, port.Port), backends)
	for _, address := range port.ExternalIPs {
		frontends.AddService(netip.AddrPortFrom(address, port.Port), backends)
	}
	for _, address := range port.LoadBalancerVIPs {
		frontends.AddService(netip.AddrPortFrom(address, port.Port), backends)
	}
	if port.NodePort != 0 {
		frontends.AddNodePort(port.NodePort, backends)
	}
}

// servesNodePorts tells the node's own addresses from those of other machines,
// whose ports are theirs. It is nil where the addresses are not known: a foreign
// entry that is deleted comes back with its next packet.
func (p *Proxier) servesNodePorts() func(netip.Addr) bool {
	if p.config.Network == nil {
		return nil
	}
	addresses, err := p.config.Network.NodeAddresses()
	if err != nil {
		p.config.Logger.Error(err, "Conntrack entries to the node ports of other machines are not told apart")
		return nil
	}
	own := make(map[netip.Addr]struct{}, len(addresses))
	for _, address := range addresses {
		own[address.Unmap().WithZone("")] = struct{}{}
	}
	return func(address netip.Addr) bool {
		_, ok := own[address]
		return ok || address.IsLoopback()
	}
}
