package changes

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const (
	ipv4 = discovery.AddressTypeIPv4
	ipv6 = discovery.AddressTypeIPv6
)

var httpPort = []string{"http/TCP/8080"}

func newIPv4Tracker() *EndpointsTracker {
	return NewEndpointsTracker(v1.IPv4Protocol, "here", start, klog.Logger{}, nil)
}

func TestEndpointsOfSlices(t *testing.T) {
	edited := func(slice *discovery.EndpointSlice, edit func(*discovery.EndpointSlice)) *discovery.EndpointSlice {
		edit(slice)
		return slice
	}
	cases := []struct {
		name   string
		slices []*discovery.EndpointSlice
		want   map[string][]string
	}{
		{"no endpoints", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort)}, nil},
		{"no ports", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, nil, makeEndpoint("10.244.1.1", ""))}, nil},
		{"sorted as text", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort,
			makeEndpoint("10.244.1.9", ""), makeEndpoint("10.244.1.1", ""), makeEndpoint("10.244.1.10", ""))},
			map[string][]string{"web:http/TCP": {
				"10.244.1.10:8080 ready serving", "10.244.1.1:8080 ready serving", "10.244.1.9:8080 ready serving"}}},
		{"local by node name", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort,
			makeEndpoint("10.244.1.1", "here"), makeEndpoint("10.244.2.1", "there"))},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 local ready serving", "10.244.2.1:8080 ready serving"}}},
		{"conditions", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort,
			makeEndpoint("10.244.1.1", "", "notready"), makeEndpoint("10.244.1.2", "", "notready", "terminating"),
			makeEndpoint("10.244.1.3", "", "notready", "notserving", "terminating"))},
			map[string][]string{"web:http/TCP": {
				"10.244.1.1:8080 serving", "10.244.1.2:8080 serving terminating", "10.244.1.3:8080 terminating"}}},
		{"hints are sorted and counted once", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort,
			makeEndpoint("10.244.1.1", "", "zone=z2", "zone=z1", "zone=z2", "node=n2", "node=n1"))},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 ready serving zone=z1 zone=z2 node=n1 node=n2"}}},
		{"several ports and protocols", []*discovery.EndpointSlice{
			makeSlice("web", "a", ipv4, []string{"dns/UDP/53", "dns/TCP/53", "/SCTP/7"}, makeEndpoint("10.244.1.1", ""))},
			map[string][]string{
				"web:dns/UDP": {"10.244.1.1:53 ready serving"}, "web:dns/TCP": {"10.244.1.1:53 ready serving"},
				"web:/SCTP": {"10.244.1.1:7 ready serving"}}},
		{"one port with two numbers in two slices", []*discovery.EndpointSlice{
			makeSlice("web", "a", ipv4, []string{"http/TCP/8080"}, makeEndpoint("10.244.1.1", "")),
			makeSlice("web", "b", ipv4, []string{"http/TCP/9090"}, makeEndpoint("10.244.1.1", ""))},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 ready serving", "10.244.1.1:9090 ready serving"}}},
		{"one address in two slices counts once, the later slice wins", []*discovery.EndpointSlice{
			makeSlice("web", "b", ipv4, httpPort, makeEndpoint("10.244.1.1", "", "notready")),
			makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.1", ""), makeEndpoint("10.244.1.2", ""))},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 serving", "10.244.1.2:8080 ready serving"}}},
		{"a terminating endpoint does not replace another", []*discovery.EndpointSlice{
			makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.1", "here")),
			makeSlice("web", "b", ipv4, httpPort, makeEndpoint("10.244.1.1", "", "notready", "terminating"))},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 local ready serving"}}},
		{"another endpoint replaces a terminating one", []*discovery.EndpointSlice{
			makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.1", "", "notready", "terminating")),
			makeSlice("web", "b", ipv4, httpPort, makeEndpoint("10.244.1.1", "here"))},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 local ready serving"}}},
		{"slices of the other family and of names", []*discovery.EndpointSlice{
			makeSlice("web", "a", ipv6, httpPort, makeEndpoint("fd00:10::1", "")),
			makeSlice("web", "b", discovery.AddressTypeFQDN, httpPort, makeEndpoint("web.example.com", ""))}, nil},
		{"addresses that do not fit the slice", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort,
			makeEndpoint("fd00:10::1", ""), makeEndpoint("nonsense", ""), discovery.Endpoint{}, makeEndpoint("10.244.01.002", ""))},
			map[string][]string{"web:http/TCP": {"10.244.1.2:8080 ready serving"}}},
		{"only the first address counts", []*discovery.EndpointSlice{makeSlice("web", "a", ipv4, httpPort,
			discovery.Endpoint{Addresses: []string{"10.244.1.1", "10.244.1.2"}})},
			map[string][]string{"web:http/TCP": {"10.244.1.1:8080 ready serving"}}},
		{"port fields left out take their defaults", []*discovery.EndpointSlice{edited(
			makeSlice("web", "a", ipv4, nil, makeEndpoint("10.244.1.1", "")),
			func(s *discovery.EndpointSlice) { s.Ports = []discovery.EndpointPort{{Port: ptr.To(int32(80))}} })},
			map[string][]string{"web:/TCP": {"10.244.1.1:80 ready serving"}}},
		{"ports without a usable number", []*discovery.EndpointSlice{edited(
			makeSlice("web", "a", ipv4, []string{"zero/TCP/0", "large/TCP/65536", "negative/TCP/-1"}, makeEndpoint("10.244.1.1", "")),
			func(s *discovery.EndpointSlice) {
				s.Ports = append(s.Ports, discovery.EndpointPort{Name: ptr.To("all")})
			})}, nil},
		{"no service label", []*discovery.EndpointSlice{edited(
			makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.1", "")),
			func(s *discovery.EndpointSlice) { s.Labels = nil })}, nil},
		{"no object", []*discovery.EndpointSlice{nil}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tracker := newIPv4Tracker()
			for _, slice := range c.slices {
				tracker.EndpointSliceUpdate(slice, false)
			}
			endpoints := Endpoints{}
			tracker.Apply(endpoints)
			if c.want == nil {
				c.want = map[string][]string{}
			}
			assert.Equal(t, c.want, describeAll(endpoints))
		})
	}
}

func TestEndpointsOfIPv6(t *testing.T) {
	tracker := NewEndpointsTracker(v1.IPv6Protocol, "", start, klog.Logger{}, nil)
	tracker.EndpointSliceUpdate(makeSlice("web", "a", ipv6, httpPort,
		makeEndpoint("fd00:10::0002", "here"), makeEndpoint("fd00:10::10", ""), makeEndpoint("10.244.1.1", "")), false)
	tracker.EndpointSliceUpdate(makeSlice("web", "b", ipv4, httpPort, makeEndpoint("10.244.1.2", "")), false)
	endpoints := Endpoints{}
	tracker.Apply(endpoints)
	assert.Equal(t, map[string][]string{"web:http/TCP": {
		"[fd00:10::10]:8080 ready serving", "[fd00:10::2]:8080 ready serving",
	}}, describeAll(endpoints), "without a node name nothing is local")
}

// sliceStep is one event and what Apply then says.
type sliceStep struct {
	name      string
	slice     *discovery.EndpointSlice
	remove    bool
	updated   []string
	conntrack bool
	want      map[string][]string
	local     map[types.NamespacedName]int
}

func TestSlicesComeChangeAndGo(t *testing.T) {
	one, two := makeEndpoint("10.244.1.1", "here"), makeEndpoint("10.244.1.2", "here")
	oneText, twoText := "10.244.1.1:8080 local ready serving", "10.244.1.2:8080 local ready serving"
	labeled := makeSlice("web", "a", ipv4, httpPort, one)
	labeled.Labels["team"] = "x"
	elsewhere := makeSlice("shop", "b", ipv4, httpPort, two)
	unlabeled := makeSlice("", "b", ipv4, httpPort, two)
	udp := []string{"q/UDP/53", "h/TCP/80"}
	tcpOnly := []string{"q/UDP/53", "h/TCP/81"}
	local := func(n int) map[types.NamespacedName]int { return map[types.NamespacedName]int{nn("web"): n} }
	both := map[string][]string{"web:http/TCP": {oneText, twoText}}
	steps := []sliceStep{
		{"a slice comes", makeSlice("web", "a", ipv4, httpPort, one), false, []string{"web"}, false,
			map[string][]string{"web:http/TCP": {oneText}}, local(1)},
		{"the same again", makeSlice("web", "a", ipv4, httpPort, one), false, nil, false, map[string][]string{"web:http/TCP": {oneText}},
			local(1)},
		{"only a label changes", labeled, false, nil, false, map[string][]string{"web:http/TCP": {oneText}}, local(1)},
		{"a second slice comes", makeSlice("web", "b", ipv4, httpPort, two), false, []string{"web"}, false, both, local(2)},
		{"an endpoint is in both slices", makeSlice("web", "a", ipv4, httpPort, one, two), false, nil, false, both, local(2)},
		{"it stays in the other one", makeSlice("web", "b", ipv4, httpPort), false, nil, false, both, local(2)},
		{"an endpoint turns unready", makeSlice("web", "a", ipv4, httpPort, one, makeEndpoint("10.244.1.2", "here", "notready")), false,
			[]string{"web"}, false, map[string][]string{"web:http/TCP": {oneText, "10.244.1.2:8080 local serving"}}, local(1)},
		{"all terminate", makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.1", "here", "notready", "terminating")), false,
			[]string{"web"}, false, map[string][]string{"web:http/TCP": {"10.244.1.1:8080 local serving terminating"}}, nil},
		{"a slice goes", makeSlice("web", "a", ipv4, nil), true, []string{"web"}, false, nil, nil},
		{"a slice that is not there goes", makeSlice("web", "z", ipv4, nil), true, nil, false, nil, nil},
		{"endpoints come to an empty slice", makeSlice("web", "b", ipv4, httpPort, two), false, []string{"web"}, false,
			map[string][]string{"web:http/TCP": {twoText}}, local(1)},
		{"a slice moves to another service", elsewhere, false, []string{"web", "shop"}, false,
			map[string][]string{"shop:http/TCP": {twoText}}, map[types.NamespacedName]int{nn("shop"): 1}},
		{"a slice loses its service", unlabeled, false, []string{"shop"}, false, nil, nil},
		{"two ports on one address", makeSlice("web", "c", ipv4, udp, one), false, []string{"web"}, true,
			map[string][]string{"web:q/UDP": {"10.244.1.1:53 local ready serving"}, "web:h/TCP": {"10.244.1.1:80 local ready serving"}}, local(1)},
		{"only the TCP port changes", makeSlice("web", "c", ipv4, tcpOnly, one), false, []string{"web"}, false,
			map[string][]string{"web:q/UDP": {"10.244.1.1:53 local ready serving"}, "web:h/TCP": {"10.244.1.1:81 local ready serving"}}, local(1)},
		{"a UDP port goes", makeSlice("web", "c", ipv4, []string{"h/TCP/81"}, one), false, []string{"web"}, true,
			map[string][]string{"web:h/TCP": {"10.244.1.1:81 local ready serving"}}, local(1)},
		{"all addresses go", makeSlice("web", "c", ipv4, []string{"/UDP/53"}), false, []string{"web"}, false, nil, nil},
		{"from no address to one, at a port without a name", makeSlice("web", "c", ipv4, []string{"/UDP/53"}, one), false, []string{"web"}, true,
			map[string][]string{"web:/UDP": {"10.244.1.1:53 local ready serving"}}, local(1)},
		{"a UDP port is renamed", makeSlice("web", "c", ipv4, []string{"q/UDP/53"}, one), false, []string{"web"}, true,
			map[string][]string{"web:q/UDP": {"10.244.1.1:53 local ready serving"}}, local(1)},
		{"a UDP port is renumbered", makeSlice("web", "c", ipv4, []string{"q/UDP/54"}, one), false, []string{"web"}, true,
			map[string][]string{"web:q/UDP": {"10.244.1.1:54 local ready serving"}}, local(1)},
		{"nothing but TCP again", makeSlice("web", "c", ipv4, []string{"h/TCP/81"}, one), false, []string{"web"}, true,
			map[string][]string{"web:h/TCP": {"10.244.1.1:81 local ready serving"}}, local(1)},
		{"the last slice goes", makeSlice("web", "c", ipv4, nil), true, []string{"web"}, false, nil, nil},
	}
	tracker := newIPv4Tracker()
	endpoints := Endpoints{}
	for _, step := range steps {
		checkStep(t, tracker, endpoints, step)
	}
	assert.Empty(t, tracker.cache.services, "nothing stays behind")
	assert.Empty(t, tracker.cache.owners, "nothing stays behind")
}

func checkStep(t *testing.T, tracker *EndpointsTracker, endpoints Endpoints, step sliceStep) {
	t.Helper()
	tracker.EndpointSliceUpdate(step.slice, step.remove)
	update := tracker.Apply(endpoints)
	tracker.MarkSynced()
	if step.want == nil {
		step.want = map[string][]string{}
	}
	if step.local == nil {
		step.local = map[types.NamespacedName]int{}
	}
	assert.Equal(t, updated(step.updated...), update.UpdatedServices, step.name)
	assert.Equal(t, step.conntrack, update.UDPChanged, step.name)
	assert.Equal(t, step.want, describeAll(endpoints), step.name)
	assert.Equal(t, step.local, tracker.localReady, step.name)
	assert.Zero(t, tracker.Pending(), step.name)
}

// The ports of a Service come in any order, so there are enough of both kinds.
func TestPortsThatChangeNextToOthersThatStay(t *testing.T) {
	var stay, change []string
	for i := range 20 {
		stay = append(stay, fmt.Sprintf("stays%d/TCP/%d", i, 1000+i))
		change = append(change, fmt.Sprintf("changes%d/TCP/%d", i, 2000+i))
	}
	tracker, endpoints := newIPv4Tracker(), Endpoints{}
	tracker.EndpointSliceUpdate(makeSlice("web", "a", ipv4, stay, makeEndpoint("10.244.1.1", "")), false)
	tracker.EndpointSliceUpdate(makeSlice("web", "b", ipv4, change, makeEndpoint("10.244.1.1", "")), false)
	tracker.Apply(endpoints)
	tracker.EndpointSliceUpdate(makeSlice("web", "b", ipv4, change, makeEndpoint("10.244.1.2", "")), false)
	tracker.Apply(endpoints)

	want := map[string][]string{}
	for i := range 20 {
		want[fmt.Sprintf("web:stays%d/TCP", i)] = []string{fmt.Sprintf("10.244.1.1:%d ready serving", 1000+i)}
		want[fmt.Sprintf("web:changes%d/TCP", i)] = []string{fmt.Sprintf("10.244.1.2:%d ready serving", 2000+i)}
	}
	assert.Equal(t, want, describeAll(endpoints))
}

func TestSliceUpdatesThatCancelOut(t *testing.T) {
	before := makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.1", ""))
	after := makeSlice("web", "a", ipv4, httpPort, makeEndpoint("10.244.1.2", ""))
	tracker := newIPv4Tracker()
	assert.True(t, tracker.EndpointSliceUpdate(before, false))
	assert.False(t, tracker.EndpointSliceUpdate(before, true), "added and removed")
	tracker.EndpointSliceUpdate(before, false)
	tracker.Apply(Endpoints{})
	assert.True(t, tracker.EndpointSliceUpdate(after, false))
	assert.False(t, tracker.EndpointSliceUpdate(before, false), "there and back")
}

// TestFailedSyncLosesNoEndpointChange applies without MarkSynced, as a proxier
// does whose restore has failed. See https://issue.k8s.io/112604.
func TestFailedSyncLosesNoEndpointChange(t *testing.T) {
	tracker := newIPv4Tracker()
	endpoints := Endpoints{}
	dns := triggered(makeSlice("dns", "a", ipv4, []string{"q/UDP/53"}, makeEndpoint("10.244.1.1", "")), time.Second)
	tracker.EndpointSliceUpdate(dns, false)
	tracker.Apply(endpoints)
	tracker.EndpointSliceUpdate(makeSlice("web", "a2", ipv4, httpPort, makeEndpoint("10.244.1.2", "")), false)

	update := tracker.Apply(endpoints)
	require.Equal(t, updated("dns", "web"), update.UpdatedServices)
	require.True(t, update.UDPChanged)
	require.Equal(t, map[types.NamespacedName][]time.Time{nn("dns"): {start.Add(time.Second)}}, update.LastChangeTriggerTimes)

	tracker.MarkSynced()
	update = tracker.Apply(endpoints)
	assert.Empty(t, update.UpdatedServices)
	assert.False(t, update.UDPChanged)
	assert.Empty(t, update.LastChangeTriggerTimes)
}

// triggered adds the annotation that says when the change was set off.
func triggered(slice *discovery.EndpointSlice, after time.Duration) *discovery.EndpointSlice {
	slice.Annotations = map[string]string{v1.EndpointsLastChangeTriggerTime: start.Add(after).Format(time.RFC3339Nano)}
	return slice
}

func TestLastChangeTriggerTimes(t *testing.T) {
	at := func(service, name string, n int, after time.Duration) *discovery.EndpointSlice {
		return triggered(makeSlice(service, name, ipv4, httpPort, makeEndpoint(fmt.Sprintf("10.244.1.%d", n), "")), after)
	}
	bad := at("web", "a", 1, 0)
	bad.Annotations[v1.EndpointsLastChangeTriggerTime] = "yesterday"
	cases := []struct {
		name   string
		events func(*EndpointsTracker)
		want   map[types.NamespacedName][]time.Time
	}{
		{"one change", func(tr *EndpointsTracker) { tr.EndpointSliceUpdate(at("web", "a", 1, time.Second), false) },
			map[types.NamespacedName][]time.Time{nn("web"): {start.Add(time.Second)}}},
		{"two changes of one service, in order", func(tr *EndpointsTracker) {
			tr.EndpointSliceUpdate(at("web", "a", 1, time.Second), false)
			tr.EndpointSliceUpdate(at("web", "a", 2, 2*time.Second), false)
		}, map[types.NamespacedName][]time.Time{nn("web"): {start.Add(time.Second), start.Add(2 * time.Second)}}},
		{"two services", func(tr *EndpointsTracker) {
			tr.EndpointSliceUpdate(at("web", "a", 1, time.Second), false)
			tr.EndpointSliceUpdate(at("dns", "b", 2, 2*time.Second), false)
		}, map[types.NamespacedName][]time.Time{nn("web"): {start.Add(time.Second)}, nn("dns"): {start.Add(2 * time.Second)}}},
		{"no change, no time", func(tr *EndpointsTracker) {
			tr.EndpointSliceUpdate(at("web", "a", 1, time.Second), false)
			tr.EndpointSliceUpdate(at("web", "a", 1, 2*time.Second), false)
		}, map[types.NamespacedName][]time.Time{nn("web"): {start.Add(time.Second)}}},
		{"a slice that goes takes the times along", func(tr *EndpointsTracker) {
			tr.EndpointSliceUpdate(at("web", "a", 1, time.Second), false)
			tr.EndpointSliceUpdate(at("web", "b", 2, 2*time.Second), false)
			tr.EndpointSliceUpdate(at("web", "b", 2, 2*time.Second), true)
		}, nil},
		{"changes before the start", func(tr *EndpointsTracker) { tr.EndpointSliceUpdate(at("web", "a", 1, 0), false) }, nil},
		{"an annotation that is no time", func(tr *EndpointsTracker) { tr.EndpointSliceUpdate(bad, false) }, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tracker := newIPv4Tracker()
			c.events(tracker)
			if c.want == nil {
				c.want = map[types.NamespacedName][]time.Time{}
			}
			assert.Equal(t, c.want, tracker.Apply(Endpoints{}).LastChangeTriggerTimes)
		})
	}
}

// What was set off for a change that was taken back says nothing about the next one.
func TestTriggerTimesOfChangesThatCancelOut(t *testing.T) {
	tracker, endpoints := newIPv4Tracker(), Endpoints{}
	slice := func(address string) *discovery.EndpointSlice {
		return makeSlice("web", "a", ipv4, httpPort, makeEndpoint(address, ""))
	}
	tracker.EndpointSliceUpdate(slice("10.244.1.1"), false)
	tracker.Apply(endpoints)
	tracker.MarkSynced()
	tracker.EndpointSliceUpdate(triggered(slice("10.244.1.2"), time.Second), false)
	require.False(t, tracker.EndpointSliceUpdate(slice("10.244.1.1"), false), "as applied")
	tracker.EndpointSliceUpdate(slice("10.244.1.3"), false)
	assert.Empty(t, tracker.Apply(endpoints).LastChangeTriggerTimes)
}

// A port or an endpoint that cannot be used does not keep the ones after it.
func TestPortsAfterOneThatCannotBeUsed(t *testing.T) {
	tracker, endpoints := newIPv4Tracker(), Endpoints{}
	slice := makeSlice("web", "a", ipv4, []string{"far/TCP/70000", "http/TCP/80"}, makeEndpoint("nowhere", ""), makeEndpoint("10.244.1.1", ""))
	tracker.EndpointSliceUpdate(slice, false)
	tracker.Apply(endpoints)
	assert.Len(t, endpoints, 1)
	assert.Len(t, endpoints[portName("web", "http", v1.ProtocolTCP)], 1)
}
