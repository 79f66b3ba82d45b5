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
	"k8s.io/kubernetes/pkg/proxy/conntrack"
	"k8s.io/kubernetes/pkg/proxy/healthcheck"
	kubeiptables "k8s.io/kubernetes/pkg/proxy/iptables"
	"k8s.io/kubernetes/pkg/proxy/runner"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	"k8s.io/kubernetes/pkg/proxy/util/nfacct"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
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
	proxier *kubeiptables.Proxier
	health  *kubeHealth
}

// NewKubeProxy sets up kube-proxy's proxier on a new kernel.
func NewKubeProxy(settings *cases.Settings) (*KubeProxy, error) {
	return newKubeProxy(newNode(settings))
}

// HandOver sets up this project's proxier with the same settings on the node where kube-proxy's is not used any longer.
func (k *KubeProxy) HandOver() (*Chainwalk, error) { return newChainwalk(k.node) }

func newKubeProxy(n *node) (*KubeProxy, error) {
	kubeRegistry()
	k := &KubeProxy{node: n, tools: &tools{Interface: n.kernel.Exec()}, families: map[v1.IPFamily]*kubeFamily{}}
	for _, family := range Families {
		programs := newKubeRunner(k.tools, utiliptables.Protocol(family))
		f, err := newKubeFamily(family, n, &kubeTools{Interface: programs, noRandomFully: n.settings.NoRandomFully})
		if err != nil {
			return nil, fmt.Errorf("kube-proxy, %s: %w", family, err)
		}
		k.families[family] = f
	}
	return k, nil
}

// newKubeFamily sets up the proxier of one family with the given tools.
func newKubeFamily(family v1.IPFamily, n *node, programs utiliptables.Interface) (*kubeFamily, error) {
	s := n.settings
	surroundings := kubeSurroundings{
		node: NodeName, address: nodeIP(family, s), detector: kubeDetector(family, s.Detect),
		masqueradeAll: s.MasqueradeAll, masqueradeBit: s.MasqueradeBit,
		localhostNodePorts: s.LocalhostNodePorts, nodePortAddresses: s.NodePortAddresses, syncPeriod: syncPeriod,
		programs: programs, sysctls: n, network: n, conntrack: &processConntrack{table: n.flows},
	}
	if s.Accounting != "absent" {
		surroundings.accounting = kubeAccounting{node: n}
	}
	return surroundings.family(family)
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
	programs           utiliptables.Interface
	sysctls            sysctl.Interface
	network            proxyutil.NetworkInterfacer
	conntrack          conntrack.Interface
	accounting         nfacct.Interface // nil: the kernel has none
}

// family sets up the proxier.
func (s *kubeSurroundings) family(family v1.IPFamily) (*kubeFamily, error) {
	f := &kubeFamily{health: &kubeHealth{}}
	var err error
	if f.proxier, err = s.newProxier(family); err != nil {
		return nil, err
	}
	*field[conntrack.Interface](f.proxier, "conntrack") = s.conntrack
	*field[healthcheck.ServiceHealthServer](f.proxier, "serviceHealthServer") = f.health
	*field[proxyutil.NetworkInterfacer](f.proxier, "networkInterfacer") = s.network
	accounting := field[nfacct.Interface](f.proxier, "nfacct")
	if *accounting != nil {
		closeSocket(*accounting)
	}
	*accounting = s.accounting
	return f, nil
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
func (f *kubeFamily) sync() error { return (*field[func() error](f.runner(), "fn"))() }

// runner is what events ask for syncs.
func (f *kubeFamily) runner() *runner.BoundedFrequencyRunner {
	return *field[*runner.BoundedFrequencyRunner](f.proxier, "syncRunner")
}

func (f *kubeFamily) forceFullSync() { *field[bool](f.proxier, "needFullSync") = true }

func (f *kubeFamily) willSyncInFull() bool { return *field[bool](f.proxier, "needFullSync") }

// Kernel implements Peer.
func (k *KubeProxy) Kernel() *fakekernel.Kernel { return k.node.kernel }

// Sync implements Peer.
func (k *KubeProxy) Sync() map[v1.IPFamily]error {
	errs := map[v1.IPFamily]error{}
	for _, family := range Families {
		f := k.families[family]
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
	flushTables(k.node.kernel)
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
		*field[time.Time](f.proxier, "lastIPTablesCleanup") = time.Time{}
		*field[time.Time](f.proxier, "lastFullSync") = time.Time{}
	}
}

// Health implements Peer.
func (k *KubeProxy) Health(family v1.IPFamily) map[types.NamespacedName]Health {
	return k.families[family].health.combined()
}

// Large says whether the last sync of the family was one of a large cluster.
func (k *KubeProxy) Large(family v1.IPFamily) bool { return k.families[family].large() }

func (f *kubeFamily) large() bool { return *field[bool](f.proxier, "largeClusterMode") }

// NextIsFull says whether the next sync of the family will be a full one.
func (k *KubeProxy) NextIsFull(family v1.IPFamily) bool {
	f := k.families[family]
	return f.willSyncInFull() ||
		!f.large() && time.Since(*field[time.Time](f.proxier, "lastFullSync")) > proxyutil.FullSyncPeriod
}

func (k *KubeProxy) each(tell func(*kubeiptables.Proxier)) {
	for _, family := range Families {
		tell(k.families[family].proxier)
	}
}

// OnServiceAdd implements cases.Handler.
func (k *KubeProxy) OnServiceAdd(service *v1.Service) { k.OnServiceUpdate(nil, service) }

// OnServiceUpdate implements cases.Handler.
func (k *KubeProxy) OnServiceUpdate(before, after *v1.Service) {
	k.each(func(p *kubeiptables.Proxier) {
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
	k.each(func(p *kubeiptables.Proxier) {
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
	k.each(func(p *kubeiptables.Proxier) { p.OnTopologyChange(labels) })
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
