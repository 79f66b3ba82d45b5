package gen

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
)

// fault adds a step in which something goes wrong, on one node or on all.
func (g *generator) fault(f *scenarios.Fault) {
	if g.in(1, 2) {
		f.Node = g.anyNode().name
	}
	g.step(scenarios.Step{Fault: f})
}

// familyOrAll is a family, or empty for all.
func (g *generator) familyOrAll() scenarios.IPFamily {
	if len(g.families) == 1 || g.in(1, 2) {
		return ""
	}
	return pick(&g.draw, scenarios.FamilyIPv4, scenarios.FamilyIPv6)
}

func (g *generator) flush() {
	if g.in(1, 3) {
		g.emptyTable()
		return
	}
	tables := choose(&g.draw, []weighted[[]string]{{40, []string{"nat", "filter", "mangle"}}, {30, []string{"nat"}}, {20, []string{"filter"}}, {10, []string{"mangle"}}})
	g.fault(&scenarios.Fault{Flush: tables, Family: g.familyOrAll()})
}

// emptyTable takes the rules of a table away, and leaves its chains.
func (g *generator) emptyTable() {
	f, line := &scenarios.Fault{}, "tables -t "+pick(&g.draw, "nat", "filter")+" -F"
	for _, family := range g.families {
		if family == corev1.IPv6Protocol {
			f.Run = append(f.Run, "ip6"+line)
		} else {
			f.Run = append(f.Run, "ip"+line)
		}
	}
	g.fault(f)
}

// emptyChain takes the rules of a chain away that is there as long as nobody flushes all.
func (g *generator) emptyChain() {
	if slices.ContainsFunc(g.out.Steps, func(s scenarios.Step) bool { return s.Fault != nil && s.Fault.Flush != nil }) {
		return
	}
	line := pick(&g.draw, "-t nat -F KUBE-SERVICES", "-t nat -F KUBE-POSTROUTING", "-t nat -F KUBE-NODEPORTS", "-t filter -F KUBE-FORWARD", "-t filter -F KUBE-SERVICES")
	f := &scenarios.Fault{}
	for _, family := range g.families {
		tool := "iptables "
		if family == corev1.IPv6Protocol {
			tool = "ip6tables "
		}
		f.Run = append(f.Run, tool+line)
	}
	g.fault(f)
}

func (g *generator) failRestore() {
	g.fault(&scenarios.Fault{RestoreFails: choose(&g.draw, []weighted[int]{{60, 1}, {20, 2}, {20, 3}}), Family: g.familyOrAll()})
	g.syncSoon()
}

// failForLong has every restore fail for longer than kube-proxy calls itself healthy then.
func (g *generator) failForLong() {
	const ever = 100
	f := &scenarios.Fault{RestoreFails: ever}
	if g.in(1, 2) {
		f.Node = g.anyNode().name
	}
	g.step(scenarios.Step{Fault: f})
	g.syncSoon()
	g.wait(pick(&g.draw, 4*time.Minute, time.Hour))
	if g.in(1, 2) {
		g.step(scenarios.Step{Fault: &scenarios.Fault{Heal: true}})
	}
}

// halfApply has a restore fail after some of its tables.
func (g *generator) halfApply() {
	g.fault(&scenarios.Fault{RestoreFails: 1, Commits: pick(&g.draw, []string{"filter"}, []string{"filter", "nat"}), Family: g.familyOrAll()})
	g.syncSoon()
}

func (g *generator) failSave() {
	g.fault(&scenarios.Fault{SaveFails: 1 + g.below(2), Family: g.familyOrAll()})
	g.syncSoon()
}

// failSavesOfFullSyncs has a full sync not see what the kernel holds when a service goes, nor the next one, when it is there again.
func (g *generator) failSavesOfFullSyncs() {
	s := g.anyService()
	if s == nil {
		return
	}
	none := &scenarios.NodeSet{}
	const both = 2
	g.fault(&scenarios.Fault{SaveFails: both})
	g.step(scenarios.Step{Delete: []scenarios.Ref{{Ref: object(s).Ref()}}, Sync: none})
	g.wait(fullSyncPeriod)
	g.step(scenarios.Step{Apply: scenarios.Objects{object(s)}, Sync: none})
	g.wait(fullSyncPeriod)
	g.changeSlice()
}

func (g *generator) failConntrack() {
	g.fault(&scenarios.Fault{ConntrackFails: 1 + g.below(2), Family: g.familyOrAll()})
	g.syncSoon()
}

func (g *generator) holdLock() {
	g.fault(&scenarios.Fault{LockHeld: 1 + g.below(3)})
	g.syncSoon()
}

func (g *generator) slowRestores() {
	g.fault(&scenarios.Fault{RestoreTakes: &metav1.Duration{Duration: pick(&g.draw, time.Second, time.Minute)}})
}

// syncSoon has something happen for which the fault matters.
func (g *generator) syncSoon() {
	if g.in(1, 4) {
		return
	}
	if g.has.Has(ChangeSlices) && g.in(2, 3) {
		g.changeSlice()
		return
	}
	if g.has.Has(ChangeServices) {
		g.changeService()
	}
}
