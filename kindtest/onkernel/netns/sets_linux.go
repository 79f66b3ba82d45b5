package netns

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// nativeSet is a set of kube-proxy's table of nftables to which packets add their sources: the memory of affinity.
type nativeSet struct {
	life    time.Duration // of an element
	clients map[netip.Addr]bool
}

// stuck is an element of such a set.
type stuck struct {
	set    string
	client netip.Addr
}

// remember reads the sets to which packets add.
func (t *nativeTable) remember(from *nftables.Table, now time.Time) {
	for _, set := range from.Sets() {
		if set.Flags&nftables.SetEval == 0 {
			continue
		}
		one := &nativeSet{life: set.Timeout, clients: map[netip.Addr]bool{}}
		for _, e := range set.Elements(now) {
			if client, is := netip.AddrFromSlice(e.Key); is {
				one.clients[client] = true
			}
		}
		t.sets[set.Name] = one
	}
}

// set is the set that an element is in, as the rules were read; nil if there is none.
func (b *ruleBook) set(e stuck) *nativeSet {
	b.load()
	if table := b.proxyTable(e.client.Is6()); table != nil {
		return table.sets[e.set]
	}
	return nil
}

// sticks are the elements that packets that were seen added, or whose life they began anew. Those of kube-proxy are their sources.
func (w *watch) sticks() map[stuck]bool {
	var out map[stuck]bool
	for i := range w.seen {
		s := &w.seen[i]
		if s.step.Family == "" {
			continue
		}
		for m := range memories(s.step.Rule, netfilter.Set) {
			if m.Writes {
				if out == nil {
					out = map[stuck]bool{}
				}
				out[stuck{m.Name, s.Src}] = true
			}
		}
	}
	return out
}

// keepSets remembers what the packets that were seen did to affinity sets.
func (n *nodeHost) keepSets(now time.Time) {
	for e := range n.watch.sticks() {
		if set := n.watch.rules.set(e); set != nil {
			n.memory.sticks[e] = now.Add(set.life)
		}
	}
}

// restoreSets takes from the affinity sets what is not kept. A kept element that was used since does not live longer for it: its end is
// known from keepSets.
func (n *nodeHost) restoreSets() error {
	for e := range n.watch.sticks() {
		if _, kept := n.memory.sticks[e]; kept {
			continue
		}
		if err := n.removeElement(e); err != nil {
			return err
		}
	}
	return nil
}

// forgetSets forgets the kept elements that went with their sets: the rules have changed.
func (n *nodeHost) forgetSets() {
	for e := range n.memory.sticks {
		if set := n.watch.rules.set(e); set == nil || !set.clients[e.client] {
			delete(n.memory.sticks, e)
		}
	}
}

// ageSets takes from the affinity sets the kept elements whose life is over. The kernel's own times cannot be set.
func (n *nodeHost) ageSets(now time.Time) error {
	for e, end := range n.memory.sticks {
		if now.Before(end) {
			continue
		}
		if err := n.removeElement(e); err != nil {
			return err
		}
		delete(n.memory.sticks, e)
	}
	return nil
}

// removeElement takes an element from its set, if both are there.
func (n *nodeHost) removeElement(e stuck) error {
	family := scenarios.FamilyIPv4
	if e.client.Is6() {
		family = scenarios.FamilyIPv6
	}
	line := fmt.Sprintf("delete element %s %s %s { %s }\n", tools.NFTFamily(family), tools.NFTTable, e.set, e.client)
	_, err := tools.Run(n.exec, line, "nft", "-f", "-")
	if err != nil && !strings.Contains(err.Error(), "No such file or directory") {
		return fmt.Errorf("%s: affinity sets: %w", n.Name, err)
	}
	return nil
}
