package changes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// namesOf returns the names in the map as "service:port/PROTOCOL", sorted.
func namesOf(services Services) []string {
	var names []string
	for name := range services {
		names = append(names, name.NamespacedName.Name+":"+name.Port+"/"+string(name.Protocol))
	}
	slices.Sort(names)
	return names
}

func updated(names ...string) sets.Set[types.NamespacedName] {
	set := sets.New[types.NamespacedName]()
	for _, name := range names {
		set.Insert(nn(name))
	}
	return set
}

func TestServicesComeChangeAndGo(t *testing.T) {
	dns := makeService("dns", "10.96.0.10", withPorts("dns/UDP/53/0", "dns/TCP/53/0"))
	dnsMoved := makeService("dns", "10.96.0.11", withPorts("dns/UDP/53/0", "dns/TCP/53/0"))
	web := makeService("web", "10.96.0.20", withPorts("http/TCP/80/0", "sig/SCTP/90/0"))
	webOnePort := makeService("web", "10.96.0.20", withPorts("http/TCP/80/0"))
	webLabeled := makeService("web", "10.96.0.20", withPorts("http/TCP/80/0"),
		func(s *v1.Service) { s.Labels = map[string]string{"team": "a"} })
	webHeadless := makeService("web", v1.ClusterIPNone, withPorts("http/TCP/80/0"))

	tracker := NewServiceTracker(v1.IPv4Protocol, false, klog.Logger{}, nil)
	services := Services{}
	steps := []struct {
		name      string
		update    func() bool
		pending   bool
		updated   []string
		conntrack bool
		services  []string
	}{
		{"nothing", func() bool { return tracker.Update(nil, nil) }, false, nil, false, nil},
		{"two services come", func() bool { tracker.Update(nil, dns); return tracker.Update(nil, web) }, true,
			[]string{"dns", "web"}, true, []string{"dns:dns/TCP", "dns:dns/UDP", "web:http/TCP", "web:sig/SCTP"}},
		{"the same again", func() bool { return tracker.Update(dns, dns.DeepCopy()) }, false,
			nil, false, []string{"dns:dns/TCP", "dns:dns/UDP", "web:http/TCP", "web:sig/SCTP"}},
		{"a port goes", func() bool { return tracker.Update(web, webOnePort) }, true,
			[]string{"web"}, false, []string{"dns:dns/TCP", "dns:dns/UDP", "web:http/TCP"}},
		{"only a label changes", func() bool { return tracker.Update(webOnePort, webLabeled) }, false,
			nil, false, []string{"dns:dns/TCP", "dns:dns/UDP", "web:http/TCP"}},
		{"a cluster IP with UDP changes", func() bool { return tracker.Update(dns, dnsMoved) }, true,
			[]string{"dns"}, true, []string{"dns:dns/TCP", "dns:dns/UDP", "web:http/TCP"}},
		{"a service becomes headless", func() bool { return tracker.Update(webLabeled, webHeadless) }, true,
			[]string{"web"}, false, []string{"dns:dns/TCP", "dns:dns/UDP"}},
		{"a headless service goes", func() bool { return tracker.Update(webHeadless, nil) }, false,
			nil, false, []string{"dns:dns/TCP", "dns:dns/UDP"}},
		{"a service with UDP goes", func() bool { return tracker.Update(dnsMoved, nil) }, true,
			[]string{"dns"}, true, nil},
	}
	for _, step := range steps {
		assert.Equal(t, step.pending, step.update(), step.name)
		assert.Equal(t, step.pending, tracker.Pending() > 0, step.name)
		update := tracker.Apply(services)
		tracker.MarkSynced()
		assert.Equal(t, updated(step.updated...), update.UpdatedServices, step.name)
		assert.Equal(t, step.conntrack, update.UDPChanged, step.name)
		assert.Equal(t, step.services, namesOf(services), step.name)
	}
	assert.Empty(t, tracker.applied, "nothing stays behind")
}

func TestServiceUpdatesThatCancelOut(t *testing.T) {
	web := makeService("web", "10.96.0.20", withPorts("http/TCP/80/0"))
	moved := makeService("web", "10.96.0.21", withPorts("http/TCP/80/0"))
	tracker := NewServiceTracker(v1.IPv4Protocol, false, klog.Logger{}, nil)
	assert.True(t, tracker.Update(nil, web))
	assert.False(t, tracker.Update(web, nil), "added and removed")
	tracker.Update(nil, web)
	services := Services{}
	tracker.Apply(services)
	tracker.MarkSynced()
	assert.True(t, tracker.Update(web, moved))
	assert.False(t, tracker.Update(moved, web), "there and back")
	assert.Empty(t, tracker.Apply(services).UpdatedServices)
}

func TestPortsThatStayKeepTheirPointer(t *testing.T) {
	tracker := NewServiceTracker(v1.IPv4Protocol, false, klog.Logger{}, nil)
	services := Services{}
	tracker.Update(nil, makeService("web", "10.96.0.20", withPorts("a/TCP/80/0", "b/TCP/81/0")))
	tracker.Apply(services)
	before := services[portName("web", "a", v1.ProtocolTCP)]
	tracker.Update(nil, makeService("web", "10.96.0.20", withPorts("a/TCP/80/0", "b/TCP/82/0")))
	tracker.Apply(services)
	assert.Same(t, before, services[portName("web", "a", v1.ProtocolTCP)])
	assert.Same(t, before, tracker.Ports(nn("web"))[0])
	assert.EqualValues(t, 82, services[portName("web", "b", v1.ProtocolTCP)].Port)
}

// TestFailedSyncLosesNoServiceChange applies without MarkSynced, as a proxier
// does whose restore has failed.
func TestFailedSyncLosesNoServiceChange(t *testing.T) {
	tracker := NewServiceTracker(v1.IPv4Protocol, false, klog.Logger{}, nil)
	services := Services{}
	dns := makeService("dns", "10.96.0.10", withPorts("dns/UDP/53/0"))
	tracker.Update(nil, dns)
	tracker.Apply(services)
	tracker.Update(dns, nil)
	tracker.Update(nil, makeService("web", "10.96.0.20", withPorts("http/TCP/80/0")))

	update := tracker.Apply(services)
	require.Equal(t, updated("dns", "web"), update.UpdatedServices)
	require.True(t, update.UDPChanged)
	require.Equal(t, updated("dns", "web"), tracker.Apply(services).UpdatedServices, "still not synced")

	tracker.MarkSynced()
	update = tracker.Apply(services)
	assert.Empty(t, update.UpdatedServices)
	assert.False(t, update.UDPChanged)
}

func TestHealthCheckNodePorts(t *testing.T) {
	local := func(port int32) func(*v1.Service) {
		return withSpec(func(s *v1.ServiceSpec) {
			s.Type = v1.ServiceTypeLoadBalancer
			s.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
			s.HealthCheckNodePort = port
		})
	}
	tracker := NewServiceTracker(v1.IPv4Protocol, false, klog.Logger{}, nil)
	services := Services{}
	web := makeService("web", "10.96.0.20", withPorts("a/TCP/80/30080", "b/TCP/81/30081"), local(31000))
	tracker.Update(nil, web)
	tracker.Update(nil, makeService("plain", "10.96.0.21", withPorts("a/TCP/80/0")))
	assert.Empty(t, tracker.healthCheckNodePorts, "nothing is applied yet")
	tracker.Apply(services)
	assert.Equal(t, map[types.NamespacedName]uint16{nn("web"): 31000}, tracker.healthCheckNodePorts)
	moved := makeService("web", "10.96.0.20", withPorts("a/TCP/80/30080"), local(31001))
	tracker.Update(web, moved)
	tracker.Apply(services)
	assert.Equal(t, map[types.NamespacedName]uint16{nn("web"): 31001}, tracker.healthCheckNodePorts)
	tracker.Update(moved, nil)
	tracker.Apply(services)
	assert.Empty(t, tracker.healthCheckNodePorts)
}
