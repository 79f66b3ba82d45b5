package proxier

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nfacct"
)

// writeAll makes the kernel hold the rules for the current maps, whatever it held
// before.
func (p *Proxier) writeAll(zone string) error {
	rules := p.rules
	if err := p.prepareKernel(&rules); err != nil {
		return err
	}
	if err := p.ensureJumps(); err != nil {
		return err
	}
	p.renderer.SetCounters(p.ensureCounter(nfacct.InvalidPackets), p.ensureCounter(nfacct.LocalhostPackets))

	decisions := model.Decide(rules, p.serviceMap, p.endpointsMap, p.node(zone))
	input := p.renderer.Full(decisions, p.savedNAT())
	if err := p.restore(input); err != nil {
		return err
	}
	p.lastFull = p.config.Clock.Now()
	p.lastDeletion = p.lastFull
	return nil
}

// writeChanged makes the kernel hold the rules for the current maps, if it holds
// those of the last sync and only these Services have changed.
func (p *Proxier) writeChanged(zone string, changed sets.Set[types.NamespacedName]) error {
	node := p.node(zone)
	var gone []changes.ServicePortName
	var decisions []model.Service
	for _, service := range slices.SortedFunc(maps.Keys(changed), compareServices) {
		ports := p.services.Ports(service)
		for _, name := range p.renderer.PortsOf(service) {
			if !slices.ContainsFunc(ports, func(port *changes.ServicePort) bool { return port.Name == name }) {
				gone = append(gone, name)
			}
		}
		for _, port := range ports {
			decisions = append(decisions, model.DecideService(port, p.endpointsMap[port.Name], node))
		}
	}
	deleteUnused := p.config.Clock.Since(p.lastDeletion) >= p.config.SyncPeriod
	mark.SyncDeleteUnused.HitIf(deleteUnused)
	input := p.renderer.Partial(gone, decisions, model.DecideNodePorts(&p.rules, node), deleteUnused)
	if err := p.restore(input); err != nil {
		return err
	}
	if deleteUnused || !p.renderer.Large() {
		p.lastDeletion = p.config.Clock.Now()
	}
	return nil
}

func compareServices(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// restore gives the input to the tool; nil is nothing to do.
func (p *Proxier) restore(input []byte) error {
	if input != nil {
		if err := p.config.IPTables.RestoreAll(input, iptables.NoFlushTables, iptables.RestoreCounters); err != nil {
			mark.SyncRestoreFailed.Hit()
			p.config.Metrics.RestoreFailed()
			return err
		}
	}
	p.reportRules(input)
	return nil
}

// prepareKernel sets the sysctls that the rules need, and notes what the kernel
// says that the rules depend on.
func (p *Proxier) prepareKernel(rules *model.Config) error {
	if rules.ServesLocalhost() {
		mark.SyncRouteLocalnet.Hit()
		if err := p.ensureSysctl(sysctlRouteLocalnet, 1); err != nil {
			return fmt.Errorf("node ports at localhost cannot work "+
				"(turn them off, or leave loopback out of the node port addresses): %w", err)
		}
	}
	if p.config.ConntrackTCPBeLiberal {
		if err := p.ensureSysctl(sysctlTCPBeLiberal, 1); err != nil {
			return err
		}
	}
	rules.RouteLocalnet = p.isSet(sysctlRouteLocalnet)
	rules.TCPLiberal = p.isSet(sysctlTCPBeLiberal)
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

// tableChain is a chain of a table.
type tableChain struct {
	table iptables.Table
	chain iptables.Chain
}

// ensureJumps leads the kernel's own chains to ours.
func (p *Proxier) ensureJumps() error {
	ensured := make(map[tableChain]bool, len(p.jumps))
	for _, jump := range p.jumps {
		table := iptables.Table(jump.Table)
		if chain := (tableChain{table, iptables.Chain(jump.Target)}); !ensured[chain] {
			if _, err := p.config.IPTables.EnsureChain(chain.table, chain.chain); err != nil {
				return err
			}
			ensured[chain] = true
		}
		if _, err := p.config.IPTables.EnsureRule(iptables.Prepend, table, iptables.Chain(jump.From), jump.Args...); err != nil {
			return err
		}
	}
	return nil
}

// ensureCounter returns the name if there is such an object now, else "". A
// rule that refers to an object that is not there would fail the restore.
func (p *Proxier) ensureCounter(name string) string {
	if p.config.NFAcct == nil {
		return ""
	}
	if err := p.config.NFAcct.Ensure(name); err != nil {
		mark.SyncCounterMissing.Hit()
		p.config.Logger.Error(err, "No packets are counted", "counter", name)
		return ""
	}
	return name
}

// node returns what the decisions need to know of this node.
func (p *Proxier) node(zone string) model.Node {
	return model.Node{Name: p.config.NodeName, Zone: zone, IP: p.config.NodeIP, Addresses: p.nodeAddresses()}
}

// nodeAddresses returns nothing where nothing depends on it. An error leaves
// node ports without rules but does not hold up the rest.
func (p *Proxier) nodeAddresses() []netip.Addr {
	if p.rules.ServesAllAddresses() {
		return nil
	}
	addresses, err := p.config.Network.NodeAddresses()
	if err != nil {
		mark.SyncAddressesUnknown.Hit()
		p.config.Logger.Error(err, "Node ports are not served: the node's addresses are not known")
	}
	return addresses
}

// savedNAT returns the nat table, in which stale chains are looked for. Stale
// chains do no harm, so an error does not hold up the sync. The memory is not
// kept: a full sync is rare and the table may be large.
func (p *Proxier) savedNAT() []byte {
	var saved bytes.Buffer
	saved.Grow(p.savedSize)
	if err := p.config.IPTables.SaveInto(iptables.TableNAT, &saved); err != nil {
		mark.SyncSaveFailed.Hit()
		p.config.Logger.Error(err, "Stale chains are not deleted")
		return nil
	}
	p.savedSize = saved.Len() + bytes.MinRead
	return saved.Bytes()
}
