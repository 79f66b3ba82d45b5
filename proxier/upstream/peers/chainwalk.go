package peers

import (
	"fmt"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	basemetrics "k8s.io/component-base/metrics"
	testclock "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/metrics"
	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// Chainwalk is this project's proxier of both families on a kernel.
type Chainwalk struct {
	node     *node
	tools    *tools
	clock    *testclock.FakeClock
	families map[v1.IPFamily]*proxier.Proxier
	// selected tell the proxiers what the watches of this project's server would.
	selected []config.Handler
	// wrote and full say what the last sync did.
	wrote, full map[v1.IPFamily]bool
	registry    basemetrics.KubeRegistry
}

var _ cases.Handler = (*Chainwalk)(nil)

// NewChainwalk sets up this project's proxier on a new kernel.
func NewChainwalk(settings *cases.Settings) (*Chainwalk, error) {
	n, err := newNode(settings)
	if err != nil {
		return nil, err
	}
	return newChainwalk(n)
}

// HandOver sets up kube-proxy's proxier with the same settings on the node where this project's is not used any longer.
func (c *Chainwalk) HandOver() (*KubeProxy, error) { return newKubeProxy(c.node) }

func newChainwalk(n *node) (*Chainwalk, error) {
	c := &Chainwalk{
		node:     n,
		tools:    &tools{Interface: n.programs},
		clock:    testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		families: map[v1.IPFamily]*proxier.Proxier{},
		wrote:    map[v1.IPFamily]bool{},
		full:     map[v1.IPFamily]bool{},
		registry: basemetrics.NewKubeRegistry(),
	}
	measured, err := metrics.New(c.registry)
	if err != nil {
		return nil, err
	}
	for _, ipFamily := range Families {
		rules, err := c.rules(ipFamily)
		if err != nil {
			return nil, err
		}
		settings := c.config(ipFamily, rules)
		settings.Metrics = measured.ForFamily(ipFamily)
		if c.families[ipFamily], err = proxier.New(settings); err != nil {
			return nil, fmt.Errorf("%s: %w", ipFamily, err)
		}
		c.selected = append(c.selected, config.Selected(c.families[ipFamily]))
	}
	return c, nil
}

// config is what the settings mean for this project's proxier.
func (c *Chainwalk) config(ipFamily v1.IPFamily, rules proxier.Rules) proxier.Config {
	s := c.node.settings
	config := proxier.Config{
		Family:             ipFamily,
		NodeName:           NodeName,
		NodeIP:             nodeIP(ipFamily, s),
		Rules:              rules,
		Sysctls:            c.node,
		Network:            c.node,
		Conntrack:          c.node.flows,
		MasqueradeAll:      s.MasqueradeAll,
		MasqueradeBit:      s.MasqueradeBit,
		LocalhostNodePorts: s.LocalhostNodePorts,
		LocalDetector:      detector(ipFamily, s.Detect),
		SyncPeriod:         syncPeriod,
		NoHourlyFullSync:   s.NoHourlyFullSync && Minor >= 36,
		Clock:              c.clock,
	}
	for _, text := range s.NodePortAddresses {
		config.NodePortAddresses = append(config.NodePortAddresses, netip.MustParsePrefix(text))
	}
	return config
}

// rules are the rules of a family in the mode of the settings.
func (c *Chainwalk) rules(ipFamily v1.IPFamily) (proxier.Rules, error) {
	if c.node.settings.Mode == cases.NFTables {
		runner, err := nftables.New(c.tools, ipFamily, nftables.Options{})
		return proxier.NFTables{Tools: runner}, err
	}
	runner, err := iptables.New(c.tools, iptables.Protocol(ipFamily), iptables.Options{})
	if err != nil {
		return nil, err
	}
	return c.counting(&ourTools{Interface: runner, noRandomFully: c.node.settings.NoRandomFully}), nil
}

// counting are the rules of iptables, which count where the settings have accounting objects.
func (c *Chainwalk) counting(tools iptables.Interface) proxier.Rules {
	rules := proxier.IPTables{Tools: tools}
	if c.node.settings.Accounting != "absent" {
		rules.Counters = c.node
	}
	return rules
}

func detector(ipFamily v1.IPFamily, detect string) proxier.LocalDetector {
	switch detect {
	case "cidr":
		return proxier.DetectLocalByCIDR(pods(ipFamily))
	case "bridge":
		return proxier.DetectLocalByBridgeInterface(PodBridge)
	case "prefix":
		return proxier.DetectLocalByInterfaceNamePrefix(PodDevicePrefix)
	}
	return proxier.LocalDetector{}
}

// Kernels implements Peer.
func (c *Chainwalk) Kernels() []string { return c.node.kernels() }

// Close implements Peer.
func (c *Chainwalk) Close() error { return c.node.close() }

// Kernel implements Peer.
func (c *Chainwalk) Kernel() *fakekernel.Kernel { return c.node.kernel }

// Sync implements Peer.
func (c *Chainwalk) Sync() map[v1.IPFamily]error { return c.sync((*proxier.Proxier).Sync) }

// Flush implements Peer. It does what the monitor of the canary chains would.
func (c *Chainwalk) Flush() map[v1.IPFamily]error {
	c.node.flush()
	return c.sync((*proxier.Proxier).SyncAll)
}

// sync syncs both families. That all objects were delivered is said each time, which changes nothing after the first.
func (c *Chainwalk) sync(sync func(*proxier.Proxier) error) map[v1.IPFamily]error {
	errs := map[v1.IPFamily]error{}
	for _, ipFamily := range Families {
		p := c.families[ipFamily]
		p.OnServiceSynced()
		p.OnEndpointSlicesSynced()
		c.tools.restored, c.tools.ensured = false, false
		errs[ipFamily] = sync(p)
		c.wrote[ipFamily], c.full[ipFamily] = c.tools.restored, c.tools.ensured
	}
	c.tools.failing = nil
	return errs
}

// Wrote says whether the last sync of the family ran the tool. If nothing is new, it does not.
func (c *Chainwalk) Wrote(family v1.IPFamily) bool { return c.wrote[family] }

// WasFull says whether the last sync of the family was a full one.
func (c *Chainwalk) WasFull(family v1.IPFamily) bool { return c.full[family] }

// Fail implements Peer.
func (c *Chainwalk) Fail() { c.tools.failRestores() }

// Hour implements Peer.
func (c *Chainwalk) Hour() { c.clock.Step(syncPeriod + time.Minute) }

// Health implements Peer.
func (c *Chainwalk) Health(ipFamily v1.IPFamily) map[types.NamespacedName]Health {
	all := map[types.NamespacedName]Health{}
	for name, h := range c.families[ipFamily].Health() {
		all[name] = Health(h)
	}
	return all
}

func (c *Chainwalk) each(tell func(config.Handler)) {
	for _, handler := range c.selected {
		tell(handler)
	}
}

// OnServiceAdd implements cases.Handler.
func (c *Chainwalk) OnServiceAdd(service *v1.Service) {
	c.each(func(p config.Handler) { p.OnServiceAdd(service) })
}

// OnServiceUpdate implements cases.Handler.
func (c *Chainwalk) OnServiceUpdate(before, after *v1.Service) {
	c.each(func(p config.Handler) { p.OnServiceUpdate(before, after) })
}

// OnServiceDelete implements cases.Handler.
func (c *Chainwalk) OnServiceDelete(service *v1.Service) {
	c.each(func(p config.Handler) { p.OnServiceDelete(service) })
}

// OnEndpointSliceAdd implements cases.Handler.
func (c *Chainwalk) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	c.each(func(p config.Handler) { p.OnEndpointSliceAdd(slice) })
}

// OnEndpointSliceUpdate implements cases.Handler.
func (c *Chainwalk) OnEndpointSliceUpdate(before, after *discovery.EndpointSlice) {
	c.each(func(p config.Handler) { p.OnEndpointSliceUpdate(before, after) })
}

// OnEndpointSliceDelete implements cases.Handler.
func (c *Chainwalk) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	c.each(func(p config.Handler) { p.OnEndpointSliceDelete(slice) })
}

// OnZone implements cases.Handler.
func (c *Chainwalk) OnZone(zone string) {
	object := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName}}
	if zone != "" {
		object.Labels = map[string]string{v1.LabelTopologyZone: zone}
	}
	c.each(func(p config.Handler) { p.OnNodeUpdate(nil, object) })
}

// ourTools are the tools, which may lack an option.
type ourTools struct {
	iptables.Interface
	noRandomFully bool
}

// HasRandomFully is that of the tools, or false.
func (t *ourTools) HasRandomFully() bool { return !t.noRandomFully && t.Interface.HasRandomFully() }

// Metrics implements Peer.
func (c *Chainwalk) Metrics(family v1.IPFamily) map[string]float64 {
	return valuesOf(c.registry, family)
}

// Flows implements Peer.
func (c *Chainwalk) Flows() *Flows { return c.node.flows }

// Sysctls implements Peer.
func (c *Chainwalk) Sysctls() map[string]int { return c.node.sysctls }
