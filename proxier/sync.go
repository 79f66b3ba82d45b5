package proxier

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// writeAll makes the kernel hold the rules for the current maps, whatever it held
// before.
func (p *Proxier) writeAll(zone string) error {
	policy := p.policy
	policy.ServiceCIDRs = p.state.ranges()
	if err := p.prepareKernel(&policy); err != nil {
		return err
	}
	totals, err := p.writer.Full(model.Decide(policy, p.serviceMap, p.endpointsMap, p.node(zone)))
	if err != nil {
		return err
	}
	if err := p.routeLocalhost(&policy); err != nil {
		return err
	}
	p.noteTotals(totals)
	p.lastFull = p.config.Clock.Now()
	return nil
}

// writeChanged makes the kernel hold the rules for the current maps, if it holds
// those of the last sync and only these Services have changed.
func (p *Proxier) writeChanged(zone string, changed sets.Set[types.NamespacedName]) error {
	node := p.node(zone)
	changes := model.Changes{
		Services:     slices.SortedFunc(maps.Keys(changed), compareServices),
		NodePorts:    model.DecideNodePorts(&p.policy, node),
		ServiceCIDRs: p.state.ranges(),
	}
	for _, service := range changes.Services {
		for _, port := range p.services.Ports(service) {
			changes.Ports = append(changes.Ports, model.DecideService(port, p.endpointsMap[port.Name], node))
		}
	}
	totals, err := p.writer.Partial(&changes)
	if err != nil {
		return err
	}
	p.noteTotals(totals)
	return nil
}

// noteTotals notes what the kernel holds rules for now, and tells the metrics.
func (p *Proxier) noteTotals(totals model.Totals) {
	p.totals = totals
	p.config.Metrics.SetNoLocalEndpoints(totals.NoLocal.Internal, totals.NoLocal.External)
}

func compareServices(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// prepareKernel sets the sysctls that the rules need beforehand, and notes what the kernel
// says that the rules depend on.
func (p *Proxier) prepareKernel(policy *model.Config) error {
	if p.config.ConntrackTCPBeLiberal {
		if err := p.ensureSysctl(sysctlTCPBeLiberal, 1); err != nil {
			return err
		}
	}
	policy.RouteLocalnet = p.isSet(sysctlRouteLocalnet)
	policy.TCPLiberal = p.isSet(sysctlTCPBeLiberal)
	return nil
}

// routeLocalhost has the kernel route packets of node ports at localhost. The rules stand then that drop what comes to loopback addresses
// from elsewhere: without them the node would be open until a sync succeeds (CVE-2020-8558).
func (p *Proxier) routeLocalhost(policy *model.Config) error {
	if !policy.ServesLocalhost() {
		return nil
	}
	p.config.Marks.Hit(mark.SyncRouteLocalnet)
	if err := p.ensureSysctl(sysctlRouteLocalnet, 1); err != nil {
		return fmt.Errorf("node ports at localhost cannot work "+
			"(turn them off, or leave loopback out of the node port addresses): %w", err)
	}
	return nil
}

// isSet says whether a sysctl is not 0. It is 0 where the kernel does not say.
func (p *Proxier) isSet(name string) bool {
	value, err := p.config.Sysctls.Get(name)
	return err == nil && value != 0
}

// ensureSysctl does not write what is there already: the file may be read-only.
func (p *Proxier) ensureSysctl(name string, value int) error {
	if old, err := p.config.Sysctls.Get(name); err == nil && old == value {
		return nil
	}
	if err := p.config.Sysctls.Set(name, value); err != nil {
		return fmt.Errorf("setting sysctl %s to %d: %w", name, value, err)
	}
	return nil
}

// node returns what the decisions need to know of this node.
func (p *Proxier) node(zone string) model.Node {
	return model.Node{Name: p.config.NodeName, Zone: zone, IP: p.config.NodeIP, Addresses: p.nodeAddresses(), Marks: p.config.Marks}
}

// nodeAddresses returns nothing where nothing depends on it. An error leaves
// node ports without rules but does not hold up the rest.
func (p *Proxier) nodeAddresses() []netip.Addr {
	if p.policy.ServesAllAddresses() {
		return nil
	}
	addresses, err := p.config.Network.NodeAddresses()
	if err != nil {
		p.config.Marks.Hit(mark.SyncAddressesUnknown)
		p.config.Logger.Error(err, "Node ports are not served: the node's addresses are not known")
	}
	return addresses
}
