package forall

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
)

// Fates that are worked out beside others whose host differs in a few rules are those of the other host, but for the packets that may meet
// one of these rules on either host: they are told by the destinations and ports that rules ask for on the way there. This works for rules
// of iptables that packets meet before NAT has translated their destination, as those of services are, and for rules and elements of
// nftables. Otherwise all is worked out.

// touched is packets that may meet a rule that is not the same on both hosts.
type touched struct {
	dst   diagram.Set // nil: any
	ports diagram.Set // nil: any
}

// mostTouched is up to how many rules that are not the same are told apart.
const mostTouched = 64

// within are those of some packets that a rule may match.
func (c *changes) within(t touched, r *xtables.Rule) touched {
	if set, known := addrSet(r.Dst); known && r.Dst != nil {
		if r.Dst.Invert {
			set = set.Not(c.s.Limit(vDst))
		}
		t.dst = narrowed(t.dst, set)
	}
	for _, m := range r.Matches {
		if set, known := c.typesOf(c.t, m); known {
			t.dst = narrowed(t.dst, set)
		}
	}
	if set := destinationPorts(r); set != nil {
		t.ports = narrowed(t.ports, set)
	}
	return t
}

// narrowed is what is in both sets, of which nil is everything.
func narrowed(a, b diagram.Set) diagram.Set {
	if a == nil {
		return slices.Clip(append(diagram.Set{}, b...))
	}
	return append(diagram.Set{}, a.And(b)...)
}

// destinationPorts are the destination ports that a rule may match; nil: it may match any.
func destinationPorts(r *xtables.Rule) diagram.Set {
	for _, m := range r.Matches {
		switch m := m.(type) {
		case *match.TCP:
			if m.DstPorts != anyPort && !m.InvDst {
				return ports(m.DstPorts)
			}
		case *match.UDP:
			if m.DstPorts != anyPort && !m.InvDst {
				return ports(m.DstPorts)
			}
		case *match.SCTP:
			if m.DstPorts != anyPort && !m.InvDst {
				return ports(m.DstPorts)
			}
		}
	}
	return nil
}

// changes are what is not the same in two tables.
type changes struct {
	places
	t       *packetsim.Terrain // of both
	found   []touched
	tooMany bool

	w         *world
	class     Class
	iptTables map[[2]*ruleset.Table]*iptPair
	tables    map[[2]*nftables.Table]*tablePair
	moves     moves
	b         *builder // reads rules of nftables
}

// changesOf are the packets that may meet rules which are not the same in two terrains. It is false if that is not known.
func changesOf(w *world, old, now *packetsim.Terrain, class Class) ([]touched, bool) {
	if !old.Alike(now) {
		return nil, false
	}
	c := changes{places: places{s: w.store, six: w.six, typed: map[string]diagram.Set{}}, t: now, w: w, class: class}
	c.terrain = cutsOf(now)
	w.memory.trim()
	if !c.hooks(old, now, true) || !c.moved(old, now) || !c.hooks(old, now, false) {
		return nil, false
	}
	return c.found, true
}

// moved makes ready for what translates to the destinations for which something is not the same behind a translation. It is false if these
// are not known.
func (c *changes) moved(old, now *packetsim.Terrain) bool {
	var to []diagram.Interval
	for i := range c.found {
		if c.found[i].ports = nil; c.found[i].dst == nil { // the port may be another one there, too
			return false
		}
		to = append(to, c.found[i].dst...)
	}
	if len(to) == 0 || c.class != New {
		return true
	}
	c.moves.to = diagram.SetOf(to...)
	for _, p := range c.tables {
		p.touch()
	}
	for _, t := range []*packetsim.Terrain{old, now} {
		for at := range netfilter.NumHooks {
			if slices.ContainsFunc(t.Entries(netfilter.Hook(at)), func(e packetsim.HookEntry) bool { return c.movesByIPT(&e) }) {
				return false
			}
		}
	}
	return true
}

// hooks adds what is not the same in the chains that packets may meet behind a translation of their destination, or in the others. It is
// false if that is not known.
func (c *changes) hooks(old, now *packetsim.Terrain, late bool) bool {
	for at := range netfilter.NumHooks {
		hook, early := netfilter.Hook(at), true
		a, b := old.Entries(hook), now.Entries(hook)
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i].Kind != b[i].Kind || a[i].Side != b[i].Side || len(a[i].Chains) != len(b[i].Chains) {
				return false
			}
			if a[i].Kind == packetsim.EntryNAT {
				if c.class != New {
					continue
				}
				early = false
			}
			if isBehind(hook, a[i].Kind, early) != late {
				continue
			}
			for k := range a[i].Chains {
				before := len(c.found)
				known := c.at(&a[i].Chains[k], &b[i].Chains[k]) && !c.tooMany
				if !known || late && a[i].Chains[k].Chain != nil && len(c.found) > before {
					return false
				}
			}
		}
	}
	return true
}

// at adds those of a base chain. It is false if it is not known what is not the same.
func (c *changes) at(a, b *packetsim.HookChain) bool {
	switch {
	case a.Reroutes != b.Reroutes || (a.Chain == nil) != (b.Chain == nil):
		return false
	case a.Chain == nil:
		return c.atNFT(a, b)
	case a.Table.ID() == b.Table.ID():
		return true
	case a.Chain.Policy != b.Chain.Policy || a.Chain.Name != b.Chain.Name || a.Table.Name() != b.Table.Name() ||
		a.Rules.Family() != b.Rules.Family() || a.Rules.Dialect() != b.Rules.Dialect():
		return false
	}
	c.iptPairOf(a, b).chain(a.Chain, b.Chain, touched{}, 0)
	return true
}

// add notes packets.
func (c *changes) add(t touched) {
	if t.dst != nil && len(t.dst) == 0 || t.ports != nil && len(t.ports) == 0 {
		return
	}
	if c.tooMany = c.tooMany || len(c.found) >= mostTouched; !c.tooMany {
		c.found = append(c.found, t)
	}
}
