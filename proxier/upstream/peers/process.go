package peers

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/kubernetes/pkg/proxy"
	"k8s.io/kubernetes/pkg/proxy/apis/config"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	utilnet "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/proxier"
	simnode "github.com/chainwalk/chainwalk/scenarios/world/node"
)

// newProcess sets up kube-proxy's proxier of both families as its server does.
func newProcess(p simnode.Process, mends Mends) (*process, error) {
	kubeRegistry()
	c := proxier.WithDefaults(p.Configuration)
	if c.Conntrack.TCPBeLiberal {
		if err := p.Kernel.Sysctls.Set(sysctlTCPLiberal, 1); err != nil {
			return nil, fmt.Errorf("kube-proxy: %w", err)
		}
	}
	k := &process{process: p, mends: mends, families: map[v1.IPFamily]*processFamily{}}
	k.leaveOther()
	for _, family := range Families {
		f, err := k.newFamily(c, family)
		if err != nil {
			return nil, fmt.Errorf("kube-proxy, %s: %w", family, err)
		}
		k.families[family] = f
		k.process.Health.Updated(family)
	}
	return k, nil
}

func (k *process) newFamily(c *kubeproxyconfig.KubeProxyConfiguration, family v1.IPFamily) (*processFamily, error) {
	f := &processFamily{flows: &processConntrack{table: k.process.Kernel.Conntrack}}
	var err error
	if k.native() {
		f.kubeFamily, err = k.surroundings(c, f, family, nil).family(family)
	} else {
		f.kubeFamily, err = k.newRestoring(c, f, family)
	}
	if err != nil {
		return nil, err
	}
	if k.native() && k.mends.has(AddressesOnce) {
		leaveLost(f.proxier)
	}
	f.loop = newSyncLoop(f.runner(), k.process.Clock.Now())
	if f.addresses, err = k.nodePortIPs(f); err != nil {
		return nil, err
	}
	f.flows.nothingNew = func() bool { return k.nothingNew(f) }
	if k.mends.has(OwnFlowsOnly) {
		f.flows.own = func(a netip.Addr) bool { return k.own(f, a) }
	}
	return f, nil
}

// process is a node.Proxy of scenarios.
type process struct {
	process  simnode.Process
	mends    Mends
	slicesOf mendedSlices
	// servicesOf are there if addresses are claimed once.
	servicesOf mendedServices
	families   map[v1.IPFamily]*processFamily
	// services and slices say that all objects of the kind were delivered.
	services, slices, started bool
	// routesLoopback says that kube-proxy needs route_localnet: it has looked for it, or it would not.
	routesLoopback bool
}

// processFamily is the proxier of one family, with its loops.
type processFamily struct {
	*kubeFamily
	monitor monitor
	loop    *syncLoop
	virtual virtualTimes
	flows   *processConntrack
	mended  mendedFlows
	// programs are nft with something mended; nil in mode iptables, and where nothing is.
	programs *mendedNFT
	// addresses are those of the node that rules of node ports name, as they were at the start, or as the mend has seen them last.
	addresses []string
}

func (k *process) surroundings(
	c *kubeproxyconfig.KubeProxyConfiguration, f *processFamily, family v1.IPFamily, programs utiliptables.Interface,
) *kubeSurroundings {
	s := &kubeSurroundings{
		node: k.process.Node, address: k.address(family), detector: k.detector(c, family),
		masqueradeAll: c.IPTables.MasqueradeAll, masqueradeBit: int(*c.IPTables.MasqueradeBit),
		localhostNodePorts: *c.IPTables.LocalhostNodePorts && family == v1.IPv4Protocol,
		nodePortAddresses:  k.nodePortAddresses(c), syncPeriod: c.IPTables.SyncPeriod.Duration,
		programs: &kubeTools{Interface: programs}, sysctls: processSysctls{k.process.Kernel.Sysctls, &k.routesLoopback},
		network:    processNetwork{k.process.Kernel.Network},
		conntrack:  f.flows,
		accounting: kubeAccounting{node: proxier.NFAcctTool{Exec: k.process.Kernel.Exec}},
	}
	if k.native() {
		s.native, s.masqueradeAll, s.masqueradeBit = k.process.Kernel.Exec, c.NFTables.MasqueradeAll, int(*c.NFTables.MasqueradeBit)
		if k.mends != 0 {
			f.programs = k.newMendedNFT(f, family)
			s.native = f.programs
		}
		s.syncPeriod = c.NFTables.SyncPeriod.Duration
		if len(c.NodePortAddresses) == 0 {
			s.nodePortAddresses = k.primary()
		}
	}
	return s
}

// address is the node's first one of the family, or loopback.
func (k *process) address(family v1.IPFamily) netip.Addr {
	if k.process.Object != nil {
		for _, a := range k.process.Object.Status.Addresses {
			ip, err := netip.ParseAddr(a.Address)
			if err == nil && a.Type == v1.NodeInternalIP && ip.Is6() == (family == v1.IPv6Protocol) {
				return ip
			}
		}
	}
	if family == v1.IPv6Protocol {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// nodePortAddresses are the configuration's addresses, with the words that its server puts addresses for: until v1.36 one word that stands
// alone, since v1.37 (kubernetes#138427) three, beside ranges and each other.
func (k *process) nodePortAddresses(c *kubeproxyconfig.KubeProxyConfiguration) []string {
	if Minor < 37 && len(c.NodePortAddresses) != 1 {
		return c.NodePortAddresses
	}
	var out []string
	for _, text := range c.NodePortAddresses {
		switch {
		case text == config.NodePortAddressesPrimary:
			out = append(out, k.primary()...)
		case text == "localhost" && Minor >= 37:
			out = append(out, "127.0.0.0/8", "::1/128")
		case text == "all" && Minor >= 37:
			out = append(out, proxyutil.IPv4ZeroCIDR, proxyutil.IPv6ZeroCIDR)
		default:
			out = append(out, text)
		}
	}
	return out
}

// primary are the node's own addresses, as ranges of one.
func (k *process) primary() []string {
	var own []string
	for _, family := range Families {
		if ip := k.address(family); !ip.IsLoopback() {
			own = append(own, netip.PrefixFrom(ip, ip.BitLen()).String())
		}
	}
	return own
}

// detector is what kube-proxy's server chooses for a configuration.
func (k *process) detector(c *kubeproxyconfig.KubeProxyConfiguration, family v1.IPFamily) proxyutil.LocalTrafficDetector {
	var ranges []string
	switch config.LocalMode(c.DetectLocalMode) {
	case config.LocalModeBridgeInterface:
		return proxyutil.NewDetectLocalByBridgeInterface(c.DetectLocal.BridgeInterface)
	case config.LocalModeInterfaceNamePrefix:
		return proxyutil.NewDetectLocalByInterfaceNamePrefix(c.DetectLocal.InterfaceNamePrefix)
	case config.LocalModeNodeCIDR:
		if k.process.Object != nil {
			ranges = k.process.Object.Spec.PodCIDRs
		}
	default:
		ranges = strings.Split(c.ClusterCIDR, ",")
	}
	for _, text := range ranges {
		if text != "" && utilnet.IsIPv6CIDRString(text) == (family == v1.IPv6Protocol) {
			return proxyutil.NewDetectLocalByCIDR(text)
		}
	}
	return proxyutil.NewNoOpLocalDetector()
}

// EnsureCanaries implements node.Proxy: the monitors look. Mode nftables has none.
func (k *process) EnsureCanaries() error {
	if k.native() {
		return nil
	}
	var errs []error
	for _, family := range Families {
		errs = append(errs, k.families[family].monitor.turn())
	}
	return errors.Join(errs...)
}

// Sync implements node.Proxy: the loops have the time of a sync period.
func (k *process) Sync() error {
	if !k.services || !k.slices {
		return proxier.ErrNotDelivered
	}
	var errs []error
	for _, family := range Families {
		f := k.families[family]
		var err error
		if k.started {
			if err = k.mendAddresses(f); err != nil {
				return err
			}
			k.mendTable(f, family)
			err = f.loop.turn(k.process.Clock.Now(), f.loop.retry, func() error { return k.sync(family) })
		} else {
			err = k.first(family)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", family, err))
		}
	}
	k.started = true
	return errors.Join(errs...)
}

// SyncAll has the loops sync everything.
func (k *process) SyncAll() error {
	for _, family := range Families {
		f := k.families[family]
		f.forceFullSync()
		f.proxier.Sync() // asks
	}
	return k.Sync()
}

// first is a family's first sync, which no loop runs: what asked for one while objects were delivered found nothing to write yet.
func (k *process) first(family v1.IPFamily) error {
	f := k.families[family]
	if err := f.loop.turn(k.process.Clock.Now(), 0, f.sync); err != nil {
		return err
	}
	err := k.timed(family, func() error {
		f.proxier.OnServiceSynced()
		f.proxier.OnEndpointSlicesSynced() // syncs
		if f.willSyncInFull() {
			return errFailed
		}
		return nil
	})
	if err != nil && k.mends.has(FirstTriedAgain) {
		f.proxier.Sync()
	}
	return err
}

// errFailed says of a first sync that it failed, which kube-proxy keeps to itself.
var errFailed = errors.New("the first sync failed")

// sync is one sync of a family.
func (k *process) sync(family v1.IPFamily) error { return k.timed(family, k.families[family].sync) }

// timed has something that syncs go by the cluster's clock, and notes that it ended well.
func (k *process) timed(family v1.IPFamily, sync func() error) error {
	f := k.families[family]
	f.virtual.enter(f.kubeFamily, k.process.Clock.Now())
	f.ageChains()
	k.mendBefore(f)
	f.flows.looked = false
	err := sync()
	if err == nil {
		err = k.mendStale(f, sync)
	}
	f.virtual.leave(f.kubeFamily, k.process.Clock.Now())
	if err != nil {
		f.mended.syncFailed = true
		return err
	}
	k.process.Health.Updated(family)
	return errors.Join(k.mendLoopback(), k.mendFlows(f, family), k.mendComments(f, family))
}

// virtualTimes translate the times that kube-proxy remembers, which come from the machine's
// clock, into those of a cluster whose clock stands still.
type virtualTimes struct {
	fields [2]virtualTime // of kubeFamily.times
}

type virtualTime struct {
	at      time.Time // on the cluster's clock
	machine time.Time // as it was written
}

// enter makes each as long ago as the cluster's clock says.
func (v *virtualTimes) enter(f *kubeFamily, now time.Time) {
	for i, name := range f.times() {
		if t := &v.fields[i]; !t.at.IsZero() {
			t.machine = time.Now().Add(-now.Sub(t.at))
			*field[time.Time](f.proxier, name) = t.machine
		}
	}
}

// leave notes which were written anew.
func (v *virtualTimes) leave(f *kubeFamily, now time.Time) {
	for i, name := range f.times() {
		t := &v.fields[i]
		if written := *field[time.Time](f.proxier, name); !written.Equal(t.machine) {
			t.at, t.machine = now, written
		}
	}
}

// Health implements node.Proxy.
func (k *process) Health(family v1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth {
	out := map[types.NamespacedName]proxier.ServiceHealth{}
	for name, health := range k.families[family].health.combined() {
		out[name] = proxier.ServiceHealth{Port: health.Port, LocalEndpoints: health.LocalEndpoints}
	}
	return out
}

// tell gives an event to both families. One that asks for a sync tells the health check of it.
func (k *process) tell(event func(proxy.Provider)) {
	for _, family := range Families {
		f := k.families[family]
		event(f.proxier)
		if len(f.loop.asked) > 0 {
			k.process.Health.QueuedUpdate(family)
		}
	}
}

// OnServiceAdd implements config.Handler.
func (k *process) OnServiceAdd(s *v1.Service) { k.OnServiceUpdate(nil, s) }

// OnServiceUpdate implements config.Handler.
func (k *process) OnServiceUpdate(before, after *v1.Service) {
	if !k.native() || !k.mends.has(AddressesOnce) {
		k.serviceChanged(before, after)
		return
	}
	for _, change := range k.servicesOf.change(before, after) {
		k.serviceChanged(change[0], change[1])
	}
}

func (k *process) serviceChanged(before, after *v1.Service) {
	for family, f := range k.families {
		f.mended.serviceChanged = f.mended.serviceChanged || udpServiceChanged(family, before, after)
	}
	k.tell(func(p proxy.Provider) {
		watched(before, after, FollowsService, p.OnServiceAdd, p.OnServiceUpdate, p.OnServiceDelete)
	})
}

// OnServiceDelete implements config.Handler.
func (k *process) OnServiceDelete(s *v1.Service) { k.OnServiceUpdate(s, nil) }

// OnServiceSynced implements config.Handler. The first Sync passes it on: kube-proxy syncs when it hears of it.
func (k *process) OnServiceSynced() { k.services = true }

// OnEndpointSliceAdd implements config.Handler.
func (k *process) OnEndpointSliceAdd(s *discovery.EndpointSlice) { k.OnEndpointSliceUpdate(nil, s) }

// OnEndpointSliceUpdate implements config.Handler.
func (k *process) OnEndpointSliceUpdate(before, after *discovery.EndpointSlice) {
	if k.mends == 0 {
		k.sliceChanged(before, after)
		return
	}
	for _, change := range k.slicesOf.change(k.mends, before, after) {
		k.sliceChanged(change[0], change[1])
	}
}

func (k *process) sliceChanged(before, after *discovery.EndpointSlice) {
	if k.mends.has(SameNotTold) && before != nil && after != nil && saysTheSame(before, after) {
		return
	}
	if k.mends.has(SlicesMove) && before != nil && after != nil &&
		before.Labels[discovery.LabelServiceName] != after.Labels[discovery.LabelServiceName] {
		k.sliceChanged(before, nil)
		before = nil
	}
	k.tell(func(p proxy.Provider) {
		watched(before, after, FollowsSlice, p.OnEndpointSliceAdd, p.OnEndpointSliceUpdate, p.OnEndpointSliceDelete)
	})
}

// OnEndpointSliceDelete implements config.Handler.
func (k *process) OnEndpointSliceDelete(s *discovery.EndpointSlice) { k.OnEndpointSliceUpdate(s, nil) }

// OnEndpointSlicesSynced implements config.Handler.
func (k *process) OnEndpointSlicesSynced() { k.slices = true }

// OnServiceCIDRsChanged implements config.ServiceCIDRHandler.
func (k *process) OnServiceCIDRsChanged(cidrs []string) {
	k.tell(func(p proxy.Provider) { p.OnServiceCIDRsChanged(cidrs) })
	if k.native() && k.mends.has(CIDRsFollowed) {
		for _, f := range k.families {
			f.forceFullSync()
		}
		k.tell(proxy.Provider.Sync)
	}
}

// OnNodeAdd implements config.Handler.
func (k *process) OnNodeAdd(n *v1.Node) { k.topology(n) }

// OnNodeUpdate implements config.Handler.
func (k *process) OnNodeUpdate(_, n *v1.Node) { k.topology(n) }

// OnNodeDelete implements config.Handler.
func (k *process) OnNodeDelete(*v1.Node) {}

// OnNodeSynced implements config.Handler.
func (k *process) OnNodeSynced() {}

// topology tells the labels that matter of this node, if they are others than before.
func (k *process) topology(n *v1.Node) {
	if n.Name != k.process.Node {
		return
	}
	labels := map[string]string{}
	if zone, ok := n.Labels[v1.LabelTopologyZone]; ok {
		labels[v1.LabelTopologyZone] = zone
	}
	k.tell(func(p proxy.Provider) {
		known := *field[map[string]string](p, "topologyLabels")
		if zone, ok := known[v1.LabelTopologyZone]; zone != labels[v1.LabelTopologyZone] || ok != (len(labels) > 0) {
			p.OnTopologyChange(labels)
		}
	})
}
