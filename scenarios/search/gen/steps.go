package gen

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// event is something that may happen, and how often it does.
type event struct {
	weight int
	needs  Features // all of them
	do     func(*generator)
}

func events() []event {
	return []event{
		{30, Of(ChangeSlices), (*generator).changeSlice},
		{10, Of(ChangeSlices), (*generator).rollOut},
		{8, Of(ChangeSlices), (*generator).scale},
		{6, Of(ChangeSlices), (*generator).flap},
		{60, Of(ChangeSlices, ManyEndpoints), (*generator).flap},
		{6, Of(ChangeSlices), (*generator).hesitate},
		{6, Of(ChangeSlices, SeveralSlices), (*generator).moveEndpoint},
		{6, Of(ChangeSlices), (*generator).removeSlice},
		{10, Of(ChangeSlices, OddSlices), (*generator).disown},
		{5, Of(ChangeServices), (*generator).absent},
		{8, Of(ChangeServices, UDP), (*generator).absent},
		{20, Of(ChangeServices), (*generator).changeService},
		{8, Of(ChangeServices), (*generator).removeService},
		{8, Of(ChangeServices, SeveralServices), (*generator).addService},
		{10, Of(Recreate), (*generator).recreate},
		{8, Of(NodeLabels, Zones), (*generator).relabel},
		{40, Of(NodeLabels, Zones, ZoneHints), (*generator).relabel},
		{8, Of(NodeMoves), (*generator).renumber},
		{30, Of(NodeMoves, NodePortAddresses, NodePorts), (*generator).renumber},
		{12, Of(PodsStop), (*generator).stopPod},
		{10, Of(PodsStop), (*generator).startPod},
		{8, Of(Restart), (*generator).restart},
		{12, Of(Reconfigure), (*generator).reconfigure},
		{6, Of(Flush), (*generator).flush},
		{6, Of(ChainGone), (*generator).emptyChain},
		{8, Of(RestoreFails), (*generator).failRestore},
		{8, Of(HalfApplied), (*generator).halfApply},
		{5, Of(SaveFails), (*generator).failSave},
		{8, Of(SaveFails, Time), (*generator).failSavesOfFullSyncs},
		{6, Of(ConntrackFails), (*generator).failConntrack},
		{5, Of(LockHeld), (*generator).holdLock},
		{5, Of(SlowRestores), (*generator).slowRestores},
		{12, Of(LateEvents), (*generator).holdOrDeliver},
		{8, Of(Time), (*generator).advance},
		{15, Of(Time, Affinity), (*generator).advance},
		{6, Of(RestoreFails, Time), (*generator).failForLong},
		{40, Of(ManyEndpoints), (*generator).resize},
		{40, Of(ManyEndpoints, ChangeSlices), (*generator).changeBig},
		{4, 0, (*generator).syncAgain},
	}
}

// steps makes what happens, and ends with everything told and written.
func (g *generator) steps() {
	var possible []weighted[func(*generator)]
	for _, e := range events() {
		if g.has&e.needs == e.needs {
			possible = append(possible, weighted[func(*generator)]{e.weight, e.do})
		}
	}
	count := choose(&g.draw, []weighted[int]{{20, 2}, {25, 3}, {15, 4}, {10, 1}, {10, 5}, {10, 6}, {5, 7}, {5, 8}})
	for range min(count, g.options.Steps) {
		choose(&g.draw, possible)(g)
	}
	if len(g.late) > 0 {
		g.hold(nil)
	}
	g.step(scenarios.Step{Sync: everyNode()})
}

func everyNode() *scenarios.NodeSet { return &scenarios.NodeSet{All: true} }

func (g *generator) step(s scenarios.Step) { g.out.Steps = append(g.out.Steps, s) }

// change adds a step that changes something, after which all nodes sync, some, or none.
func (g *generator) change(s scenarios.Step) {
	if g.has.Has(PartialSync) {
		switch g.below(6) {
		case 4:
			s.Sync = &scenarios.NodeSet{} // none: it waits for the next one
		case 5:
			s.Sync = &scenarios.NodeSet{Names: []string{g.anyNode().name}}
		}
	}
	g.step(s)
}

// apply adds a step that creates or replaces objects.
func (g *generator) apply(objects ...manifest.Object) {
	if len(objects) > 0 {
		g.change(scenarios.Step{Apply: objects})
	}
}

// remove adds a step that deletes objects.
func (g *generator) remove(objects ...manifest.Object) {
	if len(objects) == 0 {
		return
	}
	var refs []scenarios.Ref
	for _, o := range objects {
		refs = append(refs, scenarios.Ref{Ref: o.Ref()})
	}
	g.change(scenarios.Step{Delete: refs})
}

func (g *generator) anyNode() node { return pick(&g.draw, g.nodes...) }

// oneOrAll is a node, or every node.
func (g *generator) oneOrAll() *scenarios.NodeSet {
	if g.in(1, 2) {
		return &scenarios.NodeSet{Names: []string{g.anyNode().name}}
	}
	return everyNode()
}

func (g *generator) relabel() {
	n := g.below(len(g.nodes))
	zone := pick(&g.draw, zones[0], zones[1], "")
	g.nodes[n].zone = zone
	labels := map[string]*string{corev1.LabelTopologyZone: &zone}
	if zone == "" {
		labels[corev1.LabelTopologyZone] = nil
	}
	g.change(scenarios.Step{Node: &scenarios.NodeChange{Name: g.nodes[n].name, Labels: labels}})
}

func (g *generator) restart() { g.change(scenarios.Step{Restart: g.oneOrAll()}) }

func (g *generator) reconfigure() {
	f := fields{}
	switch g.below(4) {
	case 0:
		f["iptables.masqueradeAll"] = g.in(1, 2)
	case 1:
		f["iptables.localhostNodePorts"] = g.in(1, 2)
	case 2:
		f["iptables.masqueradeBit"] = pick(&g.draw, 14, 15)
	case 3:
		f["nodePortAddresses"] = g.nodePortAddresses()
	}
	k := asKubeProxy(f)
	g.change(scenarios.Step{Restart: g.oneOrAll(), Configure: &k})
}

// syncPeriod is after what time kube-proxy syncs at the latest, if it is not told otherwise.
const syncPeriod = 30 * time.Second

// fullSyncPeriod is after what time kube-proxy writes everything again.
const fullSyncPeriod = time.Hour

// advance lets time pass: until the kernel, the proxier or a service forgets something, or nearly.
func (g *generator) advance() {
	g.wait(choose(&g.draw, []weighted[time.Duration]{
		{30, time.Second}, {20, syncPeriod + time.Second}, {10, syncPeriod - 2*time.Second}, {20, 4 * time.Minute}, {20, time.Hour},
		{10, 3*time.Hour - 2*time.Second}, {10, 3*time.Hour + 2*time.Second},
	}))
}

func (g *generator) wait(d time.Duration) {
	g.step(scenarios.Step{Advance: &metav1.Duration{Duration: d}})
}

func (g *generator) syncAgain() { g.step(scenarios.Step{Sync: g.oneOrAll()}) }

// hold has these nodes not be told of changes from here on, and all others told.
func (g *generator) hold(nodes []string) {
	g.late = nodes
	g.step(scenarios.Step{Hold: &scenarios.NodeSet{Names: nodes}})
}

// holdOrDeliver keeps changes from some nodes, tells them some of these, or tells all.
func (g *generator) holdOrDeliver() {
	switch {
	case len(g.late) == 0:
		g.hold([]string{g.anyNode().name})
	case g.in(1, 3):
		g.hold(nil)
	default:
		g.deliver()
	}
}

func (g *generator) deliver() {
	d := &scenarios.Delivery{}
	kinds := []scenarios.Watched{scenarios.WatchedServices, scenarios.WatchedEndpointSlices, scenarios.WatchedNodes}
	if g.in(1, 2) {
		d.Kinds = []scenarios.Watched{pick(&g.draw, kinds...)}
	}
	switch g.below(4) {
	case 1:
		d.Count = 1
	case 2:
		d.Twice = true
	case 3:
		d.Relist = true
	}
	g.change(scenarios.Step{Deliver: d})
}

// renumber gives a node another address: of the place of a node that is not there.
// kube-proxy learns which its node's own are when it starts, and those of node ports in each sync.
func (g *generator) renumber() {
	n := g.anyNode()
	s := scenarios.Step{Node: &scenarios.NodeChange{Name: n.name}}
	place := len(g.nodes) + 1 + g.below(3)
	for _, family := range g.families {
		s.Node.Addresses = append(s.Node.Addresses, parse(nodeAddress(family, place)))
	}
	if slices.ContainsFunc(g.out.Steps, func(other scenarios.Step) bool {
		return other.Node != nil && other.Node.Name != n.name && slices.Equal(other.Node.Addresses, s.Node.Addresses)
	}) {
		return
	}
	s.Sync = &scenarios.NodeSet{}
	g.step(s)
	if g.primary || g.has.Has(SourceRanges) || g.in(1, 2) {
		g.change(scenarios.Step{Restart: &scenarios.NodeSet{Names: []string{n.name}}})
	}
}

func sliceObjects(list ...*discoveryv1.EndpointSlice) []manifest.Object {
	var out []manifest.Object
	for _, s := range list {
		out = append(out, object(s))
	}
	return out
}
