package gen

import (
	"github.com/chainwalk/chainwalk/scenarios"
)

// event is something that may happen, and how often it does.
type event struct {
	weight int
	needs  Features // all of them
	do     func()
}

// events are what may happen to a cluster.
func events(objects *objectEvents, nodes *nodeEvents, pods *podEvents, faults *faults) []event {
	return []event{
		{30, Of(ChangeSlices), objects.changeSlice},
		{10, Of(ChangeSlices), objects.rollOut},
		{8, Of(ChangeSlices), objects.scale},
		{6, Of(ChangeSlices), objects.flap},
		{60, Of(ChangeSlices, ManyEndpoints), objects.flap},
		{6, Of(ChangeSlices), objects.hesitate},
		{6, Of(ChangeSlices, SeveralSlices), objects.moveEndpoint},
		{6, Of(ChangeSlices), objects.removeSlice},
		{10, Of(ChangeSlices, OddSlices), objects.disown},
		{5, Of(ChangeServices), objects.absent},
		{8, Of(ChangeServices, UDP), objects.absent},
		{20, Of(ChangeServices), objects.changeService},
		{8, Of(ChangeServices), objects.removeService},
		{8, Of(ChangeServices, SeveralServices), objects.addService},
		{10, Of(Recreate), objects.recreate},
		{8, Of(NodeLabels, Zones), nodes.relabel},
		{40, Of(NodeLabels, Zones, ZoneHints), nodes.relabel},
		{8, Of(NodeMoves), nodes.renumber},
		{30, Of(NodeMoves, NodePortAddresses, NodePorts), nodes.renumber},
		{12, Of(PodsStop), pods.stopPod},
		{10, Of(PodsStop), pods.startPod},
		{8, Of(Restart), nodes.restart},
		{12, Of(Reconfigure), nodes.reconfigure},
		{6, Of(Flush), faults.flush},
		{6, Of(ChainGone), faults.emptyChain},
		{8, Of(RestoreFails), faults.failRestore},
		{8, Of(HalfApplied), faults.halfApply},
		{5, Of(SaveFails), faults.failSave},
		{8, Of(SaveFails, Time), faults.failSavesOfFullSyncs},
		{6, Of(ConntrackFails), faults.failConntrack},
		{5, Of(LockHeld), faults.holdLock},
		{5, Of(SlowRestores), faults.slowRestores},
		{12, Of(LateEvents), nodes.holdOrDeliver},
		{8, Of(Time), nodes.advance},
		{15, Of(Time, Affinity), nodes.advance},
		{6, Of(RestoreFails, Time), faults.failForLong},
		{40, Of(ManyEndpoints), objects.resize},
		{40, Of(ManyEndpoints, ChangeSlices), objects.changeBig},
		{4, 0, nodes.syncAgain},
	}
}

// steps makes what happens, and ends with everything told and written.
func (g *generator) steps() {
	objects := &objectEvents{workloads: g.workloads, course: g.course}
	nodes := &nodeEvents{mixture: g.mixture, cluster: g.cluster, course: g.course, settings: g.settings}
	pods := &podEvents{workloads: g.workloads, course: g.course, called: map[string]string{}}
	wrong := &faults{mixture: g.mixture, cluster: g.cluster, course: g.course, objects: objects}
	var possible []weighted[func()]
	for _, e := range events(objects, nodes, pods, wrong) {
		if g.has&e.needs == e.needs {
			possible = append(possible, weighted[func()]{e.weight, e.do})
		}
	}
	if g.options.HandOvers {
		possible = append(possible, weighted[func()]{8, objects.handOver}, weighted[func()]{6, objects.headless})
	}
	for range g.eventCount() {
		choose(g.draw, possible)()
	}
	if len(nodes.late) > 0 {
		nodes.hold(nil)
	}
	g.course.step(scenarios.Step{Sync: everyNode()})
}

// eventCount is how many things happen.
func (g *generator) eventCount() int {
	if g.options.Events > 0 {
		return g.options.Events
	}
	count := choose(g.draw, []weighted[int]{{20, 2}, {25, 3}, {15, 4}, {10, 1}, {10, 5}, {10, 6}, {5, 7}, {5, 8}})
	return min(count, g.options.Steps)
}
