package peers

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/node/util/sysctl"
	"k8s.io/kubernetes/pkg/proxy"
	"k8s.io/kubernetes/pkg/proxy/conntrack"
	"k8s.io/kubernetes/pkg/proxy/healthcheck"
	"k8s.io/kubernetes/pkg/proxy/runner"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	"k8s.io/kubernetes/pkg/proxy/util/nfacct"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"k8s.io/utils/exec"
	"sigs.k8s.io/knftables"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// syncPeriod is that of both proxiers. It is longer than any run, so that what is done once in it happens when a case says so.
const syncPeriod = time.Hour

// KubeProxy is kube-proxy's proxier of both families on a kernel.
type KubeProxy struct {
	node     *node
	tools    *tools
	families map[v1.IPFamily]*kubeFamily
	started  bool
}

var _ cases.Handler = (*KubeProxy)(nil)

// kubeFamily is the proxier of one family.
type kubeFamily struct {
	proxier proxy.Provider // *iptables.Proxier or *nftables.Proxier of kube-proxy
	health  *kubeHealth
	native  bool // it is that of mode nftables
}

// NewKubeProxy sets up kube-proxy's proxier on a new kernel.
func NewKubeProxy(settings *cases.Settings) (*KubeProxy, error) {
	n, err := newNode(settings)
	if err != nil {
		return nil, err
	}
	return newKubeProxy(n)
}

// HandOver sets up this project's proxier with the same settings on the node where kube-proxy's is not used any longer.
func (k *KubeProxy) HandOver() (*Chainwalk, error) { return newChainwalk(k.node) }

func newKubeProxy(n *node) (*KubeProxy, error) {
	kubeRegistry()
	k := &KubeProxy{node: n, tools: &tools{Interface: n.programs}, families: map[v1.IPFamily]*kubeFamily{}}
	for _, family := range Families {
		f, err := k.newFamily(family)
		if err != nil {
			return nil, fmt.Errorf("kube-proxy, %s: %w", family, err)
		}
		k.families[family] = f
	}
	return k, nil
}

// newFamily sets up the proxier of one family in the mode of the settings.
func (k *KubeProxy) newFamily(family v1.IPFamily) (*kubeFamily, error) {
	s := kubeSurroundingsOf(family, k.node)
	if k.node.settings.Mode == cases.NFTables {
		s.native = k.tools
	} else {
		s.programs = &kubeTools{Interface: newKubeRunner(k.tools, utiliptables.Protocol(family)), noRandomFully: k.node.settings.NoRandomFully}
	}
	return s.family(family)
}

// kubeSurroundingsOf is what kube-proxy's proxier is given on a node, but for its tools.
func kubeSurroundingsOf(family v1.IPFamily, n *node) *kubeSurroundings {
	s := n.settings
	surroundings := &kubeSurroundings{
		node: NodeName, address: nodeIP(family, s), detector: kubeDetector(family, s.Detect),
		masqueradeAll: s.MasqueradeAll, masqueradeBit: s.MasqueradeBit,
		localhostNodePorts: s.LocalhostNodePorts, nodePortAddresses: s.NodePortAddresses, syncPeriod: syncPeriod,
		sysctls: n, network: n, conntrack: &processConntrack{table: n.flows},
	}
	if s.Accounting != "absent" {
		surroundings.accounting = kubeAccounting{node: n}
	}
	return surroundings
}

// kubeSurroundings are what kube-proxy's proxier of one family is given, and what it finds on its machine.
type kubeSurroundings struct {
	node               string
	address            netip.Addr
	detector           proxyutil.LocalTrafficDetector
	masqueradeAll      bool
	masqueradeBit      int
	localhostNodePorts bool
	nodePortAddresses  []string
	syncPeriod         time.Duration
	programs           utiliptables.Interface // of mode iptables
	native             exec.Interface         // has the nft of mode nftables; nil: mode iptables
	onPath             bool                   // the nft of mode nftables is the one of PATH, as kube-proxy has it by itself
	sysctls            sysctl.Interface
	network            proxyutil.NetworkInterfacer
	conntrack          conntrack.Interface
	accounting         nfacct.Interface // nil: the kernel has none
}

// family sets up the proxier.
func (s *kubeSurroundings) family(family v1.IPFamily) (*kubeFamily, error) {
	f := &kubeFamily{health: &kubeHealth{}, native: s.native != nil}
	var err error
	if f.native {
		f.proxier, err = s.newNative(family)
	} else {
		f.proxier, err = s.newRestoring(family)
	}
	if err != nil {
		return nil, err
	}
	*field[conntrack.Interface](f.proxier, "conntrack") = s.conntrack
	*field[healthcheck.ServiceHealthServer](f.proxier, "serviceHealthServer") = f.health
	*field[proxyutil.NetworkInterfacer](f.proxier, "networkInterfacer") = s.network
	return f, nil
}

// newRestoring sets up the proxier of mode iptables.
func (s *kubeSurroundings) newRestoring(family v1.IPFamily) (proxy.Provider, error) {
	p, err := s.newProxier(family)
	if err != nil {
		return nil, err
	}
	accounting := field[nfacct.Interface](p, "nfacct")
	if *accounting != nil {
		closeSocket(*accounting)
	}
	*accounting = s.accounting
	return p, nil
}

// newNative sets up the proxier of mode nftables.
func (s *kubeSurroundings) newNative(family v1.IPFamily) (proxy.Provider, error) {
	config := &kubenft.Config{
		Family: family, NodeName: s.node, NodeIP: s.address, Detector: s.detector, MasqueradeAll: s.masqueradeAll, MasqueradeBit: s.masqueradeBit,
		NodePortAddresses: s.nodePortAddresses, SyncPeriod: s.syncPeriod,
	}
	if s.onPath {
		return kubenft.New(config)
	}
	p, tables, err := kubenft.NewOver(config, s.native)
	if err != nil {
		return nil, err
	}
	*field[knftables.Interface](p, "nftables") = tables
	return p, nil
}

func kubeDetector(family v1.IPFamily, detect string) proxyutil.LocalTrafficDetector {
	switch detect {
	case "cidr":
		return proxyutil.NewDetectLocalByCIDR(pods(family).String())
	case "bridge":
		return proxyutil.NewDetectLocalByBridgeInterface(PodBridge)
	case "prefix":
		return proxyutil.NewDetectLocalByInterfaceNamePrefix(PodDevicePrefix)
	}
	return proxyutil.NewNoOpLocalDetector()
}

// sync is one sync. kube-proxy says no more of an error than that there was one.
func (f *kubeFamily) sync() error {
	return (*field[func() error](f.runner(), "fn"))()
}

// ageChains has a second pass, which is the least between two syncs by default (minSyncPeriod): mode nftables deletes the chains of the
// last sync then.
func (f *kubeFamily) ageChains() {
	if !f.native {
		return
	}
	stale := *f.staleChains()
	for chain := range stale {
		stale[chain] = time.Time{}
	}
}

// staleChains are the chains of mode nftables that are out of use, with the time since when.
func (f *kubeFamily) staleChains() *map[string]time.Time {
	return field[map[string]time.Time](f.proxier, "staleChains")
}

// runner is what events ask for syncs.
func (f *kubeFamily) runner() *runner.BoundedFrequencyRunner {
	return *field[*runner.BoundedFrequencyRunner](f.proxier, "syncRunner")
}

func (f *kubeFamily) forceFullSync() { *field[bool](f.proxier, "needFullSync") = true }

func (f *kubeFamily) willSyncInFull() bool { return *field[bool](f.proxier, "needFullSync") }

// Kernels implements Peer.
func (k *KubeProxy) Kernels() []string { return k.node.kernels() }

// Close implements Peer.
func (k *KubeProxy) Close() error { return k.node.close() }

// Kernel implements Peer.
func (k *KubeProxy) Kernel() *fakekernel.Kernel { return k.node.kernel }

// Sync implements Peer.
func (k *KubeProxy) Sync() map[v1.IPFamily]error {
	errs := map[v1.IPFamily]error{}
	for _, family := range Families {
		f := k.families[family]
		f.ageChains()
		if k.started {
			errs[family] = f.sync()
			continue
		}
		f.proxier.OnServiceSynced()
		f.proxier.OnEndpointSlicesSynced() // syncs
		if f.willSyncInFull() {
			errs[family] = errors.New("first sync failed")
		}
	}
	k.started = true
	k.tools.failing = nil
	return errs
}

// Flush implements Peer. It does what the monitor of the canary chains would.
func (k *KubeProxy) Flush() map[v1.IPFamily]error {
	k.node.flush()
	for _, f := range k.families {
		f.forceFullSync()
	}
	return k.Sync()
}

// Fail implements Peer.
func (k *KubeProxy) Fail() { k.tools.failRestores() }

// Hour implements Peer: the time when chains were last deleted and of the last full sync are long ago.
func (k *KubeProxy) Hour() {
	for _, f := range k.families {
		for _, name := range f.times() {
			*field[time.Time](f.proxier, name) = time.Time{}
		}
	}
}

// Health implements Peer.
func (k *KubeProxy) Health(family v1.IPFamily) map[types.NamespacedName]Health {
	return k.families[family].health.combined()
}

// Large says whether the last sync of the family was one of a large cluster.
func (k *KubeProxy) Large(family v1.IPFamily) bool { return k.families[family].large() }

// large says so of mode iptables; mode nftables knows no large clusters.
func (f *kubeFamily) large() bool { return !f.native && *field[bool](f.proxier, "largeClusterMode") }

// times are the fields of the proxier that say when something was done last.
func (f *kubeFamily) times() []string {
	if f.native {
		return []string{"lastFullSync"}
	}
	return []string{"lastFullSync", "lastIPTablesCleanup"}
}

// NextIsFull says whether the next sync of the family will be a full one.
func (k *KubeProxy) NextIsFull(family v1.IPFamily) bool {
	f := k.families[family]
	return f.willSyncInFull() ||
		!f.large() && time.Since(*field[time.Time](f.proxier, "lastFullSync")) > proxyutil.FullSyncPeriod
}

func (k *KubeProxy) each(tell func(proxy.Provider)) {
	for _, family := range Families {
		tell(k.families[family].proxier)
	}
}

// OnServiceAdd implements cases.Handler.
func (k *KubeProxy) OnServiceAdd(service *v1.Service) { k.OnServiceUpdate(nil, service) }

// OnServiceUpdate implements cases.Handler.
func (k *KubeProxy) OnServiceUpdate(before, after *v1.Service) {
	k.each(func(p proxy.Provider) {
		watched(before, after, FollowsService, p.OnServiceAdd, p.OnServiceUpdate, p.OnServiceDelete)
	})
}

// OnServiceDelete implements cases.Handler.
func (k *KubeProxy) OnServiceDelete(service *v1.Service) { k.OnServiceUpdate(service, nil) }

// OnEndpointSliceAdd implements cases.Handler.
func (k *KubeProxy) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	k.OnEndpointSliceUpdate(nil, slice)
}

// OnEndpointSliceUpdate implements cases.Handler.
func (k *KubeProxy) OnEndpointSliceUpdate(before, after *discovery.EndpointSlice) {
	k.each(func(p proxy.Provider) {
		watched(before, after, FollowsSlice, p.OnEndpointSliceAdd, p.OnEndpointSliceUpdate, p.OnEndpointSliceDelete)
	})
}

// OnEndpointSliceDelete implements cases.Handler.
func (k *KubeProxy) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	k.OnEndpointSliceUpdate(slice, nil)
}

// OnZone implements cases.Handler.
func (k *KubeProxy) OnZone(zone string) {
	labels := map[string]string{}
	if zone != "" {
		labels[v1.LabelTopologyZone] = zone
	}
	k.each(func(p proxy.Provider) { p.OnTopologyChange(labels) })
}

// kubeTools are kube-proxy's tools without a monitor, which a case calls for itself.
type kubeTools struct {
	utiliptables.Interface
	noRandomFully bool // which kube-proxy asks for until v1.36
}

// Monitor does nothing.
func (t *kubeTools) Monitor(utiliptables.Chain, []utiliptables.Table, func(), time.Duration, <-chan struct{}) {
}

// kubeAccounting is an nfacct.Interface that can ensure and nothing else, which is all that a sync needs.
type kubeAccounting struct {
	nfacct.Interface
	node interface{ Ensure(name string) error }
}

// Ensure implements nfacct.Interface.
func (a kubeAccounting) Ensure(name string) error { return a.node.Ensure(name) }

// kubeHealth notes what the server of health checks is told.
type kubeHealth struct {
	ports     map[types.NamespacedName]uint16
	endpoints map[types.NamespacedName]int
}

// SyncServices implements healthcheck.ServiceHealthServer.
func (h *kubeHealth) SyncServices(ports map[types.NamespacedName]uint16) error {
	h.ports = maps.Clone(ports)
	return nil
}

// SyncEndpoints implements healthcheck.ServiceHealthServer.
func (h *kubeHealth) SyncEndpoints(endpoints map[types.NamespacedName]int) error {
	h.endpoints = maps.Clone(endpoints)
	return nil
}

func (h *kubeHealth) combined() map[types.NamespacedName]Health {
	all := map[types.NamespacedName]Health{}
	for name, port := range h.ports {
		all[name] = Health{Port: port, LocalEndpoints: h.endpoints[name]}
	}
	return all
}

// Metrics implements Peer.
func (k *KubeProxy) Metrics(family v1.IPFamily) map[string]float64 {
	return valuesOf(kubeRegistry(), family)
}

// Flows implements Peer.
func (k *KubeProxy) Flows() *Flows { return k.node.flows }

// Sysctls implements Peer.
func (k *KubeProxy) Sysctls() map[string]int { return k.node.sysctls }
