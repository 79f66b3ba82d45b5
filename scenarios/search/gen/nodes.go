package gen

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
)

// nodeEvents are what happens to nodes and to their proxiers: to labels and addresses, to a process, to what it is told and when.
type nodeEvents struct {
	mixture
	cluster  *cluster
	course   *course
	settings *settings
	late     []string // the nodes that are not told what happens
}

// syncPeriod is after what time kube-proxy syncs at the latest, if it is not told otherwise.
const syncPeriod = 30 * time.Second

// fullSyncPeriod is after what time kube-proxy writes everything again.
const fullSyncPeriod = time.Hour

func (h *nodeEvents) relabel() {
	n := h.below(len(h.cluster.nodes))
	zone := pick(h.draw, zones[0], zones[1], "")
	h.cluster.nodes[n].zone = zone
	labels := map[string]*string{corev1.LabelTopologyZone: &zone}
	if zone == "" {
		labels[corev1.LabelTopologyZone] = nil
	}
	h.course.change(scenarios.Step{Node: &scenarios.NodeChange{Name: h.cluster.nodes[n].name, Labels: labels}})
}

func (h *nodeEvents) restart() { h.course.change(scenarios.Step{Restart: h.course.oneOrAll()}) }

func (h *nodeEvents) reconfigure() {
	k := h.settings.other()
	if h.options.Modes && h.in(1, 2) {
		k = h.settings.otherMode()
	}
	h.course.change(scenarios.Step{Restart: h.course.oneOrAll(), Configure: &k})
}

// advance lets time pass: until the kernel, the proxier or a service forgets something, or nearly.
func (h *nodeEvents) advance() {
	h.course.wait(choose(h.draw, []weighted[time.Duration]{
		{30, time.Second}, {20, syncPeriod + time.Second}, {10, syncPeriod - 2*time.Second}, {20, 4 * time.Minute}, {20, time.Hour},
		{10, 3*time.Hour - 2*time.Second}, {10, 3*time.Hour + 2*time.Second},
	}))
}

func (h *nodeEvents) syncAgain() { h.course.step(scenarios.Step{Sync: h.course.oneOrAll()}) }

// hold has these nodes not be told of changes from here on, and all others told.
func (h *nodeEvents) hold(nodes []string) {
	h.late = nodes
	h.course.step(scenarios.Step{Hold: &scenarios.NodeSet{Names: nodes}})
}

// holdOrDeliver keeps changes from some nodes, tells them some of these, or tells all.
func (h *nodeEvents) holdOrDeliver() {
	switch {
	case len(h.late) == 0:
		h.hold([]string{pick(h.draw, h.cluster.nodes...).name})
	case h.in(1, 3):
		h.hold(nil)
	default:
		h.deliver()
	}
}

func (h *nodeEvents) deliver() {
	d := &scenarios.Delivery{}
	kinds := []scenarios.Watched{scenarios.WatchedServices, scenarios.WatchedEndpointSlices, scenarios.WatchedNodes}
	if h.in(1, 2) {
		d.Kinds = []scenarios.Watched{pick(h.draw, kinds...)}
	}
	switch h.below(4) {
	case 1:
		d.Count = 1
	case 2:
		d.Twice = true
	case 3:
		d.Relist = true
	}
	h.course.change(scenarios.Step{Deliver: d})
}

// renumber gives a node another address: of the place of a node that is not there.
// kube-proxy learns which its node's own are when it starts, and those of node ports in each sync.
func (h *nodeEvents) renumber() {
	n := pick(h.draw, h.cluster.nodes...)
	s := scenarios.Step{Node: &scenarios.NodeChange{Name: n.name}}
	place := len(h.cluster.nodes) + 1 + h.below(3)
	for _, family := range h.cluster.families {
		s.Node.Addresses = append(s.Node.Addresses, parse(nodeAddress(family, place)))
	}
	if slices.ContainsFunc(h.course.steps, func(other scenarios.Step) bool {
		return other.Node != nil && other.Node.Name != n.name && slices.Equal(other.Node.Addresses, s.Node.Addresses)
	}) {
		return
	}
	s.Sync = &scenarios.NodeSet{}
	h.course.step(s)
	if h.settings.primary || h.has.Has(SourceRanges) || h.in(1, 2) {
		h.course.change(scenarios.Step{Restart: &scenarios.NodeSet{Names: []string{n.name}}})
	}
}
