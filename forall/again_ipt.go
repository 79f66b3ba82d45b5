package forall

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// tableWays are the ways of a table of iptables, as it was when it was asked for last.
type tableWays struct {
	ways
	table *ruleset.Table
}

// waysIn are the ways of a table.
func waysIn(t *ruleset.Table) *tableWays {
	w := &tableWays{ways: newWays(t.ChainCount()), table: t}
	for c := range t.Unsorted() {
		w.addChain(c.Name, c.Rules)
	}
	w.atFirst = len(w.notes)
	return w
}

// addChain notes where rules of a chain lead.
func (w *tableWays) addChain(name string, rules []*xtables.Rule) {
	from, last := w.chain(name), ""
	for _, r := range rules {
		if to := leadsTo(r); to != "" && to != last {
			last = to
			w.note(w.chain(to), from)
		}
	}
}

// follow notes the ways of a table in which some chains are not the same.
func (w *tableWays) follow(now *ruleset.Table, changed []string) {
	for _, name := range changed {
		b := now.Chain(name)
		if b == nil {
			continue
		}
		rules := b.Rules
		if a := w.table.Chain(name); a != nil {
			rules = moreOf(a.Rules, rules)
		}
		w.addChain(name, rules)
	}
	w.table = now
}

// moreOf are the rules of a list without those at its beginning and its end that lead where those of another one do.
func moreOf(a, b []*xtables.Rule) []*xtables.Rule {
	for len(a) > 0 && len(b) > 0 && leadsTo(a[0]) == leadsTo(b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && leadsTo(a[len(a)-1]) == leadsTo(b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return b
}

// leadsTo is the chain to which a rule leads; empty: to none.
func leadsTo(r *xtables.Rule) string {
	if jump, is := r.Target.(*xtables.Jump); is {
		return jump.Chain
	}
	return ""
}

// iptName is what a table of iptables is called.
type iptName struct {
	dialect netfilter.Dialect
	name    string
}

// touchedIn are the chains that are not the same in two tables, and those that lead to such a one.
func (m *memory) touchedIn(name iptName, old, now *ruleset.Table) map[spot]bool {
	changed := changedChains(old, now)
	known := m.tables[name]
	switch {
	case known == nil || known.stale():
		known = waysIn(now)
		if m.tables == nil {
			m.tables = map[iptName]*tableWays{}
		}
		m.tables[name] = known
	case known.table == old:
		known.follow(now, changed)
	case known.table != now:
		known.follow(now, changedChains(known.table, now))
	}
	ids := make([]int32, len(changed))
	for i, name := range changed {
		ids[i] = known.chain(name)
	}
	return known.to(ids)
}

// changedChains are the names of the chains that do not have the same rules in two tables, or that only one of them has.
func changedChains(old, now *ruleset.Table) (names []string) {
	for _, name := range now.Differing(old) {
		a, b := old.Chain(name), now.Chain(name)
		if a == nil || b == nil || !slices.EqualFunc(a.Rules, b.Rules, sameRule) {
			names = append(names, name)
		}
	}
	return names
}

// iptPair is a table of iptables as it is on two hosts.
type iptPair struct {
	c        *changes
	old, now *ruleset.Table
	touched  map[spot]bool // chains that are not the same in both, and those that lead to such a one
	steps    map[[2]*ruleset.Chain][]step
}

// iptPairOf is a table of both hosts, by a base chain.
func (c *changes) iptPairOf(a, b *packetsim.HookChain) *iptPair {
	key := [2]*ruleset.Table{a.Table, b.Table}
	if c.iptTables[key] == nil {
		if c.iptTables == nil {
			c.iptTables = map[[2]*ruleset.Table]*iptPair{}
		}
		c.iptTables[key] = &iptPair{c: c, old: a.Table, now: b.Table, steps: map[[2]*ruleset.Chain][]step{},
			touched: c.w.memory.touchedIn(iptName{b.Rules.Dialect(), b.Table.Name()}, a.Table, b.Table)}
	}
	return c.iptTables[key]
}

// step is a rule of a chain that not both tables have, or that leads to a chain which is not the same in both.
type step struct {
	rule *xtables.Rule
	to   string // that chain; empty: it is the rule itself
}

// stepsOf are the steps of a chain of both tables.
func (p *iptPair) stepsOf(a, b *ruleset.Chain) []step {
	key := [2]*ruleset.Chain{a, b}
	steps, known := p.steps[key]
	if known {
		return steps
	}
	for i, j := 0, 0; i < len(a.Rules) || j < len(b.Rules); {
		if a != b {
			gone, more := untilAlike(a.Rules[i:], b.Rules[j:], sameRule)
			for _, r := range slices.Concat(a.Rules[i:i+gone], b.Rules[j:j+more]) {
				steps = append(steps, step{rule: r})
			}
			if i, j = i+gone, j+more; i == len(a.Rules) || j == len(b.Rules) {
				continue
			}
		}
		r := a.Rules[i]
		if i != j && saysPlace(r) {
			steps = append(steps, step{rule: r})
		}
		if to := leadsTo(r); to != "" && p.touched[spot{chain: to}] {
			steps = append(steps, step{r, to})
		}
		i, j = i+1, j+1
	}
	p.steps[key] = steps
	return steps
}

// chain adds what is not the same in two chains, of packets that come there.
func (p *iptPair) chain(a, b *ruleset.Chain, come touched, depth int) {
	switch {
	case p.c.tooMany || a == nil && b == nil:
		return
	case a == nil || b == nil || depth > deepest:
		p.c.add(come)
		return
	case !p.touched[spot{chain: b.Name}]:
		return
	}
	for _, s := range p.stepsOf(a, b) {
		if there := p.c.within(come, s.rule); s.to == "" {
			p.c.add(there)
		} else {
			p.chain(p.old.Chain(s.to), p.now.Chain(s.to), there, depth+1)
		}
	}
}

// farthest is how far apart the rules may be in two chains that are the same.
const farthest = 64

// untilAlike is how many rules two lists begin with that are not in the other one.
func untilAlike[R any](a, b []R, alike func(R, R) bool) (gone, more int) {
	for far := 0; far <= farthest; far++ {
		for gone := range far + 1 {
			if more := far - gone; gone < len(a) && more < len(b) && alike(a[gone], b[more]) {
				return gone, more
			}
		}
	}
	return len(a), len(b)
}

// typesOf is the destinations that a match of types of addresses may match. It is false for another match, and if it asks for more.
func (p *places) typesOf(t *packetsim.Terrain, m xtables.Match) (diagram.Set, bool) {
	of, is := m.(*match.Addrtype)
	if !is || of.DstTypes == 0 || of.InvDst || of.LimitIfaceIn || of.LimitIfaceOut {
		return nil, false
	}
	return p.where(string(rune(of.DstTypes)), func(v diagram.Value) bool { return t.HasType(addrOf(v, p.six), "", of.DstTypes) }), true
}
