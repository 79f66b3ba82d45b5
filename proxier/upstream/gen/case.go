package gen

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// Case makes the case of a number. Cases of the same seed and number are equal.
func Case(seed, number uint64) *cases.Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number)), api: cases.NewObjects(), lastPort: 30000}
	g.large = g.in(4, 100)
	g.holds = !g.large && g.in(1, 4)
	g.overlaps = !g.holds && g.in(1, 6)
	g.out = &cases.Case{Settings: g.settings()}
	if g.in(1, 2) {
		g.zone()
	}
	for range 1 + g.IntN(5) {
		g.serviceWithSlices()
	}
	g.do(cases.Sync)
	for range 2 + g.IntN(6) {
		for range 1 + g.IntN(4) {
			g.event()
		}
		if g.large && g.in(1, 2) {
			g.bigService()
		}
		g.do(cases.Sync)
	}
	return g.out
}

// generator makes one case. It keeps the objects as they are after the steps so far.
type generator struct {
	*rand.Rand
	out   *cases.Case
	api   *cases.Objects
	large bool // the case grows beyond the size of large clusters and shrinks again
	// holds lets somebody else's rules jump to chains of services. Whether a chain can be deleted must not depend on chance
	// then, so that no two slices share an address.
	holds bool
	held  bool
	// overlaps lets slices have the same addresses with whatever conditions. Otherwise they do only while an endpoint moves.
	overlaps bool
	lastPort int32
	lastIP   int
}

// in is true in n of d cases.
func (g *generator) in(n, d int) bool { return g.IntN(d) < n }

// pick takes one of the values.
func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func (g *generator) add(step cases.Step) {
	g.api.Apply(&step)
	g.out.Steps = append(g.out.Steps, step)
}

func (g *generator) do(action cases.Action) { g.add(cases.Step{Do: action}) }

func (g *generator) settings() cases.Settings {
	s := cases.Settings{
		Dialect:            pick(g, "legacy", "legacy", "legacy", "nft"),
		Detect:             pick(g, "none", "cidr", "cidr", "bridge", "prefix"),
		MasqueradeAll:      g.in(1, 6),
		MasqueradeBit:      pick(g, 14, 14, 14, 0, 15, 31),
		LocalhostNodePorts: g.in(2, 3),
		NoRandomFully:      g.in(1, 8),
		NodeAddressUnknown: g.in(1, 20),
		NodePortAddresses: pick(g, nil, nil, nil, []string{"192.168.10.0/24"}, []string{"192.168.10.1/32", "fd00:10::1/128"},
			[]string{"127.0.0.0/8"}, []string{"::1/128", "127.0.0.1/32", "172.31.0.77/24"}, []string{"0.0.0.0/0"}, []string{"10.0.0.0/8", "::/0"},
			[]string{"203.0.113.0/24", "2001:db8::/32"}, []string{"192.168.0.0/16", "192.168.10.0/24", "fd00:10::/64", "fd00::/8"}),
		Accounting: pick(g, "present", "present", "absent", "failing"),
	}
	s.NoHourlyFullSync = g.in(1, 2)
	if g.in(4, 5) {
		liberal := pick(g, 0, 0, 0, 1)
		s.TCPLiberal = &liberal
	}
	return s
}

// event adds one change.
func (g *generator) event() {
	switch n := g.IntN(104); {
	case n < 14:
		g.serviceWithSlices()
	case n < 34:
		g.changeService()
	case n < 40:
		g.deleteService()
	case n < 48:
		g.newSlice()
	case n < 74:
		g.changeSlice()
	case n < 80:
		g.deleteSlice()
	case n < 84 && !g.holds:
		g.moveEndpoint()
	case n < 89:
		g.zone()
	case n < 91:
		g.do(cases.Flush)
	case n < 94:
		g.do(cases.Fail)
	case n < 96:
		g.do(cases.Hour)
	case n < 97 && !g.holds:
		g.handOver()
	case n < 99:
		g.headless()
	case n < 101 && !g.holds:
		g.relabel()
	case g.large:
		g.bigService()
	case g.holds:
		g.hold()
	default:
		g.changeSlice()
	}
}

func (g *generator) zone() {
	zone := pick(g, "", "zone-1", "zone-2", "zone-3")
	g.add(cases.Step{Zone: &zone})
}

func (g *generator) hold() {
	if g.held {
		g.do(cases.Release)
	} else {
		g.do(cases.Hold)
	}
	g.held = !g.held
}

func (g *generator) serviceWithSlices() {
	service := g.service(pick(g, "default", "other"), pick(g, names...))
	g.add(cases.Step{Service: service})
	for _, family := range families {
		for range g.IntN(4) {
			g.add(cases.Step{Slice: g.slice(service, family)})
		}
	}
}

func (g *generator) anyService() *v1.Service {
	list := g.api.SortedServices()
	if len(list) == 0 {
		g.serviceWithSlices()
		list = g.api.SortedServices()
	}
	return list[g.IntN(len(list))]
}

// anySlice returns a slice that is there, nil if there is none.
func (g *generator) anySlice() *discovery.EndpointSlice {
	list := g.api.SortedSlices()
	if len(list) == 0 {
		return nil
	}
	return list[g.IntN(len(list))]
}

func (g *generator) deleteService() {
	service := g.anyService()
	g.add(cases.Step{DeleteService: service.Namespace + "/" + service.Name})
	if g.in(1, 3) {
		return // the slices go later, or the service comes back
	}
	for _, s := range g.api.SlicesOf(cases.Key(service.Namespace + "/" + service.Name)) {
		g.add(cases.Step{DeleteSlice: s.Namespace + "/" + s.Name})
	}
}

// bigService adds a service that makes the cluster a large one, or takes it away.
func (g *generator) bigService() {
	const name = "big"
	if g.api.Services[cases.Key("default/"+name)] != nil {
		g.add(cases.Step{DeleteService: "default/" + name})
		return
	}
	service := g.service("default", name)
	service.Spec.Type, service.Spec.ClusterIP, service.Spec.ClusterIPs = v1.ServiceTypeClusterIP, "", nil
	service.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	g.normalize(service)
	g.add(cases.Step{Service: service})
	for n := range 11 {
		s := g.slice(service, v1.IPv4Protocol)
		s.Name, s.AddressType = fmt.Sprintf("big-v4-%d", n), discovery.AddressTypeIPv4
		s.Ports = g.slicePorts(service, 0)
		s.Endpoints = nil
		for i := range 100 {
			s.Endpoints = append(s.Endpoints, discovery.Endpoint{
				Addresses:  []string{fmt.Sprintf("10.244.%d.%d", 10+n, i+1)},
				Conditions: g.conditions(20),
			})
		}
		g.add(cases.Step{Slice: s})
	}
}
