package gen

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
)

// faults are what goes wrong.
type faults struct {
	mixture
	cluster *cluster
	course  *course
	objects *objectEvents
}

// fault adds a step in which something goes wrong, on one node or on all.
func (w *faults) fault(f *scenarios.Fault) {
	if w.in(1, 2) {
		f.Node = pick(w.draw, w.cluster.nodes...).name
	}
	w.course.step(scenarios.Step{Fault: f})
}

// familyOrAll is a family, or empty for all.
func (w *faults) familyOrAll() scenarios.IPFamily {
	if len(w.cluster.families) == 1 || w.in(1, 2) {
		return ""
	}
	return pick(w.draw, scenarios.FamilyIPv4, scenarios.FamilyIPv6)
}

func (w *faults) flush() {
	if w.in(1, 3) {
		w.emptyTable()
		return
	}
	tables := choose(w.draw,
		[]weighted[[]string]{{40, []string{"nat", "filter", "mangle"}}, {30, []string{"nat"}}, {20, []string{"filter"}},
			{10, []string{"mangle"}}})
	w.fault(&scenarios.Fault{Flush: tables, Family: w.familyOrAll()})
}

// emptyTable takes the rules of a table away, and leaves its chains.
func (w *faults) emptyTable() {
	f, line := &scenarios.Fault{}, "tables -t "+pick(w.draw, "nat", "filter")+" -F"
	for _, family := range w.cluster.families {
		if family == corev1.IPv6Protocol {
			f.Run = append(f.Run, "ip6"+line)
		} else {
			f.Run = append(f.Run, "ip"+line)
		}
	}
	w.fault(f)
}

// emptyChain takes the rules of a chain away that is there as long as nobody flushes all.
func (w *faults) emptyChain() {
	if slices.ContainsFunc(w.course.steps, func(s scenarios.Step) bool { return s.Fault != nil && s.Fault.Flush != nil }) {
		return
	}
	line := pick(w.draw, "-t nat -F KUBE-SERVICES", "-t nat -F KUBE-POSTROUTING", "-t nat -F KUBE-NODEPORTS", "-t filter -F KUBE-FORWARD",
		"-t filter -F KUBE-SERVICES")
	f := &scenarios.Fault{}
	for _, family := range w.cluster.families {
		tool := "iptables "
		if family == corev1.IPv6Protocol {
			tool = "ip6tables "
		}
		f.Run = append(f.Run, tool+line)
	}
	w.fault(f)
}

func (w *faults) failRestore() {
	w.fault(&scenarios.Fault{RestoreFails: choose(w.draw, []weighted[int]{{60, 1}, {20, 2}, {20, 3}}), Family: w.familyOrAll()})
	w.syncSoon()
}

// failForLong has every restore fail for longer than kube-proxy calls itself healthy then.
func (w *faults) failForLong() {
	const ever = 100
	f := &scenarios.Fault{RestoreFails: ever}
	if w.in(1, 2) {
		f.Node = pick(w.draw, w.cluster.nodes...).name
	}
	w.course.step(scenarios.Step{Fault: f})
	w.syncSoon()
	w.course.wait(pick(w.draw, 4*time.Minute, time.Hour))
	if w.in(1, 2) {
		w.course.step(scenarios.Step{Fault: &scenarios.Fault{Heal: true}})
	}
}

// halfApply has a restore fail after some of its tables.
func (w *faults) halfApply() {
	w.fault(&scenarios.Fault{RestoreFails: 1, Commits: pick(w.draw, []string{"filter"}, []string{"filter", "nat"}), Family: w.familyOrAll()})
	w.syncSoon()
}

func (w *faults) failSave() {
	w.fault(&scenarios.Fault{SaveFails: 1 + w.below(2), Family: w.familyOrAll()})
	w.syncSoon()
}

// failSavesOfFullSyncs has a full sync not see what the kernel holds when a service goes, nor the next one, when it is there again.
func (w *faults) failSavesOfFullSyncs() {
	s := w.objects.anyService()
	if s == nil {
		return
	}
	none := &scenarios.NodeSet{}
	const both = 2
	w.fault(&scenarios.Fault{SaveFails: both})
	w.course.step(scenarios.Step{Delete: []scenarios.Ref{{Ref: object(s).Ref()}}, Sync: none})
	w.course.wait(fullSyncPeriod)
	w.course.step(scenarios.Step{Apply: scenarios.Objects{object(s)}, Sync: none})
	w.course.wait(fullSyncPeriod)
	w.objects.changeSlice()
}

func (w *faults) failConntrack() {
	w.fault(&scenarios.Fault{ConntrackFails: 1 + w.below(2), Family: w.familyOrAll()})
	w.syncSoon()
}

func (w *faults) holdLock() {
	w.fault(&scenarios.Fault{LockHeld: 1 + w.below(3)})
	w.syncSoon()
}

func (w *faults) slowRestores() {
	w.fault(&scenarios.Fault{RestoreTakes: &metav1.Duration{Duration: pick(w.draw, time.Second, time.Minute)}})
}

// syncSoon has something happen for which the fault matters.
func (w *faults) syncSoon() {
	if w.in(1, 4) {
		return
	}
	if w.has.Has(ChangeSlices) && w.in(2, 3) {
		w.objects.changeSlice()
		return
	}
	if w.has.Has(ChangeServices) {
		w.objects.changeService()
	}
}
