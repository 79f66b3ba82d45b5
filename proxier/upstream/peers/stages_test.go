package peers

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/proxy/nftables"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// stages plays what kube-proxy v1.36.3 was recorded at (internal/dumps/nftcalls), with the kube-proxy that is linked.
type stages struct {
	t         *testing.T
	programs  exec.Interface
	objects   *cases.Objects
	proxies   map[v1.IPFamily]*kubeFamily
	addresses []string
	// onPath has kube-proxy take nft from PATH, as it does by itself.
	onPath bool
}

// stagesConfig is a configuration of kube-proxy in the stages.
type stagesConfig struct {
	detector      func(pods string) proxyutil.LocalTrafficDetector
	masqueradeAll bool
	nodePorts     []string
	serviceCIDRs  []string
}

func byCIDR(pods string) proxyutil.LocalTrafficDetector { return proxyutil.NewDetectLocalByCIDR(pods) }

func byNothing(string) proxyutil.LocalTrafficDetector { return proxyutil.NewNoOpLocalDetector() }

func byPrefix(string) proxyutil.LocalTrafficDetector {
	return proxyutil.NewDetectLocalByInterfaceNamePrefix("veth")
}

func byBridge(string) proxyutil.LocalTrafficDetector {
	return proxyutil.NewDetectLocalByBridgeInterface("cbr0")
}

// InterfaceAddrs is what kube-proxy calls.
func (s *stages) InterfaceAddrs() (list []net.Addr, err error) {
	for _, text := range s.addresses {
		prefix := netip.MustParsePrefix(text)
		list = append(list, &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())})
	}
	return list, nil
}

// start starts kube-proxy with no objects.
func (s *stages) start(c stagesConfig) {
	s.proxies = map[v1.IPFamily]*kubeFamily{}
	node := map[v1.IPFamily]struct{ address, pods string }{
		v1.IPv4Protocol: {"192.168.10.1", "10.244.1.0/24"}, v1.IPv6Protocol: {"fd00:192:168:10::1", "fd00:10:244:1::/64"},
	}
	for _, family := range Families {
		of := node[family]
		surroundings := kubeSurroundings{
			node: stagesNode, address: netip.MustParseAddr(of.address), detector: c.detector(of.pods),
			masqueradeAll: c.masqueradeAll, masqueradeBit: 14,
			nodePortAddresses: c.nodePorts, syncPeriod: syncPeriod, native: s.programs, onPath: s.onPath, network: s,
			conntrack: &processConntrack{table: newFlows()},
		}
		var err error
		s.proxies[family], err = surroundings.family(family)
		require.NoError(s.t, err)
		s.proxies[family].proxier.OnServiceCIDRsChanged(c.serviceCIDRs)
	}
}

// tell changes the objects. A proxy that has started is told.
func (s *stages) tell(steps ...cases.Step) {
	for i := range steps {
		s.objects.Apply(&steps[i], s)
	}
}

// first delivers all objects and syncs.
func (s *stages) first() {
	for _, service := range s.objects.SortedServices() {
		s.OnServiceAdd(service)
	}
	for _, slice := range s.objects.SortedSlices() {
		s.OnEndpointSliceAdd(slice)
	}
	for _, family := range Families {
		s.proxies[family].proxier.OnServiceSynced()
		s.proxies[family].proxier.OnEndpointSlicesSynced()
	}
}

// sync syncs both families. The chains that went out of use before are deleted if enough time has passed.
func (s *stages) sync(enough bool) {
	for _, family := range Families {
		f := s.proxies[family]
		stale := *field[map[string]time.Time](f.proxier, "staleChains")
		for chain := range stale {
			stale[chain] = time.Now()
			if enough {
				stale[chain] = time.Time{}
			}
		}
		_ = (*field[func() error](f.runner(), "fn"))() // what it says of a failure is compared: the calls
	}
}

// run runs nft as somebody else.
func (s *stages) run(line string) {
	said, err := s.programs.Command("nft", strings.Fields(line)...).CombinedOutput()
	require.NoError(s.t, err, string(said))
}

func (s *stages) service(name string) *v1.Service {
	for _, service := range s.objects.SortedServices() {
		if service.Name == name {
			return service.DeepCopy()
		}
	}
	s.t.Fatalf("no service %s", name)
	return nil
}

// endpoints gives a service other endpoints.
func (s *stages) endpoints(service string, list ...string) {
	s.tell(cases.Step{Slice: stagesSlice(s.service(service), list...)})
}

// change changes a service.
func (s *stages) change(name string, change func(*v1.Service)) {
	service := s.service(name)
	change(service)
	s.tell(cases.Step{Service: service})
}

func (s *stages) full() {
	for _, family := range Families {
		s.proxies[family].forceFullSync()
	}
	s.sync(false)
}

// restart starts kube-proxy again, in the cluster of the beginning.
func (s *stages) restart(c stagesConfig) {
	s.proxies, s.objects = nil, cases.NewObjects()
	s.tell(stagesCluster()...)
	s.start(c)
	s.first()
}

func (s *stages) cleanup() {
	if s.onPath {
		assert.False(s.t, nftables.CleanupLeftovers(s.t.Context()))
		return
	}
	require.NoError(s.t, kubenft.CleanupOver(s.t.Context(), s.programs))
}

// played are the stages after the first two, by the names of their folders.
var played = map[string]func(*stages){
	"02-no-change": func(s *stages) { s.sync(false) },
	"03-endpoint-added": func(s *stages) {
		s.endpoints("web", "10.244.1.2", "10.244.1.3", "10.244.2.2", "10.244.2.99")
		s.sync(false)
	},
	"04-affinity-endpoint-removed": func(s *stages) { s.endpoints("sticky", "10.244.1.11"); s.sync(false) },
	"05-service-deleted":           func(s *stages) { s.tell(cases.Step{DeleteService: "demo/np"}); s.sync(false) },
	"06-stale-chains-deleted":      func(s *stages) { s.sync(true) },
	"07-no-endpoints-gains-one":    func(s *stages) { s.endpoints("none", "10.244.1.77"); s.sync(false) },
	"08-last-endpoint-lost":        func(s *stages) { s.endpoints("lb"); s.sync(false) },
	"09-source-ranges-removed":     func(s *stages) { s.change("lb", ranges()); s.sync(false) },
	"10-affinity-timeout-changed":  func(s *stages) { s.change("sticky", sticky(60)); s.sync(false) },
	"11-retry-after-that":          func(s *stages) { s.sync(false) },
	"12-policy-to-local": func(s *stages) {
		s.change("dual", func(service *v1.Service) { service.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster })
		s.sync(false)
	},
	"13-topology-full-sync": func(s *stages) { s.full() },
	"14-table-deleted-by-somebody": func(s *stages) {
		s.run("delete table ip kube-proxy")
		s.endpoints("web", "10.244.1.2")
		s.sync(false)
	},
	"15-retry-full-sync": func(s *stages) { s.sync(false) },
	"16-foreign-rule-and-element-kept": func(s *stages) {
		for _, line := range []string{
			"add rule ip kube-proxy services counter", "add chain ip kube-proxy foreign",
			"add element ip kube-proxy cluster-ips { 172.30.77.77 }", "delete element ip kube-proxy cluster-ips { 172.30.0.41 }",
		} {
			s.run(line)
		}
		s.full()
	},
	"17-restart-other-config": func(s *stages) {
		s.restart(stagesConfig{detector: byPrefix, masqueradeAll: true,
			serviceCIDRs: []string{"172.30.0.0/16", "172.31.0.0/16", "fd00:172:30::/112"}})
	},
	"18-restart-no-detector": func(s *stages) { s.restart(stagesConfig{detector: byNothing, nodePorts: []string{"192.168.10.0/24"}}) },
	"19-restart-bridge":      func(s *stages) { s.restart(stagesConfig{detector: byBridge, nodePorts: []string{"192.168.10.0/24"}}) },
	"20-service-cidrs-changed": func(s *stages) {
		for _, f := range s.proxies {
			f.proxier.OnServiceCIDRsChanged([]string{"172.30.0.0/16", "172.29.0.0/16"})
		}
		s.sync(false)
	},
	"21-node-address-added": func(s *stages) { s.addresses = append(s.addresses, "192.168.10.77/24"); s.sync(false) },
	"22-next-full-sync":     func(s *stages) { s.full() },
	"23-two-services-one-external-ip": func(s *stages) {
		for i, name := range []string{"same-a", "same-b"} {
			service := stagesService(name, fmt.Sprintf("172.30.1.%d", i+1), external("198.51.100.99"))
			s.tell(cases.Step{Service: service}, cases.Step{Slice: stagesSlice(service, "10.244.2.90")})
		}
		s.sync(true)
	},
	"24-and-again": func(s *stages) { s.sync(false) },
	"25-overlapping-source-ranges": func(s *stages) {
		service := stagesService("overlap", "172.30.1.9", balanced(30099, "203.0.113.90"), ranges("0.0.0.0/0", "10.0.0.0/8"))
		s.tell(cases.Step{Service: service}, cases.Step{Slice: stagesSlice(service, "10.244.2.91")})
		s.sync(false)
	},
	"27-cleanup":       (*stages).cleanup,
	"28-cleanup-again": (*stages).cleanup,
	"26-many-endpoints": func(s *stages) {
		service, list := stagesService("many", "172.30.1.10"), []string{}
		for i := range 200 {
			list = append(list, fmt.Sprintf("10.244.3.%d", i+1))
		}
		s.tell(cases.Step{Service: service}, cases.Step{Slice: stagesSlice(service, list...)})
		s.sync(false)
	},
}

// playStages plays all stages, and calls after each.
func playStages(t *testing.T, programs exec.Interface, onPath bool, after func(stage string)) {
	s := &stages{t: t, programs: programs, onPath: onPath, addresses: []string{
		"127.0.0.1/8", "::1/128", "192.168.10.1/24", "fd00:192:168:10::1/64",
	}}
	s.objects = cases.NewObjects()
	s.tell(stagesCluster()...)
	s.start(stagesConfig{
		detector: byCIDR, nodePorts: []string{"192.168.10.1/32", "fd00:192:168:10::1/128"},
		serviceCIDRs: []string{"172.30.0.0/16", "fd00:172:30::/112"},
	})
	after("00-start")
	s.first()
	after("01-first-full-sync")
	for _, stage := range slices.Sorted(maps.Keys(played)) {
		played[stage](s)
		after(stage)
	}
}
