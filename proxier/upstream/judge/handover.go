package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// HandOver has one proxier play the first steps of a case and stops it. The objects change until the next sync is due while nobody
// runs. Then the other proxier starts on the same node. What differs after its first sync from what the same proxier writes to an
// empty kernel is returned: rules, what becomes of packets, and errors. Ours is the one that starts unless back is set. Rules of
// others that hold chains are left out of the case.
func HandOver(c *cases.Case, after int, back bool, report *Report) ([]*Difference, error) {
	settings := c.Settings
	settings.Real = false
	first, next, err := handOver(&settings, back)
	if err != nil {
		return nil, err
	}
	objects := cases.NewObjects()
	for i := range c.Steps {
		step := &c.Steps[i]
		if i < after {
			objects.Apply(step, first)
			play(step.Do, first)
			continue
		}
		if step.Do == cases.Sync || step.Do == cases.Flush {
			break
		}
		objects.Apply(step)
	}
	before := map[v1.IPFamily][]string{}
	for _, family := range peers.Families {
		before[family] = ownChains(settings.Mode, first, family)
	}
	started, err := next()
	if err != nil {
		return nil, err
	}
	deliver(objects, objects.SortedSlices(), started)
	h := handedOver{settings: &settings, objects: objects, back: back, started: started, errs: started.Sync(), step: after}
	report.HandOvers++
	var all []*Difference
	for _, family := range peers.Families {
		if there := ownChains(settings.Mode, started, family); back { // which chains kube-proxy has may be chance
			report.Stale += len(slices.DeleteFunc(before[family], func(name string) bool { return slices.Contains(there, name) }))
		}
		differences, err := h.compare(family, report)
		if err != nil {
			return nil, err
		}
		all = append(all, differences...)
	}
	return all, nil
}

// handOver sets up the proxier that plays first, and returns how to start the other one after it.
func handOver(settings *cases.Settings, back bool) (first peers.Peer, next func() (peers.Peer, error), err error) {
	if back {
		ours, err := peers.NewChainwalk(settings)
		return ours, func() (peers.Peer, error) { return ours.HandOver() }, err
	}
	theirs, err := peers.NewKubeProxy(settings)
	return theirs, func() (peers.Peer, error) { return theirs.HandOver() }, err
}

// play does what an action says to one proxier.
func play(action cases.Action, peer peers.Peer) {
	switch action {
	case cases.Sync:
		peer.Sync()
	case cases.Flush:
		peer.Flush()
	case cases.Fail:
		peer.Fail()
	case cases.Hour:
		peer.Hour()
	}
}

// handedOver is a proxier after its first sync on a node where another one was.
type handedOver struct {
	settings *cases.Settings
	objects  *cases.Objects
	back     bool
	started  peers.Peer
	errs     map[v1.IPFamily]error
	step     int
}

// compare compares with what the same proxier writes to an empty kernel: one of a thousand where that rests on chance.
func (h *handedOver) compare(family v1.IPFamily, report *Report) ([]*Difference, error) {
	tries := 1
	if h.back && ambiguousDuplicates(h.objects) {
		tries = freshTries
	}
	for {
		fresh, errs, err := h.fresh()
		if err != nil {
			return nil, err
		}
		differences, err := h.differences(family, fresh, errs, report)
		report = NewReport() // what comes by chance is not counted
		if tries--; err != nil || len(differences) == 0 || tries == 0 {
			return differences, err
		}
	}
}

func (h *handedOver) fresh() (fresh peers.Peer, errs map[v1.IPFamily]error, err error) {
	if h.back {
		fresh, err = peers.NewKubeProxy(h.settings)
	} else {
		fresh, err = peers.NewChainwalk(h.settings)
	}
	if err != nil {
		return nil, nil, err
	}
	deliver(h.objects, h.objects.SortedSlices(), fresh)
	return fresh, fresh.Sync(), nil
}

func (h *handedOver) differences(family v1.IPFamily, fresh peers.Peer, errs map[v1.IPFamily]error, report *Report) ([]*Difference, error) {
	rules, differences := compareRules(written(h.settings.Mode, h.started, family), written(h.settings.Mode, fresh, family))
	report.Rules += rules
	// Of two elements of mode nftables that are the same but for their comment, kube-proxy keeps the former one; which service has an
	// address that several claim is chance in it.
	differences = slices.DeleteFunc(differences, func(d *Difference) bool {
		native := h.back && h.settings.Mode == cases.NFTables
		return native && (d.onlyComments && strings.HasPrefix(d.where, "map ") || contestedParts(h.objects, family, d) || takenForWritten(d))
	})
	if fmt.Sprint(h.errs[family]) != fmt.Sprint(errs[family]) {
		differences = append(differences, &Difference{
			Kind: "errors", where: "first sync", ours: []string{fmt.Sprint(h.errs[family])}, theirs: []string{fmt.Sprint(errs[family])},
		})
	}
	packets, err := h.packets(family, fresh, report)
	differences = append(differences, packets...)
	for _, d := range differences {
		d.family, d.step = family, h.step
	}
	return differences, err
}

// packets compares what becomes of packets. Where several services claim an address, chance decides in kube-proxy.
func (h *handedOver) packets(family v1.IPFamily, fresh peers.Peer, report *Report) ([]*Difference, error) {
	var sides [2]side
	for i, peer := range []peers.Peer{h.started, fresh} {
		var err error
		if sides[i], err = newSide(peer); err != nil {
			return nil, err
		}
		if err := setSysctls(sides[i].host, peer); err != nil {
			return nil, err
		}
	}
	count, differences := comparePackets(sides[0].host, sides[1].host, h.objects, family, mostPackets)
	report.Packets += count
	return slices.DeleteFunc(differences, func(d *Difference) bool {
		return h.back && (d.contested || h.settings.Mode == cases.NFTables && returnsOtherwise(d, sides))
	}), nil
}

// written are the rules that a peer's kernel holds, without empty chains of the kernel's own, whose tables something has looked into.
func written(mode cases.Mode, peer peers.Peer, family v1.IPFamily) map[string][]rule {
	chains := rulesOfPeer(mode, peer, family, false)
	if mode == cases.NFTables {
		return chains
	}
	maps.DeleteFunc(chains, func(name string, rules []rule) bool { return len(rules) == 0 && !isOwn(name) })
	return chains
}

// ownChains are the chains of a peer's kernel that proxiers make, as "table chain", sorted; in mode nftables sets and maps as well, as "map
// name".
func ownChains(mode cases.Mode, peer peers.Peer, family v1.IPFamily) []string {
	names := slices.Sorted(maps.Keys(written(mode, peer, family)))
	return slices.DeleteFunc(names, func(name string) bool { return mode != cases.NFTables && !isOwn(name) })
}

func isOwn(name string) bool {
	_, chain, _ := strings.Cut(name, " ")
	return provenance.WriterOf(chain).IsKubernetes()
}
