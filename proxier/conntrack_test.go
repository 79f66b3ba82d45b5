package proxier_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

// flows is a conntrack table that holds UDP flows: where the client sends to, and who answers.
type flows struct {
	entries          []conntrack.Entry
	failing          error // of the next deletion or list
	walks, deletions int
}

func (f *flows) add(to, answers string) {
	f.entries = append(f.entries, conntrack.Entry{
		Protocol: 17,
		Original: conntrack.Tuple{Src: netip.MustParseAddrPort("10.180.1.1:4000"), Dst: netip.MustParseAddrPort(to)},
		Reply:    conntrack.Tuple{Src: netip.MustParseAddrPort(answers), Dst: netip.MustParseAddrPort("10.180.1.1:4000")},
	})
}

func (f *flows) Walk(_ v1.IPFamily, visit func(conntrack.Entry)) error {
	f.walks++
	for _, e := range f.entries {
		visit(e)
	}
	return nil
}

func (f *flows) Delete(_ v1.IPFamily, entries []conntrack.Entry) (int, error) {
	f.deletions++
	if err := f.failing; err != nil {
		f.failing = nil
		return 0, err
	}
	f.entries = slices.DeleteFunc(f.entries, func(e conntrack.Entry) bool { return slices.Contains(entries, e) })
	return len(entries), nil
}

// left returns where the flows that are left are sent to.
func (f *flows) left() []string {
	left := []string{}
	for _, e := range f.entries {
		left = append(left, e.Original.Dst.String())
	}
	return left
}

// dnsEverywhere returns a UDP service at every kind of address, with the endpoint 10.180.0.53:53 that is to go.
func dnsEverywhere() (*v1.Service, *discovery.EndpointSlice) {
	service, slice := dnsService()
	service.Spec.Type = v1.ServiceTypeLoadBalancer
	service.Spec.ExternalIPs = []string{"192.0.2.10", "192.0.2.11"}
	service.Spec.Ports[0].NodePort = 30053
	service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.20"}, {IP: "192.0.2.21"}}
	return service, slice
}

// startFlows returns a proxier that has synced these objects, on a node with the address 192.168.0.2, and its conntrack table.
func startFlows(t *testing.T, service *v1.Service, slice *discovery.EndpointSlice) (*proxier.Proxier, *host, *flows) {
	config, host := testConfig(v1.IPv4Protocol)
	host.addresses = addresses("192.168.0.2", "::ffff:192.168.0.3", "127.0.0.1")
	table := &flows{}
	config.Conntrack = table
	p := started(t, config)
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	table.walks = 0
	return p, host, table
}

func addresses(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, addr(text))
	}
	return list
}

var everyFrontend = []string{
	"172.30.0.10:53", "192.0.2.10:53", "192.0.2.11:53", "192.0.2.20:53", "192.0.2.21:53", "192.168.0.2:30053", "192.168.0.3:30053",
	"127.0.0.1:30053",
}

func TestFlowsToAnEndpointThatIsGoneAreDeletedAtEveryAddress(t *testing.T) {
	service, slice := dnsEverywhere()
	p, _, table := startFlows(t, service, slice)
	for _, to := range everyFrontend {
		table.add(to, "10.180.0.53:53")
	}
	others := []string{"203.0.113.9:30053", "172.30.0.10:5353", "192.0.2.10:30053"}
	for _, to := range others {
		table.add(to, "10.180.0.53:53")
	}
	gone := slice.DeepCopy()
	gone.Endpoints[0].Addresses[0] = "10.180.0.54"
	table.add("172.30.0.10:53", "10.180.0.54:53")
	p.OnEndpointSliceUpdate(slice, gone)
	require.NoError(t, p.Sync())
	assert.Equal(t, append(others, "172.30.0.10:53"), table.left(), "another machine's port, another port, and the flow to the new endpoint")
	assert.Equal(t, 1, table.deletions, "all at once")
}

func TestFlowsOfAServiceThatIsGoneAreDeletedAtEveryAddress(t *testing.T) {
	service, slice := dnsEverywhere()
	p, _, table := startFlows(t, service, slice)
	for _, to := range everyFrontend {
		table.add(to, "10.180.0.53:53")
	}
	p.OnServiceDelete(service)
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
}

func TestFlowsToAFormerNodePortAreDeletedAlone(t *testing.T) {
	service, slice := dnsEverywhere()
	p, _, table := startFlows(t, service, slice)
	table.add("192.168.0.2:30053", "10.180.0.53:53")
	table.add("192.168.0.2:30054", "10.180.0.53:53")
	table.add("172.30.0.10:53", "10.180.0.53:53")
	changed := service.DeepCopy()
	changed.Spec.Ports[0].NodePort = 30054
	p.OnServiceUpdate(service, changed)
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"192.168.0.2:30054", "172.30.0.10:53"}, table.left())
}

// Port 0 is no node port, though nothing keeps a machine from sending to it.
func TestFlowsOfAServiceWithoutANodePort(t *testing.T) {
	service, slice := dnsEverywhere()
	service.Spec.Type, service.Spec.Ports[0].NodePort = v1.ServiceTypeClusterIP, 0
	p, _, table := startFlows(t, service, slice)
	table.add("192.168.0.2:0", "192.168.0.2:0")
	table.add("172.30.0.10:53", "10.180.0.53:53")
	p.OnEndpointSliceDelete(slice)
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"192.168.0.2:0"}, table.left())
}

func TestFlowsFromBeforeThereWasAnEndpointAreDeleted(t *testing.T) {
	service, slice := dnsEverywhere()
	none := slice.DeepCopy()
	none.Endpoints = nil
	p, _, table := startFlows(t, service, none)
	for _, to := range everyFrontend {
		table.add(to, to)
	}
	p.OnEndpointSliceUpdate(none, slice)
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
}

func TestFlowsToTheLastEndpointAreDeleted(t *testing.T) {
	service, slice := dnsEverywhere()
	p, _, table := startFlows(t, service, slice)
	for _, to := range everyFrontend {
		table.add(to, "10.180.0.53:53")
	}
	p.OnEndpointSliceDelete(slice)
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
}

// Whether an endpoint serves decides, not whether it is ready: one that terminates gracefully keeps its clients.
func TestFlowsToEndpointsThatServeStay(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name       string
		conditions discovery.EndpointConditions
		stays      bool
	}{
		{"ready", discovery.EndpointConditions{}, true},
		{"terminating and serving", discovery.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}, true},
		{"terminating and not serving", discovery.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}, false},
		{"not serving", discovery.EndpointConditions{Ready: &no, Serving: &no}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service, slice := dnsEverywhere()
			slice.Endpoints[0].Zone = new("a")
			p, _, table := startFlows(t, service, slice)
			table.add("172.30.0.10:53", "10.180.0.53:53")
			table.add("192.168.0.2:30053", "10.180.0.53:53")
			changed := slice.DeepCopy()
			changed.Endpoints[0].Conditions = test.conditions
			changed.Endpoints = append(changed.Endpoints, discovery.Endpoint{Addresses: []string{"10.180.0.54"}})
			p.OnEndpointSliceUpdate(slice, changed)
			require.NoError(t, p.Sync())
			assert.Equal(t, 1, table.walks)
			assert.Equal(t, test.stays, len(table.left()) == 2, table.left())
		})
	}
}

// What a search that failed was to look at is looked at by the next one, also at addresses that no service has any longer.
func TestFailedDeletionOfFlowsIsTriedAgain(t *testing.T) {
	service, slice := dnsEverywhere()
	p, _, table := startFlows(t, service, slice)
	for _, to := range everyFrontend {
		table.add(to, "10.180.0.53:53")
	}
	p.OnServiceDelete(service)
	table.failing = errFault
	err := p.Sync()
	require.ErrorIs(t, err, errFault)
	assert.ErrorContains(t, err, "after syncing IPv4 rules: UDP clients may still be led to endpoints that are gone: ")
	assert.Len(t, table.left(), len(everyFrontend))
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
	table.walks = 0
	require.NoError(t, p.Sync())
	assert.Zero(t, table.walks, "once")
}

// Without the node's addresses a flow to the port of another machine cannot be told apart; it comes back with its next packet.
func TestFlowsToNodePortsWithoutTheNodesAddresses(t *testing.T) {
	service, slice := dnsEverywhere()
	p, host, table := startFlows(t, service, slice)
	table.add("203.0.113.9:30053", "203.0.113.9:30053")
	table.add("192.168.0.2:30053", "10.180.0.53:53")
	host.noNetwork = errFault
	p.OnEndpointSliceDelete(slice)
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
}

func TestFlowsWithoutANetwork(t *testing.T) {
	service, slice := dnsEverywhere()
	config, _ := testConfig(v1.IPv4Protocol)
	table := &flows{}
	config.Conntrack, config.Network = table, nil
	p := started(t, config)
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	table.add("192.168.0.2:30053", "10.180.0.53:53")
	p.OnEndpointSliceDelete(slice)
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
}

// A restore that fails keeps what there is to look for.
func TestFlowsAfterAFailedRestore(t *testing.T) {
	service, slice := dnsEverywhere()
	config, host := testConfig(v1.IPv4Protocol)
	host.addresses = addresses("192.168.0.2")
	table := &flows{}
	config.Conntrack = table
	p := started(t, config)
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	table.add("192.0.2.10:53", "10.180.0.53:53")
	r := recorderOf(config)
	r.fail["restore"] = errFault
	changed := service.DeepCopy()
	changed.Spec.ExternalIPs = nil
	p.OnServiceUpdate(service, changed)
	require.ErrorIs(t, p.Sync(), errFault)
	assert.Len(t, table.left(), 1, "the rules still lead there")
	delete(r.fail, "restore")
	require.NoError(t, p.Sync())
	assert.Empty(t, table.left())
}
