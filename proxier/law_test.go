package proxier_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// chainText holds the rules of each "table chain" after some restores. It
// refuses what a kernel refuses of chains: rules in chains or jumps to chains
// that are not there, and deleting chains that hold rules or are jumped to.
type chainText map[string][]string

func (c chainText) restore(t require.TestingT, input string) {
	table := ""
	for line := range strings.Lines(input) {
		line = strings.TrimSuffix(line, "\n")
		op, rest, _ := strings.Cut(line, " ")
		chain, rule, _ := strings.Cut(rest, " ")
		switch {
		case line[0] == '*':
			table = line[1:] + " "
		case line[0] == ':':
			c[table+op[1:]] = nil
		case op == "-A":
			require.Contains(t, c, table+chain, line)
			c[table+chain] = append(c[table+chain], rule)
		case op == "-X":
			require.Contains(t, c, table+chain, line)
			require.Empty(t, c[table+chain], line)
			delete(c, table+chain)
		default:
			require.Equal(t, "COMMIT", line)
			c.checkJumps(t, table)
		}
	}
}

func (c chainText) checkJumps(t require.TestingT, table string) {
	for chain, rules := range c {
		for _, rule := range rules {
			_, target, _ := strings.Cut(rule, " -j ")
			target, _, _ = strings.Cut(target, " ")
			if strings.HasPrefix(chain, table) && strings.HasPrefix(target, "KUBE-") {
				require.Contains(t, c, table+target, "jump to a chain that is not there: %s", rule)
			}
		}
	}
}

// cluster is a small API whose objects a test changes at random.
type cluster struct {
	family   v1.IPFamily
	services map[string]*v1.Service
	slices   map[string]*discovery.EndpointSlice
	zone     string
}

// tell gives all objects to a new proxier.
func (c *cluster) tell(p *proxier.Proxier) {
	for _, service := range c.services {
		p.OnServiceAdd(service)
	}
	for _, slice := range c.slices {
		p.OnEndpointSliceAdd(slice)
	}
	p.OnNodeAdd(c.node())
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
}

func (c *cluster) node() *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here", Labels: map[string]string{v1.LabelTopologyZone: c.zone}}}
}

// change changes one object and tells p.
func (c *cluster) change(t *rapid.T, p *proxier.Proxier) {
	name := fmt.Sprintf("s%d", rapid.IntRange(0, 3).Draw(t, "service"))
	slice := fmt.Sprintf("%s-%d", name, rapid.IntRange(1, 2).Draw(t, "slice"))
	switch rapid.SampledFrom([]string{"service", "slice", "slice", "slice", "no service", "no slice", "zone"}).Draw(t, "change") {
	case "service":
		service := c.drawService(t, name)
		p.OnServiceUpdate(c.services[name], service)
		c.services[name] = service
	case "slice":
		next := c.drawSlice(t, name, slice)
		p.OnEndpointSliceUpdate(c.slices[slice], next)
		c.slices[slice] = next
	case "no service":
		if service := c.services[name]; service != nil {
			p.OnServiceDelete(service)
			delete(c.services, name)
		}
	case "no slice":
		if old := c.slices[slice]; old != nil {
			p.OnEndpointSliceDelete(old)
			delete(c.slices, slice)
		}
	case "zone":
		c.zone = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
		p.OnNodeUpdate(nil, c.node())
	}
}

func (c *cluster) address(t *rapid.T, label string) string {
	last := rapid.IntRange(1, 6).Draw(t, label)
	if c.family == v1.IPv6Protocol {
		return fmt.Sprintf("fd00:%s::%d", map[string]string{"cluster": "30", "endpoint": "10", "vip": "99"}[label], last)
	}
	return fmt.Sprintf("%s.%d", map[string]string{"cluster": "172.30.0", "endpoint": "10.180.0", "vip": "192.0.2"}[label], last)
}

func (c *cluster) drawService(t *rapid.T, name string) *v1.Service {
	address := c.address(t, "cluster")
	ranges := []string{"198.51.100.0/24", "192.168.0.0/16", "fd00:77::/64", "2001:db8::/32"}
	kind := rapid.SampledFrom([]v1.ServiceType{v1.ServiceTypeClusterIP, v1.ServiceTypeNodePort, v1.ServiceTypeLoadBalancer}).Draw(t, "type")
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1.ServiceSpec{
		Type: kind, ClusterIP: address, ClusterIPs: []string{address},
		ExternalTrafficPolicy: rapid.SampledFrom([]v1.ServiceExternalTrafficPolicy{
			v1.ServiceExternalTrafficPolicyCluster, v1.ServiceExternalTrafficPolicyLocal}).Draw(t, "external"),
		SessionAffinity: rapid.SampledFrom([]v1.ServiceAffinity{v1.ServiceAffinityNone, v1.ServiceAffinityClientIP}).Draw(t, "affinity"),
	}}
	if seconds := rapid.SampledFrom([]int32{0, 60}).Draw(t, "timeout"); seconds > 0 {
		service.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
	internal := rapid.SampledFrom([]v1.ServiceInternalTrafficPolicy{
		v1.ServiceInternalTrafficPolicyCluster, v1.ServiceInternalTrafficPolicyLocal}).Draw(t, "internal")
	service.Spec.InternalTrafficPolicy = &internal
	for _, port := range rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 1, 3, rapid.ID[int]).Draw(t, "ports") {
		spec := v1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: int32(80 + port), Protocol: []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP,
			v1.ProtocolSCTP}[port]}
		if kind != v1.ServiceTypeClusterIP {
			spec.NodePort = int32(30000 + 10*int(name[1]-'0') + port)
		}
		service.Spec.Ports = append(service.Spec.Ports, spec)
	}
	if rapid.Bool().Draw(t, "externalIP") {
		service.Spec.ExternalIPs = []string{c.address(t, "vip")}
	}
	if kind == v1.ServiceTypeLoadBalancer {
		service.Spec.HealthCheckNodePort = 31000 + int32(name[1]-'0')
		service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: c.address(t, "vip")}}
		service.Spec.LoadBalancerSourceRanges = rapid.SliceOfNDistinct(rapid.SampledFrom(ranges), 0, 2, rapid.ID[string]).Draw(t, "ranges")
	}
	return service
}

func (c *cluster) drawSlice(t *rapid.T, service, name string) *discovery.EndpointSlice {
	slice := &discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{discovery.LabelServiceName: service}},
		AddressType: discovery.AddressType(c.family),
	}
	for i, protocol := range []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP} {
		portName, number := fmt.Sprintf("p%d", i), int32(8080+i)
		slice.Ports = append(slice.Ports, discovery.EndpointPort{Name: &portName, Port: &number, Protocol: &protocol})
	}
	words := []string{"", "starting", "draining", "gone"}
	for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
		text := []string{c.address(t, "endpoint")}
		if word := rapid.SampledFrom(words).Draw(t, "state"); word != "" {
			text = append(text, word)
		}
		if rapid.Bool().Draw(t, "here") {
			text = append(text, "here")
		}
		if zone := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "hint"); zone != "" {
			text = append(text, "zone="+zone)
		}
		slice.Endpoints = append(slice.Endpoints, endpointOf(text))
	}
	return slice
}

// After any sequence of changes and failures, the rules equal those that a new
// proxier writes at once.
func TestPartialSyncsAddUp(t *testing.T) {
	sample.Checks(t, 30)
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SampledFrom([]v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}).Draw(t, "family")
		config, _ := testConfig(family)
		if rapid.Bool().Draw(t, "counters") {
			countWith(&config, &host{})
		}
		config.MasqueradeAll = rapid.Bool().Draw(t, "masqueradeAll")
		config.LocalhostNodePorts = rapid.Bool().Draw(t, "localhost")
		r, counted := recorderOf(config), &ruleCounts{witness: &witness{}}
		config.Metrics = counted
		c := &cluster{family: family, services: map[string]*v1.Service{}, slices: map[string]*discovery.EndpointSlice{}}
		p, err := proxier.New(config)
		require.NoError(t, err)
		c.tell(p)
		held := chainText{}
		for range rapid.IntRange(1, 12).Draw(t, "syncs") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				c.change(t, p)
			}
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				r.fail["restore"] = errFault
				_ = p.Sync() // one without a change does not fail
				delete(r.fail, "restore")
			}
			r.restored = nil
			require.NoError(t, p.Sync())
			for _, input := range r.restored {
				held.restore(t, input)
			}
			fresh, counts := c.fresh(t, config)
			require.Equal(t, fresh, held)
			require.Equal(t, counts, counted.total)
			require.False(t, p.NeedsSync())
		}
	})
}

// ruleCounts are the Metrics that keep how many rules there are in each table.
type ruleCounts struct {
	*witness
	total map[string]int
}

func (c *ruleCounts) SetRules(table string, total, _ int) {
	if c.total == nil {
		c.total = map[string]int{}
	}
	c.total[table] = total
}

// fresh returns what a new proxier writes on a new node, and how many rules it says that there are.
func (c *cluster) fresh(t *rapid.T, config proxier.Config) (chainText, map[string]int) {
	r, counted := newRecorder(iptables.Protocol(c.family)), &ruleCounts{witness: &witness{}}
	rules := config.Rules.(proxier.IPTables)
	rules.Tools = r
	config.Rules, config.Metrics = rules, counted
	p, err := proxier.New(config)
	require.NoError(t, err)
	c.tell(p)
	require.NoError(t, p.Sync())
	held := chainText{}
	held.restore(t, r.last())
	return held, counted.total
}

// Above 1,000 endpoints rules for endpoints are written without comments, and
// chains that are out of use wait for the sync period.
func TestLargeCluster(t *testing.T) {
	p, r, clock := startedWithClock(t, 30*time.Second)
	sync := func() string {
		r.restored = nil
		require.NoError(t, p.Sync())
		return r.last()
	}
	addClusterIPs(p, 2, 500)
	assert.Equal(t, 1000, strings.Count(sync(), ":http -> 10."), "1,000 endpoints are not too many")

	service, slice := webService(), webSlice(v1.IPv4Protocol, "10.180.0.1", true)
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	addClusterIPs(p, 3, 500) // the first two are there already
	text := sync()
	assert.Contains(t, text, "--to-destination 10.0.3.233:8080")
	assert.NotContains(t, text, "ns/web:http ->")
	assert.NotContains(t, text, "--comment ns/web:http -s")
	assert.Contains(t, text, "--to-destination 10.180.0.1:8080")
	assert.NotContains(t, text, "--to-destination 10.0.0.1:8080", "what has not changed is not written again")

	p.OnServiceDelete(service)
	text = sync()
	assert.NotContains(t, text, "-X ")
	assert.True(t, slices.Contains(r.natNames, "KUBE-SVC-HMALVVKA6APKJPPY"))
	clock.Step(29 * time.Second)
	assert.Empty(t, sync(), "too early")
	clock.Step(time.Second)
	text = sync()
	assert.Contains(t, text, "-X KUBE-SVC-HMALVVKA6APKJPPY\n")
	assert.Contains(t, text, "-X KUBE-SEP-SXBKNCDDB4U55JVY\n")
	assert.Equal(t, 0, strings.Count(text, "-A "))

	r.restored = nil
	require.NoError(t, p.SyncAll())
	assert.Contains(t, r.last(), "--to-destination 10.0.0.1:8080")
	assert.NotContains(t, r.last(), ":http -> 10.")
}

// A chain that is in use again must not be deleted with the others.
func TestChainReturnsBeforeItsDeletion(t *testing.T) {
	p, r, clock := startedWithClock(t, 0)
	addClusterIPs(p, 1, 1001)
	service, slice := webService(), webSlice(v1.IPv4Protocol, "10.180.0.1", true)
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	p.OnEndpointSliceDelete(slice)
	require.NoError(t, p.Sync())
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	assert.Contains(t, r.last(), ":KUBE-SEP-SXBKNCDDB4U55JVY - [0:0]\n")
	clock.Step(time.Minute)
	r.restored = nil
	require.NoError(t, p.Sync())
	assert.NotContains(t, strings.Join(r.restored, ""), "-X")
	assert.True(t, slices.Contains(r.natNames, "KUBE-SEP-SXBKNCDDB4U55JVY"))
}

// Once an hour everything is written, whatever has changed.
func TestFullSyncEveryHour(t *testing.T) {
	p, r, clock := startedWithClock(t, 0)
	r.calls = nil
	clock.Step(time.Hour - time.Second)
	require.NoError(t, p.Sync())
	assert.Empty(t, r.calls)
	r.restored = nil
	clock.Step(time.Second)
	require.NoError(t, p.Sync())
	assert.Contains(t, r.last(), ":KUBE-FORWARD ")
	r.calls = nil
	clock.Step(time.Second)
	require.NoError(t, p.Sync())
	assert.Empty(t, r.calls)
}

// A large cluster may ask for no hourly full sync. Once it is smaller, the next is due.
func TestNoHourlyFullSyncInALargeCluster(t *testing.T) {
	for _, test := range []struct {
		endpoints int
		none      bool
		full      bool
	}{{1001, true, false}, {1000, true, true}, {1001, false, true}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			config, _ := testConfig(v1.IPv4Protocol)
			clock := testclock.NewFakeClock(time.Unix(1000000, 0))
			config.Clock, config.NoHourlyFullSync = clock, test.none
			p, r := started(t, config), recorderOf(config)
			addClusterIPs(p, 1, test.endpoints)
			require.NoError(t, p.Sync())
			r.restored = nil
			clock.Step(time.Hour)
			require.NoError(t, p.Sync())
			assert.Equal(t, test.full, strings.Contains(r.last(), ":KUBE-FORWARD "))
		})
	}
}
