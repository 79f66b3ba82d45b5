package proxier_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/metrics"
)

var _ proxier.Metrics = metrics.Family{}

// witness is told everything and writes it down.
type witness struct {
	notes []string
	// unserved is the error of SyncServices.
	unserved error
}

func (w *witness) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// take returns the notes since the last call, one a line.
func (w *witness) take() string {
	text := strings.Join(w.notes, "\n")
	w.notes = nil
	return text
}

func (w *witness) Queued(at time.Time)            { w.note("queued %d", at.Unix()) }
func (w *witness) ServiceEvent(pending int)       { w.note("service event, %d pending", pending) }
func (w *witness) EndpointSliceEvent(pending int) { w.note("slice event, %d pending", pending) }
func (w *witness) ChangesTaken()                  { w.note("changes taken") }
func (w *witness) FullSyncTook(time.Duration)     { w.note("full sync") }
func (w *witness) PartialSyncTook(time.Duration)  { w.note("partial sync") }
func (w *witness) RestoreFailed()                 { w.note("restore failed") }
func (w *witness) PartialSyncFailed()             { w.note("partial sync failed") }
func (w *witness) TransactionFailed()             { w.note("transaction failed") }
func (w *witness) CleanupFailed()                 { w.note("cleanup failed") }
func (w *witness) SetRules(table string, total, written int) {
	w.note("%s %d rules, %d written", table, total, written)
}
func (w *witness) SetNoLocalEndpoints(internal, external int) {
	w.note("no local %d %d", internal, external)
}
func (w *witness) ConntrackCleaned(_ time.Duration, count int) { w.note("conntrack %d deleted", count) }
func (w *witness) QueuedUpdate(family v1.IPFamily)             { w.note("%s unhealthy from now on", family) }
func (w *witness) Updated(family v1.IPFamily)                  { w.note("%s healthy", family) }
func (w *witness) Synced(at time.Time, triggers map[types.NamespacedName][]time.Time) {
	w.note("synced %d, %d triggers", at.Unix(), len(triggers))
}

func (w *witness) SyncServices(ports map[types.NamespacedName]uint16) error {
	w.note("health ports %v", ports)
	return w.unserved
}

func (w *witness) SyncEndpoints(counts map[types.NamespacedName]int) {
	w.note("local endpoints %v", counts)
}

func (w *witness) Walk(_ v1.IPFamily, visit func(conntrack.Entry)) error {
	w.note("conntrack listed")
	visit(conntrack.Entry{
		Protocol: 17,
		Original: conntrack.Tuple{Dst: netip.MustParseAddrPort("172.30.0.10:53")},
		Reply:    conntrack.Tuple{Src: netip.MustParseAddrPort("10.180.0.53:53")},
	})
	return nil
}

func (w *witness) Delete(_ v1.IPFamily, entries []conntrack.Entry) (int, error) {
	w.note("conntrack delete %s", entries[0].Reply.Src)
	if w.unserved != nil {
		return 0, w.unserved
	}
	return len(entries), nil
}

// startWitnessed returns a proxier after its first sync, with a witness.
func startWitnessed(t *testing.T) (*proxier.Proxier, *recorder, *witness) {
	config, _ := testConfig(v1.IPv4Protocol)
	w := &witness{}
	config.Metrics, config.Health, config.ServiceHealth, config.Conntrack = w, w, w, w
	config.Clock = testclock.NewFakeClock(time.Unix(1000000, 0))
	p := started(t, config)
	assert.Equal(t, strings.Join([]string{
		"IPv4 unhealthy from now on", "queued 1000000",
		"changes taken", "filter 3 rules, 3 written", "nat 5 rules, 5 written", "no local 0 0", "full sync",
		"synced 1000000, 0 triggers", "health ports map[]", "local endpoints map[]", "IPv4 healthy",
	}, "\n"), w.take())
	return p, recorderOf(config), w
}

func TestWhatIsReported(t *testing.T) {
	p, r, w := startWitnessed(t)
	p.OnServiceAdd(webService())
	slice := webSlice(v1.IPv4Protocol, "10.180.0.1", true)
	slice.Annotations = map[string]string{v1.EndpointsLastChangeTriggerTime: time.Unix(1000001, 0).UTC().Format(time.RFC3339)}
	p.OnEndpointSliceAdd(slice)
	p.OnEndpointSliceAdd(webSlice(v1.IPv6Protocol, "fd00:10::1", true))
	nobodys := webSlice(v1.IPv4Protocol, "10.180.0.9", true)
	nobodys.Name, nobodys.Labels = "nobodys", nil
	p.OnEndpointSliceAdd(nobodys)
	assert.Equal(t, strings.Join([]string{
		"service event, 1 pending", "IPv4 unhealthy from now on", "queued 1000000",
		"slice event, 1 pending", "IPv4 unhealthy from now on", "queued 1000000",
		"IPv4 unhealthy from now on", "queued 1000000", // still waits; the other family's slice is no event of this one
		"IPv4 unhealthy from now on", "queued 1000000", // nor is one without a service
	}, "\n"), w.take())

	r.fail["restore"] = errFault
	require.ErrorIs(t, p.Sync(), errFault)
	assert.Equal(t, "changes taken\nrestore failed\npartial sync failed\npartial sync", w.take())
	delete(r.fail, "restore")

	require.NoError(t, p.Sync())
	assert.Equal(t, strings.Join([]string{
		// The health check port; cluster IP, node port, three rules for external traffic and the one to the local
		// endpoint, one in each policy's chain, two for the endpoint.
		"changes taken", "filter 4 rules, 4 written", "nat 14 rules, 14 written", "no local 0 0", "full sync",
		"synced 1000000, 1 triggers", "health ports map[ns/web:30999]", "local endpoints map[ns/web:1]", "IPv4 healthy",
	}, "\n"), w.take())

	p.OnEndpointSliceUpdate(nil, webSlice(v1.IPv4Protocol, "10.180.0.2", true))
	w.take()
	w.unserved = errors.New("port in use")
	require.NoError(t, p.Sync(), "health checks do not hold up the rules")
	// Three for external traffic, one in each policy's chain, two for the endpoint.
	assert.Contains(t, w.take(), "nat 14 rules, 7 written\nno local 0 0\npartial sync")
}

func TestNoLocalEndpointsAreCounted(t *testing.T) {
	local := v1.ServiceInternalTrafficPolicyLocal
	tests := []struct {
		name     string
		external v1.ServiceExternalTrafficPolicy
		internal *v1.ServiceInternalTrafficPolicy
		node     string
		want     string
	}{
		{"both policies Local, endpoint here", v1.ServiceExternalTrafficPolicyLocal, &local, "here", "no local 0 0"},
		{"both policies Local, endpoint elsewhere", v1.ServiceExternalTrafficPolicyLocal, &local, "there", "no local 1 1"},
		{"external policy Local, endpoint elsewhere", v1.ServiceExternalTrafficPolicyLocal, nil, "there", "no local 0 1"},
		{"internal policy Local, endpoint elsewhere", v1.ServiceExternalTrafficPolicyCluster, &local, "there", "no local 1 0"},
		{"policies Cluster, endpoint elsewhere", v1.ServiceExternalTrafficPolicyCluster, nil, "there", "no local 0 0"},
		{"both policies Local, no endpoint at all", v1.ServiceExternalTrafficPolicyLocal, &local, "", "no local 0 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, _, w := startWitnessed(t)
			service := webService()
			service.Spec.ExternalTrafficPolicy, service.Spec.InternalTrafficPolicy = test.external, test.internal
			p.OnServiceAdd(service)
			slice := webSlice(v1.IPv4Protocol, "10.180.0.1", true)
			slice.Endpoints[0].NodeName = &test.node
			if test.node != "" {
				p.OnEndpointSliceAdd(slice)
			}
			require.NoError(t, p.Sync())
			assert.Contains(t, w.take(), test.want, "after a partial sync")
			require.NoError(t, p.SyncAll())
			assert.Contains(t, w.take(), test.want, "after a full sync")
			p.OnServiceDelete(service)
			require.NoError(t, p.Sync())
			assert.Contains(t, w.take(), "no local 0 0", "it is gone")
		})
	}
}

// The jumps to the node ports are rules of table nat: one for each of the node's addresses that serve them.
func TestRulesAreCountedWhenTheNodesAddressesChange(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	w := &witness{}
	config.Metrics, config.NodePortAddresses = w, []netip.Prefix{prefix("192.168.0.0/16")}
	host.addresses = addresses("192.168.0.2")
	p := started(t, config)
	assert.Contains(t, w.take(), "nat 5 rules, 5 written")
	for _, step := range []struct {
		addresses []netip.Addr
		want      string
	}{
		{addresses("192.168.0.2", "192.168.0.3", "192.168.0.4"), "nat 7 rules, 3 written"},
		{addresses("192.168.0.3"), "nat 5 rules, 1 written"},
		{nil, "nat 4 rules, 0 written"},
	} {
		host.addresses = step.addresses
		require.NoError(t, p.Sync())
		assert.Contains(t, w.take(), step.want)
	}
	host.addresses = addresses("192.168.0.2", "192.168.0.3")
	require.NoError(t, p.SyncAll())
	assert.Contains(t, w.take(), "nat 6 rules, 6 written")
}

func dnsService() (*v1.Service, *discovery.EndpointSlice) {
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "dns"},
		Spec:       v1.ServiceSpec{ClusterIP: "172.30.0.10", Ports: []v1.ServicePort{{Name: "dns", Port: 53, Protocol: v1.ProtocolUDP}}},
	}
	name, port, protocol := "dns", int32(53), v1.ProtocolUDP
	slice := &discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: "dns-1", Labels: map[string]string{discovery.LabelServiceName: "dns"}},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
		Endpoints:   []discovery.Endpoint{{Addresses: []string{"10.180.0.53"}}},
	}
	return service, slice
}

// The witness has one entry, to 172.30.0.10:53 and translated to 10.180.0.53:53.
func TestConntrackIsCleanedAfterTheRulesAreWritten(t *testing.T) {
	p, r, w := startWitnessed(t)
	service, slice := dnsService()
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	assert.Contains(t, w.take(), "conntrack listed\nconntrack 0 deleted", "the endpoint serves")

	p.OnServiceAdd(webService())
	require.NoError(t, p.Sync())
	require.NoError(t, p.SyncAll())
	assert.NotContains(t, w.take(), "conntrack", "nothing of UDP has changed")

	p.OnEndpointSliceDelete(slice)
	w.take()
	r.fail["restore"] = errFault
	require.ErrorIs(t, p.Sync(), errFault)
	assert.NotContains(t, w.take(), "conntrack", "the rules are not written yet")
	delete(r.fail, "restore")
	w.unserved = errFault
	require.ErrorIs(t, p.Sync(), errFault)
	assert.Contains(t, w.take(), "IPv4 healthy\nconntrack listed\nconntrack delete 10.180.0.53:53\nconntrack 0 deleted")
	w.unserved = nil
	require.NoError(t, p.Sync())
	assert.Contains(t, w.take(), "conntrack delete 10.180.0.53:53\nconntrack 1 deleted", "what failed is done by the next sync")
	require.NoError(t, p.Sync())
	assert.NotContains(t, w.take(), "conntrack", "once")
}

func TestConntrackOfAServiceThatIsGone(t *testing.T) {
	p, _, w := startWitnessed(t)
	service, slice := dnsService()
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	w.take()
	p.OnServiceDelete(service)
	require.NoError(t, p.Sync())
	assert.Contains(t, w.take(), "conntrack 1 deleted")

	other := service.DeepCopy()
	other.Name = "other"
	p.OnServiceAdd(other)
	otherSlice := slice.DeepCopy()
	otherSlice.Name, otherSlice.Labels[discovery.LabelServiceName] = "other-1", "other"
	p.OnEndpointSliceAdd(otherSlice)
	p.OnServiceAdd(service)
	require.NoError(t, p.Sync())
	w.take()
	p.OnServiceDelete(service)
	require.NoError(t, p.Sync())
	assert.Contains(t, w.take(), "conntrack 0 deleted", "another service has its address and the endpoint")
}

// A proxier that starts on a node where nothing has changed deletes nothing.
func TestConntrackAfterARestart(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	w := &witness{}
	config.Conntrack = w
	p, err := proxier.New(config)
	require.NoError(t, err)
	service, slice := dnsService()
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"conntrack listed"}, w.notes)
	assert.False(t, slices.Contains(w.notes, "conntrack delete 10.180.0.53:53"))
}
