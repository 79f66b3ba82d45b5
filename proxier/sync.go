package proxier

import (
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/internal/render"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// writeRules makes the kernel hold the rules for the current maps.
func (p *Proxier) writeRules(zone string) error {
	rules := p.rules
	liberal, err := p.prepareKernel()
	if err != nil {
		return err
	}
	rules.TCPLiberal = liberal
	if err := p.ensureJumps(); err != nil {
		return err
	}
	p.renderer.SetCounters(p.ensureCounter(invalidCounter), p.ensureCounter(localhostCounter))

	decisions := model.Decide(rules, p.serviceMap, p.endpointsMap, p.node(zone))
	input := p.renderer.Full(decisions, p.savedNAT())
	return p.config.IPTables.RestoreAll(input, iptables.NoFlushTables, iptables.RestoreCounters)
}

// prepareKernel sets the sysctls that the rules need, and says whether
// conntrack takes TCP segments outside of the window for valid ones.
func (p *Proxier) prepareKernel() (liberal bool, err error) {
	if p.rules.ServesLocalhost() {
		if err := p.ensureSysctl(sysctlRouteLocalnet, 1); err != nil {
			return false, fmt.Errorf("node ports at localhost cannot work (turn them off, or leave loopback out of the node port addresses): %w", err)
		}
	}
	if p.config.ConntrackTCPBeLiberal {
		if err := p.ensureSysctl(sysctlTCPBeLiberal, 1); err != nil {
			return false, err
		}
	}
	// A kernel that does not say is not liberal.
	value, err := p.config.Sysctls.Get(sysctlTCPBeLiberal)
	return err == nil && value != 0, nil
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

// ensureJumps leads the kernel's own chains to ours.
func (p *Proxier) ensureJumps() error {
	for _, jump := range render.Jumps() {
		table := iptables.Table(jump.Table)
		if _, err := p.config.IPTables.EnsureChain(table, iptables.Chain(jump.Target)); err != nil {
			return err
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
		p.config.Logger.Error(err, "Node ports are not served: the node's addresses are not known")
	}
	return addresses
}

// savedNAT returns the nat table, in which stale chains are looked for. Stale
// chains do no harm, so an error does not hold up the sync.
func (p *Proxier) savedNAT() []byte {
	p.saved.Reset()
	if err := p.config.IPTables.SaveInto(iptables.TableNAT, &p.saved); err != nil {
		p.config.Logger.Error(err, "Stale chains are not deleted")
		return nil
	}
	return p.saved.Bytes()
}
