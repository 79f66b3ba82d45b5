package proxier_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier"
)

var message = regexp.MustCompile(`"msg"="([^"]*)"`)

// logOf returns a logger and what it was told: one message a line, without its values.
func logOf() (klog.Logger, *[]string) {
	var told []string
	return funcr.New(func(_, line string) { told = append(told, message.FindStringSubmatch(line)[1]) }, funcr.Options{}), &told
}

// watchGlobalLog returns what the process's own logger is told during the test.
func watchGlobalLog(t *testing.T) *[]string {
	logger, told := logOf()
	klog.SetLogger(logger)
	t.Cleanup(klog.ClearLogger)
	return told
}

// brokenService has one mistake in each field that is read.
func brokenService() *v1.Service {
	service := webService()
	service.Spec.ClusterIPs = []string{"nowhere", "172.30.0.41"}
	service.Spec.ExternalIPs = []string{"192.0.2.300"}
	service.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/40"}
	service.Spec.HealthCheckNodePort = 0
	service.Spec.Ports = append(service.Spec.Ports, v1.ServicePort{Name: "far", Port: 70000})
	return service
}

// Everything that goes wrong and is not returned is told to the Config's logger, and to nobody else.
func TestLog(t *testing.T) {
	global := watchGlobalLog(t)
	config, h := testConfig(v1.IPv4Protocol)
	var told *[]string
	config.Logger, told = logOf()
	countWith(&config, h)
	h.nfacct = map[string]error{}
	h.nfacct["ct_state_invalid_dropped_pkts"] = errors.New("no module")
	tools := recorderOf(config)
	tools.fail["save"] = errFault
	p := started(t, config)
	assert.Equal(t, []string{"No packets are counted", "Stale chains are not deleted"}, *told)

	*told = nil
	p.OnServiceAdd(brokenService())
	slice := webSlice(v1.IPv4Protocol, "nowhere", true)
	good, foreign, empty := slice.Endpoints[0], slice.Endpoints[0], slice.Endpoints[0]
	good.Addresses, foreign.Addresses, empty.Addresses = []string{"10.180.0.1"}, []string{"fd00::1"}, nil
	slice.Endpoints = append(slice.Endpoints, good, foreign, empty)
	far, name := int32(70000), "far"
	slice.Ports = append(slice.Ports, slice.Ports[0])
	slice.Ports[1].Name, slice.Ports[1].Port = &name, &far
	slice.Annotations = map[string]string{v1.EndpointsLastChangeTriggerTime: "yesterday"}
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{
		"Skipping cluster IP", "Skipping address", "Skipping load balancer source range",
		"Service with externalTrafficPolicy Local has no usable healthCheckNodePort", "Skipping service port out of range",
		"Ignoring trigger time",
		"Skipping endpoint", "Skipping endpoint whose address is not of the slice's type", "Skipping endpoint without an address",
		"Skipping endpoint port without a usable number",
	}, *told)
	assert.Contains(t, tools.last(), "--to-destination 10.180.0.1:8080", "the rest is served")

	// What Sync returns it does not log.
	*told = nil
	tools.fail["restore"] = errFault
	require.ErrorIs(t, p.SyncAll(), errFault)
	assert.NotContains(t, fmt.Sprint(*told), "fault")
	*told = nil
	tools.monitored = func(reload func()) { reload() }
	p.Monitor(0, nil)
	assert.Contains(t, *told, "Rules are still missing after a flush of the tables")
	assert.Empty(t, *global)
}

// Node ports that are not served for want of the node's addresses are told of at each sync that does so, and at no other.
func TestLogOfNodePortsThatAreNotServed(t *testing.T) {
	config, h := testConfig(v1.IPv4Protocol)
	var told *[]string
	config.Logger, told = logOf()
	config.NodePortAddresses = prefixes("192.168.0.0/16")
	h.addresses = addresses("192.168.0.2")
	p := started(t, config)
	assert.Empty(t, *told)
	h.noNetwork = errFault
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"Node ports are not served: the node's addresses are not known"}, *told)
}

// A Config without a logger is silent.
func TestLogOfNobody(t *testing.T) {
	global := watchGlobalLog(t)
	config, _ := testConfig(v1.IPv4Protocol)
	ipv6, _ := testConfig(v1.IPv6Protocol)
	p, err := proxier.NewDualStack(config, ipv6)
	require.NoError(t, err)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	p.OnServiceAdd(brokenService())
	require.NoError(t, p.Sync())
	assert.Empty(t, *global)
}
