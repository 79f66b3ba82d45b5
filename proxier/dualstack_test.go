package proxier_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/proxier"
)

func TestDualStack(t *testing.T) {
	ipv4, _ := testConfig(v1.IPv4Protocol)
	ipv6, _ := testConfig(v1.IPv6Protocol)
	d, err := proxier.NewDualStack(ipv4, ipv6)
	require.NoError(t, err)
	first, second := recorderOf(ipv4), recorderOf(ipv6)
	service, slice := webService(), webSlice(v1.IPv6Protocol, "fd00:10::1", true)
	d.OnNodeAdd(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
	d.OnNodeSynced()
	d.OnServiceAdd(service)
	d.OnEndpointSliceAdd(slice)
	require.ErrorIs(t, d.Sync(), proxier.ErrNotDelivered)
	d.OnServiceSynced()
	d.OnEndpointSlicesSynced()
	require.NoError(t, d.Sync())
	assert.Contains(t, first.last(), "has no endpoints\" -m tcp -p tcp -d 172.30.0.41")
	assert.Contains(t, second.last(), "--to-destination [fd00:10::1]:8080")

	d.OnEndpointSliceUpdate(slice, webSlice(v1.IPv6Protocol, "fd00:10::2", true))
	assert.False(t, d.IPv4.NeedsSync())
	assert.True(t, d.NeedsSync())
	first.fail["restore"] = errFault
	require.ErrorIs(t, d.SyncAll(), errFault)
	assert.Contains(t, second.last(), "--to-destination [fd00:10::2]:8080", "one family's failure does not stop the other")
	delete(first.fail, "restore")

	changed := webService()
	changed.Spec.ClusterIPs[1] = "fd00:10:96::42"
	d.OnServiceUpdate(service, changed)
	require.NoError(t, d.Sync())
	assert.Contains(t, second.last(), "-d fd00:10:96::42 ")
	d.OnEndpointSliceDelete(slice)
	d.OnServiceDelete(changed)
	d.OnNodeUpdate(nil, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
	d.OnNodeDelete(&v1.Node{})
	require.NoError(t, d.Sync())
	assert.False(t, d.NeedsSync())
	for _, r := range []*recorder{first, second} {
		assert.NotContains(t, r.last(), "ns/web")
		assert.False(t, slices.ContainsFunc(r.natNames, func(name string) bool { return strings.HasPrefix(name, "KUBE-SVC-") }))
	}

	_, err = proxier.NewDualStack(ipv6, ipv4)
	require.ErrorContains(t, err, "must be IPv4 and IPv6 in this order")
	ipv4.NodeName, ipv6.Sysctls = "", nil
	_, err = proxier.NewDualStack(ipv4, ipv6)
	require.EqualError(t, err, "IPv4: proxier configuration: NodeName is missing\nIPv6: proxier configuration: Sysctls is missing")
}

// A slice that goes while its Service stays is told to both families.
func TestDualStackTellsOfSlicesThatGo(t *testing.T) {
	ipv4, _ := testConfig(v1.IPv4Protocol)
	ipv6, _ := testConfig(v1.IPv6Protocol)
	d, err := proxier.NewDualStack(ipv4, ipv6)
	require.NoError(t, err)
	d.OnServiceSynced()
	d.OnEndpointSlicesSynced()
	d.OnServiceAdd(webService())
	slices := []*discovery.EndpointSlice{webSlice(v1.IPv4Protocol, "10.180.0.1", true), webSlice(v1.IPv6Protocol, "fd00:10::1", true)}
	for _, slice := range slices {
		d.OnEndpointSliceAdd(slice)
	}
	require.NoError(t, d.Sync())
	for _, slice := range slices {
		d.OnEndpointSliceDelete(slice)
	}
	require.NoError(t, d.Sync())
	assert.Contains(t, recorderOf(ipv4).last(), "has no endpoints\" -m tcp -p tcp -d 172.30.0.41")
	assert.Contains(t, recorderOf(ipv6).last(), "has no endpoints\" -m tcp -p tcp -d fd00:10:96::41")
}
