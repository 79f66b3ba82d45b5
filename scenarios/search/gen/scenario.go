package gen

import (
	"github.com/chainwalk/chainwalk/scenarios"
)

// Options are what to make. The zero value makes everything.
type Options struct {
	// Without are features that no scenario has, With those that every other one has.
	Without, With Features
	// Steps bounds the steps of a scenario; 8 if 0.
	Steps int
	// Services is how many services there are at first; drawn if 0.
	Services int
	// Events is how many things happen, a few steps each; drawn if 0, and then bounded by Steps.
	Events int
	// OtherFamily has slices hold addresses of the other family, as API servers kept them that did not look.
	OtherFamily bool
	// OwnSysctls has no node whose kernel routes packets to loopback addresses though its proxier does not ask for it. Who guards these
	// then is open: chainwalk does, kube-proxy leaves it to the kubelet.
	OwnSysctls bool
	// FarFlows has a client talk to an outsider at the number of a node port, through masquerading that is somebody else's.
	FarFlows bool
	// Exposed has most services be open to the outside, where they may be.
	Exposed bool
	// HandOvers gives services to another proxy and back, and has them be headless and back, with their slices some time later, and
	// addresses to other pods while the former ones terminate. What must come of the first two in between is open.
	HandOvers bool
	// OldObjects has objects as former API servers kept them, which Resolve need not accept.
	OldObjects bool
	// NFTables has every node's kube-proxy run in mode nftables. The same draws are made as in mode iptables.
	NFTables bool
	// NFTablesExtras adds what only mode nftables meets to the scenarios of NFTables: ServiceCIDRs, tables of others and of former
	// kube-proxies, and damage to kube-proxy's own table.
	NFTablesExtras bool
	// Modes draws the mode of kube-proxy, and has it change at a start.
	Modes bool
}

// defaultSteps is enough for what happens to matter later, and few enough to judge many.
const defaultSteps = 8

// Draw makes a scenario of choices between two things: a cluster, its objects, and steps that only say what happens. scenarios.Resolve
// accepts it, but for Options.OldObjects. The fewer choices are true, the smaller and plainer it is.
func Draw(o Options, bit func() bool) *scenarios.Scenario {
	if o.Steps == 0 {
		o.Steps = defaultSteps
	}
	if o.NFTables || o.Modes {
		// What changes kube-proxy's chains of iptables, or stops between its tables, is of mode iptables; who guards loopback addresses is open.
		o.Without |= Of(ChainGone, HalfApplied, LockHeld)
		o.OwnSysctls = true
	}
	d := &draw{bit: bit}
	return newGenerator(mixture{draw: d, has: swarm(d, o), options: o}).scenario()
}

// Example is the scenario of a seed: the one that rapid makes of it (rapidgen.Scenario).
func Example(o Options, seed uint64) *scenarios.Scenario {
	random := newJSF(seed)
	return Draw(o, func() bool { return random.next()&1 == 1 })
}

// generator makes one scenario: the cluster as it is at first, and then what happens to it.
type generator struct {
	mixture
	out       *scenarios.Scenario
	cluster   *cluster
	settings  *settings
	workloads *workloads
	course    *course
}

func newGenerator(m mixture) *generator {
	c := &cluster{}
	n := &numbers{mixture: m, cluster: c, lastPort: 30000}
	return &generator{
		mixture: m, out: &scenarios.Scenario{Name: "generated"}, cluster: c,
		settings: &settings{mixture: m, cluster: c},
		workloads: &workloads{
			mixture: m, cluster: c,
			services: &serviceMaker{mixture: m, cluster: c, numbers: n},
			slices:   &sliceMaker{mixture: m, cluster: c, unplaced: map[pod]bool{}},
		},
		course: &course{mixture: m, cluster: c},
	}
}

func (g *generator) scenario() *scenarios.Scenario {
	setup := &setup{mixture: g.mixture, cluster: g.cluster, out: g.out}
	setup.topology()
	g.out.KubeProxy = g.settings.kubeProxy()
	setup.iptables()
	g.objects()
	outside := &farFlow{cluster: g.cluster, course: g.course, out: g.out}
	far := g.options.FarFlows && g.in(1, 3) && outside.talk()
	g.steps()
	if far {
		outside.answer()
	}
	g.out.Steps = g.course.steps
	if g.options.NFTables && g.options.NFTablesExtras {
		(&beside{g.mixture, g.cluster, g.settings, g.out}).add()
	}
	if g.options.OldObjects {
		age(g.draw, g.cluster, g.out)
	}
	return g.out
}

// objects are the objects that exist when kube-proxy starts.
func (g *generator) objects() {
	count := 1
	switch {
	case g.options.Services > 0:
		count = g.options.Services
	case g.has.Has(SeveralServices):
		count = choose(g.draw, []weighted[int]{{60, 2}, {25, 1}, {15, 3}})
	}
	for range count {
		g.out.Objects = append(g.out.Objects, g.workloads.withSlices()...)
	}
	if g.has.Has(ManyPorts) {
		g.out.Objects = append(g.out.Objects, g.workloads.manyPorts())
	}
	if g.has.Has(ManyEndpoints) && g.in(2, 3) {
		g.out.Objects = append(g.out.Objects, g.workloads.big()...)
	}
}
