package gen

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Options are what to make. The zero value makes everything.
type Options struct {
	// Without are features that no scenario has.
	Without Features
	// Steps bounds the steps of a scenario; 8 if 0.
	Steps int
	// OtherFamily has slices hold addresses of the other family, as API servers kept them that did not look.
	OtherFamily bool
	// OwnSysctls has no node whose kernel routes packets to loopback addresses though its proxier does not ask for it. Who guards these
	// then is open: chainwalk does, kube-proxy leaves it to the kubelet.
	OwnSysctls bool
	// FarFlows has a client talk to an outsider at the number of a node port, through masquerading that is somebody else's.
	FarFlows bool
}

// defaultSteps is enough for what happens to matter later, and few enough to judge many.
const defaultSteps = 8

// Scenario makes scenarios: a cluster, its objects, and steps that only say what happens.
// Each is one that scenarios.Resolve accepts.
func Scenario(o Options) *rapid.Generator[*scenarios.Scenario] {
	if o.Steps == 0 {
		o.Steps = defaultSteps
	}
	return rapid.Custom(func(t *rapid.T) *scenarios.Scenario {
		g := &generator{draw: draw{t: t, bit: rapid.Bool()}, options: o, called: map[string]string{}, unplaced: map[pod]bool{}}
		return g.scenario()
	})
}

// Example is the scenario of a seed.
func Example(o Options, seed uint64) *scenarios.Scenario { return Scenario(o).Example(int(seed)) }

// generator makes one scenario. It keeps the cluster as it is after the steps so far.
type generator struct {
	draw
	options Options
	has     Features
	out     *scenarios.Scenario

	families []corev1.IPFamily
	nodes    []node
	gone     []string          // the addresses of pods that stopped, which are free again
	started  int               // how many pods started, for their names
	called   map[string]string // the names of those, by address; others are called by their address
	unplaced map[pod]bool      // whether slices leave the node of a pod out

	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
	deleted  []*corev1.Service // that were there, whose addresses and ports are free again
	late     []string          // the nodes that are not told what happens

	primary  bool // some configuration has node ports at the node's own addresses, as they are when kube-proxy starts
	lastPort int32
	lastIP   int
}

func (g *generator) scenario() *scenarios.Scenario {
	g.has = swarm(&g.draw, g.options.Without)
	g.lastPort = 30000
	g.out = &scenarios.Scenario{Name: "generated"}
	g.topology()
	g.kubeProxy()
	g.iptables()
	g.objects()
	far := g.options.FarFlows && g.in(1, 3) && g.talkFar()
	g.steps()
	if far {
		g.answerFar()
	}
	return g.out
}

// objects are those that exist when kube-proxy starts.
func (g *generator) objects() {
	count := 1
	if g.has.Has(SeveralServices) {
		count = choose(&g.draw, []weighted[int]{{60, 2}, {25, 1}, {15, 3}})
	}
	for range count {
		for _, o := range g.serviceWithSlices() {
			g.out.Objects = append(g.out.Objects, o)
		}
	}
	if g.has.Has(ManyPorts) {
		g.out.Objects = append(g.out.Objects, g.note(object(g.serviceOfManyPorts())))
	}
	if g.has.Has(ManyEndpoints) && g.in(2, 3) {
		g.out.Objects = append(g.out.Objects, g.bigService()...)
	}
}

// note remembers an object as it is now, and returns it as a scenario has it.
func (g *generator) note(o manifest.Object) manifest.Object {
	switch object := o.Object.(type) {
	case *corev1.Service:
		g.services = replace(g.services, object, sameService)
	case *discoveryv1.EndpointSlice:
		g.slices = replace(g.slices, object, sameSlice)
	}
	return o
}

func replace[T any](list []T, one T, same func(a, b T) bool) []T {
	i := slices.IndexFunc(list, func(other T) bool { return same(one, other) })
	if i < 0 {
		return append(list, one)
	}
	list = slices.Clone(list)
	list[i] = one
	return list
}

func sameService(a, b *corev1.Service) bool { return a.Namespace == b.Namespace && a.Name == b.Name }

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name
}
