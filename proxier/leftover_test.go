package proxier_test

import (
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

	"github.com/chainwalk/chainwalk/proxier"
)

// startedWithClock is a proxier that has synced, its tools, and its clock.
func startedWithClock(t *testing.T, syncPeriod time.Duration) (*proxier.Proxier, *recorder, *testclock.FakeClock) {
	config, _ := testConfig(v1.IPv4Protocol)
	clock := testclock.NewFakeClock(time.Unix(1000000, 0))
	config.Clock, config.SyncPeriod = clock, syncPeriod
	return started(t, config), recorderOf(config), clock
}

// addWeb adds a service and its endpoint.
func addWeb(p *proxier.Proxier) (*v1.Service, *discovery.EndpointSlice) {
	service, slice := webService(), webSlice(v1.IPv4Protocol, "10.180.0.1", true)
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	return service, slice
}

// deletesAfter checks that chains out of use are deleted after some time, and not before.
func deletesAfter(t *testing.T, p *proxier.Proxier, r *recorder, clock *testclock.FakeClock, d time.Duration) {
	clock.Step(d - 1)
	require.NoError(t, p.Sync())
	assert.NotContains(t, r.last(), "\n-X ")
	clock.Step(1)
	require.NoError(t, p.Sync())
	assert.Contains(t, r.last(), "\n-X ")
}

// A full sync that cannot read what the kernel holds remembers what it has written before: the next one that writes changes deletes it.
func TestChainsOfAFullSyncThatCouldNotReadTheKernel(t *testing.T) {
	p, r, _ := startedWithClock(t, 0)
	service, slice := addWeb(p)
	kept := service.DeepCopy()
	kept.Name, kept.Spec.ClusterIP, kept.Spec.ClusterIPs, kept.Spec.Ports[0].NodePort = "kept", "172.30.0.42", nil, 30081
	keptSlice := webSlice(v1.IPv4Protocol, "10.180.0.2", true)
	keptSlice.Name, keptSlice.Labels["kubernetes.io/service-name"] = "kept-1", "kept"
	p.OnServiceAdd(kept)
	p.OnEndpointSliceAdd(keptSlice)
	require.NoError(t, p.Sync())
	before := slices.Clone(r.natNames)

	r.fail["save"] = errFault
	p.OnServiceDelete(service)
	p.OnEndpointSliceDelete(slice)
	require.NoError(t, p.SyncAll())
	assert.NotContains(t, r.last(), "\n-X ")
	assert.ElementsMatch(t, before, r.natNames, "what is out of use is there still")

	delete(r.fail, "save")
	require.NoError(t, p.Sync())
	deleted := strings.Count(r.last(), "\n-X ")
	assert.NotZero(t, deleted)
	assert.NotContains(t, r.last(), "\n-A ", "what is in use is not written again")
	fresh, _ := testConfig(v1.IPv4Protocol)
	q := started(t, fresh)
	q.OnServiceAdd(kept)
	q.OnEndpointSliceAdd(keptSlice)
	require.NoError(t, q.Sync())
	assert.ElementsMatch(t, recorderOf(fresh).natNames, r.natNames, "as if the first service had never been")
}

// A full sync that can read the kernel deletes what is in it and not in use, whoever wrote it, and then nothing is remembered.
func TestChainsOfAFullSyncThatReadsTheKernel(t *testing.T) {
	p, r, _ := startedWithClock(t, 0)
	service, _ := addWeb(p)
	require.NoError(t, p.Sync())
	r.natNames = append(r.natNames, "KUBE-SVC-OF-OLDER-ONE", "FOREIGN", "KUBE-SEPARATE")
	p.OnServiceDelete(service)
	require.NoError(t, p.SyncAll())
	assert.Contains(t, r.last(), "-X KUBE-SVC-OF-OLDER-ONE\n")
	for _, name := range r.natNames {
		assert.NotRegexp(t, "^KUBE-(SVC|SVL|EXT|FW|SEP)-", name)
	}
	assert.Subset(t, r.natNames, []string{"FOREIGN", "KUBE-SEPARATE"})
	r.restored = nil
	require.NoError(t, p.Sync())
	assert.Empty(t, r.restored)
}

// At 1,000 endpoints chains that are out of use go at once; one more, and they wait for the sync period, counted from the last
// time that all went.
func TestUnusedChainsAtTheBoundOfLargeClusters(t *testing.T) {
	for _, endpoints := range []int{1000, 1001} {
		p, r, clock := startedWithClock(t, 30*time.Second)
		addClusterIPs(p, 1, endpoints)
		service, none := webService(), webSlice(v1.IPv4Protocol, "10.180.0.1", true)
		p.OnServiceAdd(service)
		require.NoError(t, p.Sync())
		assert.Equal(t, endpoints == 1000, strings.Contains(r.last(), ":http -> 10."))
		clock.Step(20 * time.Second)
		p.OnServiceDelete(service)
		require.NoError(t, p.Sync())
		p.OnServiceAdd(service)
		none.Endpoints = none.Endpoints[:0]
		p.OnEndpointSliceAdd(none)
		require.NoError(t, p.Sync())
		changed := clusterIPSlice(0, endpoints)
		changed.Endpoints[0].Addresses[0] = "10.99.0.1"
		r.restored = nil
		p.OnEndpointSliceUpdate(nil, changed)
		require.NoError(t, p.Sync())
		assert.Equal(t, endpoints == 1000, strings.Contains(r.last(), " -> 10.99.0.1:8080"),
			"an endpoint in the place of another is not one more")
		if endpoints == 1000 {
			assert.Contains(t, r.last(), "-X KUBE-SEP-")
			continue
		}
		assert.NotContains(t, r.last(), "-X KUBE-SEP-")
		clock.Step(10 * time.Second)
		require.NoError(t, p.Sync())
		assert.Contains(t, r.last(), "-X KUBE-SEP-", "30 seconds after the full sync")
	}
}

// Without a sync period of its own, a large cluster's unused chains wait for 30 seconds.
func TestDefaultSyncPeriod(t *testing.T) {
	p, r, clock := startedWithClock(t, 0)
	addClusterIPs(p, 1, 1001)
	service, _ := addWeb(p)
	require.NoError(t, p.Sync())
	p.OnServiceDelete(service)
	deletesAfter(t, p, r, clock, 30*time.Second)
}

// As long as a cluster is small all unused chains go with each sync, so the period begins with the last of these.
func TestSyncPeriodOfAClusterThatGrows(t *testing.T) {
	p, r, clock := startedWithClock(t, 30*time.Second)
	clock.Step(20 * time.Second)
	service, _ := addWeb(p)
	require.NoError(t, p.Sync())
	addClusterIPs(p, 1, 1001)
	require.NoError(t, p.Sync())
	p.OnServiceDelete(service)
	deletesAfter(t, p, r, clock, 30*time.Second)
}

// What waited to be deleted does not wait any longer once a full sync has read what the kernel holds, whether it was there or not.
func TestChainsThatWaitAreForgottenByAFullSync(t *testing.T) {
	p, r, _ := startedWithClock(t, 0)
	service, _ := addWeb(p)
	require.NoError(t, p.Sync())
	r.fail["save"] = errFault
	p.OnServiceDelete(service)
	require.NoError(t, p.SyncAll())
	delete(r.fail, "save")
	require.NoError(t, p.SyncAll())
	assert.Contains(t, r.last(), "-X KUBE-SEP-")
	r.restored = nil
	require.NoError(t, p.Sync())
	assert.Empty(t, r.restored, "nothing is left to delete")
}

// Endpoints that go and endpoints that change in one sync count together.
func TestLargeClusterThatBecomesSmall(t *testing.T) {
	p, r, _ := startedWithClock(t, 0)
	addClusterIPs(p, 2, 501)
	require.NoError(t, p.Sync())
	p.OnServiceDelete(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: clusterIPName(0)}})
	changed := clusterIPSlice(1, 501)
	changed.Endpoints[0].Addresses[0] = "10.99.0.1"
	p.OnEndpointSliceUpdate(nil, changed)
	require.NoError(t, p.Sync())
	assert.Contains(t, r.last(), "default/service-00001:http -> 10.99.0.1:8080")
}

func TestServiceWithoutANodePort(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	p := started(t, config)
	service := webService()
	service.Spec.Type, service.Spec.ExternalIPs, service.Spec.Ports[0].NodePort = v1.ServiceTypeClusterIP, []string{"192.0.2.1"}, 0
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(webSlice(v1.IPv4Protocol, "10.180.0.1", true))
	require.NoError(t, p.SyncAll())
	text := recorderOf(config).last()
	assert.Contains(t, text, "-d 192.0.2.1 --dport 80 -j KUBE-EXT-")
	assert.NotContains(t, text, "--dport 0")
	assert.NotContains(t, text, "-A KUBE-NODEPORTS")
}
