package forall

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// Rules of nftables lead to chains by the elements of maps, and packets meet sets of endpoints behind the translation of their destination.
// A packet may meet an element of such a set if it has that destination already, or if a rule translates it to it.

// tablePair is a table as it is on two hosts.
type tablePair struct {
	c        *changes
	old, now *nftables.Table
	sets     map[string]*setPair
	// chains and named are the names of the chains, and of the sets that have names, which are not the same in both.
	chains, named []string
	ways          *nftWays
	// touched are the chains and sets that are not the same in both, or that translate to what packets are asked for, and all that lead to
	// such a one.
	touched map[spot]bool
}

// setPair is a set as it is in both tables. It is not comparable if more than elements differs.
type setPair struct {
	comparable bool
	differing  []*nftables.Element // those that only one has, and both that have one key and do not do the same
}

// pairOf is a table of both hosts.
func (c *changes) pairOf(old, now *nftables.Table) *tablePair {
	key := [2]*nftables.Table{old, now}
	if c.tables[key] == nil {
		if c.tables == nil {
			c.tables = map[[2]*nftables.Table]*tablePair{}
		}
		p := &tablePair{c: c, old: old, now: now, sets: map[string]*setPair{}}
		p.chains, p.named = p.changed()
		p.touch()
		c.tables[key] = p
	}
	return c.tables[key]
}

// atNFT adds the packets that may meet something of a base chain that is not the same. It is false if it is not known what.
func (c *changes) atNFT(a, b *packetsim.HookChain) bool {
	if a.NFTTable.Family != b.NFTTable.Family || a.NFTTable.Name != b.NFTTable.Name || a.NFTTable.Flags != b.NFTTable.Flags ||
		a.NFTChain.Name != b.NFTChain.Name || !reflect.DeepEqual(a.NFTChain.Policy, b.NFTChain.Policy) ||
		!reflect.DeepEqual(a.NFTChain.Hooking, b.NFTChain.Hooking) {
		return false
	}
	c.pairOf(a.NFTTable, b.NFTTable).chain(a.NFTChain, b.NFTChain, touched{}, 0)
	return true
}

// set is a set of the tables; nil: one of them does not have it.
func (p *tablePair) set(name string) *setPair {
	if known, is := p.sets[name]; is {
		return known
	}
	var made *setPair
	if a, b := p.old.Set(name), p.now.Set(name); a != nil && b != nil {
		made = compareSets(a, b)
	}
	p.sets[name] = made
	return made
}

// compareSets finds the elements by which two sets differ.
func compareSets(a, b *nftables.Set) *setPair {
	if a.Flags != b.Flags || a.KeyLen != b.KeyLen || a.DataLen != b.DataLen || !slices.Equal(a.FieldLens, b.FieldLens) ||
		!reflect.DeepEqual(a.Exprs, b.Exprs) {
		return &setPair{}
	}
	if a == b || setChanges(a) { // what packets change are conditions with names
		return &setPair{comparable: true}
	}
	made := &setPair{comparable: true}
	a.Differing(b, func(x, y *nftables.Element) {
		if sameElement(x, y) {
			return
		}
		for _, e := range []*nftables.Element{x, y} {
			if e != nil {
				made.differing = append(made.differing, e)
				made.comparable = made.comparable && len(e.Exprs) == 0 && e.Flags == 0
			}
		}
	})
	made.comparable = made.comparable && (len(made.differing) == 0 || a.Flags&nftables.SetInterval == 0)
	return made
}

// sameElement says whether two elements do the same.
func sameElement(a, b *nftables.Element) bool {
	return a != nil && b != nil && len(a.Exprs)+len(b.Exprs) == 0 && a.Flags == b.Flags && a.Object == b.Object &&
		bytes.Equal(a.KeyEnd, b.KeyEnd) && reflect.DeepEqual(a.Data, b.Data)
}

// sameRule says whether two rules do the same with all packets, but for the elements of sets that have names, and for chains.
func (p *tablePair) sameRule(a, b *nftables.Rule) bool {
	return a == b && !p.touchesSets(a) || slices.EqualFunc(a.Exprs, b.Exprs, func(x, y expr.Expr) bool {
		l, is := x.(*expr.Lookup)
		m, both := y.(*expr.Lookup)
		if !is || !both {
			return reflect.DeepEqual(x, y)
		}
		if l.Sreg != m.Sreg || l.Dreg != m.Dreg || l.Map != m.Map || l.Invert != m.Invert {
			return false
		}
		s, t := p.old.Set(l.Set), p.now.Set(m.Set)
		switch {
		case s == nil || t == nil:
			return false
		case (s.Flags|t.Flags)&nftables.SetAnonymous != 0:
			pair := compareSets(s, t)
			return pair.comparable && len(pair.differing) == 0
		}
		return l.Set == m.Set && p.set(l.Set).comparable
	})
}

// touchesSets says whether a rule asks for a set that more than elements of differs.
func (p *tablePair) touchesSets(r *nftables.Rule) bool {
	return slices.ContainsFunc(r.Exprs, func(x expr.Expr) bool {
		l, is := x.(*expr.Lookup)
		return is && (p.set(l.Set) == nil || !p.set(l.Set).comparable)
	})
}

// alike says whether a chain is the same in both tables, with those that it leads to, and translates to nothing that packets are asked for.
func (p *tablePair) alike(name string) bool { return !p.touched[spot{chain: name}] }

// leadsAlike says whether a rule has the same elements in both tables, and leads to chains that are alike.
func (p *tablePair) leadsAlike(r *nftables.Rule) bool {
	for _, x := range r.Exprs {
		switch x := x.(type) {
		case *expr.Immediate:
			if v := x.Data.Verdict; v != nil && leads(v) && !p.alike(v.Chain) {
				return false
			}
		case *expr.Lookup:
			set := p.now.Set(x.Set)
			if set.Flags&nftables.SetAnonymous == 0 {
				if p.touched[spot{set: x.Set}] {
					return false
				}
				continue
			}
			for e := range verdicts(set) {
				if leads(e.Data.Verdict) && !p.alike(e.Data.Verdict.Chain) {
					return false
				}
			}
		}
	}
	return true
}

func leads(v *expr.Verdict) bool { return v.Code == expr.Jump || v.Code == expr.Goto }

// verdicts are the elements of a map of verdicts.
func verdicts(set *nftables.Set) func(func(*nftables.Element) bool) {
	return func(yield func(*nftables.Element) bool) {
		if set.Flags&nftables.SetMap == 0 || set.DataType != nftables.DataVerdict {
			return
		}
		for e := range set.Unsorted() {
			if e.Data != nil && e.Data.Verdict != nil && !yield(e) {
				return
			}
		}
	}
}

// chain adds what is not the same in two chains, of packets that come there.
func (p *tablePair) chain(a, b *nftables.Chain, come touched, depth int) {
	c := p.c
	switch {
	case c.tooMany:
		return
	case a == nil || b == nil || depth > deepest:
		if a != b || depth > deepest {
			c.add(come)
		}
		return
	case a.Name == b.Name && p.alike(a.Name):
		return
	}
	for i, j := 0, 0; i < len(a.Rules) || j < len(b.Rules); {
		gone, more := untilAlike(a.Rules[i:], b.Rules[j:], p.sameRule)
		for _, r := range a.Rules[i : i+gone] {
			c.add(c.meets(come, p.old, r))
		}
		for _, r := range b.Rules[j : j+more] {
			c.add(c.meets(come, p.now, r))
		}
		if i, j = i+gone, j+more; i == len(a.Rules) || j == len(b.Rules) {
			continue
		}
		if i != j && saysPlaceNFT(a.Rules[i]) || c.translates(a.Rules[i], p.old) || c.translates(b.Rules[j], p.now) {
			c.add(c.meets(come, p.now, b.Rules[j]))
		} else if !p.leadsAlike(b.Rules[j]) {
			p.within(b.Rules[j], come, depth)
		}
		i, j = i+1, j+1
	}
}

// within adds what is not the same where a rule leads that both chains have, of packets that come to it.
func (p *tablePair) within(r *nftables.Rule, come touched, depth int) {
	c := p.c
	a := c.asking(p.now, r)
	last := lastLeading(r)
	for i, x := range r.Exprs[:last+1] {
		here := a.narrow(come)
		switch x := x.(type) {
		case *expr.Immediate:
			if v := x.Data.Verdict; v != nil && leads(v) {
				p.chain(p.old.Chain(v.Chain), p.now.Chain(v.Chain), here, depth+1)
			}
		case *expr.Lookup:
			set := p.now.Set(x.Set)
			runs := a.run.regs.runs(x.Sreg.Offset(), int(set.KeyLen))
			if set.Flags&nftables.SetAnonymous == 0 {
				for _, e := range p.set(x.Set).differing {
					c.add(ofElement(here, e, runs))
				}
			}
			for e := range p.leading(set) {
				to, v := here, e.Data.Verdict
				if set.Flags&nftables.SetInterval == 0 && e.Flags == 0 {
					to = ofElement(here, e, runs)
				}
				p.chain(p.old.Chain(v.Chain), p.now.Chain(v.Chain), to, depth+1)
			}
		}
		if i == last { // to read a set takes long if it is large
			return
		}
		if a.take(x); a.ended {
			return
		}
	}
}

// lastLeading is the number of the last expression of a rule that may lead somewhere or ask for elements; -1: there is none.
func lastLeading(r *nftables.Rule) int {
	for i := len(r.Exprs) - 1; i >= 0; i-- {
		switch r.Exprs[i].(type) {
		case *expr.Immediate, *expr.Lookup:
			return i
		}
	}
	return -1
}

// asking is a rule that is read up to where it may be met.
func (c *changes) asking(t *nftables.Table, r *nftables.Rule) *nftAsking {
	if c.b == nil {
		c.b = newBuilder(c.w, c.w.newStore(), c.t, c.class, &Options{})
	}
	read := &nftRule{Rule: r, table: t, any: true}
	return &nftAsking{b: c.b, r: read, led: map[string]bool{}, run: nftRun{b: c.b, r: read, st: state{port: asIs}}, filters: true}
}

// meets are those of some packets that a rule may match.
func (c *changes) meets(come touched, t *nftables.Table, r *nftables.Rule) touched {
	a := c.asking(t, r)
	for _, x := range r.Exprs {
		if a.take(x); a.ended {
			break
		}
	}
	return a.narrow(come)
}

// narrow are those of some packets that have a destination which the rule asks for so far.
func (a *nftAsking) narrow(t touched) touched {
	if !a.r.any {
		t.dst = narrowed(t.dst, a.r.dst)
	}
	return t
}

// ofElement are those of some packets that have the destination and the destination port of an element's key.
func ofElement(t touched, e *nftables.Element, runs []run) touched {
	if dst := dstRun(runs); dst != nil && dst.at+dst.n <= len(e.Key) {
		t.dst = narrowed(t.dst, diagram.Set{diagram.Point(numberOf(dst.in(e.Key)))})
	}
	if port, proto := portRuns(runs); hasPort(port, proto, e) {
		t.ports = narrowed(t.ports, diagram.Set{diagram.Point(numberOf(port.in(e.Key)))})
	}
	return t
}

// saysPlaceNFT says whether a rule has conditions whose names say where it stands (cond.namedAt).
func saysPlaceNFT(r *nftables.Rule) bool {
	return slices.ContainsFunc(r.Exprs, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Limit, *expr.Quota, *expr.Connlimit, *expr.Objref, *expr.Dynset:
			return true
		}
		return false
	})
}

// moves are the destinations for which packets are asked behind a translation: what translates to one of them is to be worked out again.
type moves struct {
	to    diagram.Set
	rules map[*nftables.Rule]bool // whether it does
}

// translates says whether a rule translates a destination to one of those that are asked for.
func (c *changes) translates(r *nftables.Rule, t *nftables.Table) bool {
	if len(c.moves.to) == 0 {
		return false
	}
	is, known := c.moves.rules[r]
	if !known {
		if is = c.mayMove(r, t); c.moves.rules == nil {
			c.moves.rules = map[*nftables.Rule]bool{}
		}
		c.moves.rules[r] = is
	}
	return is
}

func (c *changes) mayMove(r *nftables.Rule, t *nftables.Table) bool {
	to, others := targetsOf(r, t, c.six)
	return others || slices.ContainsFunc(to, c.moves.to.Has)
}

// movesByIPT says whether rules of iptables may translate a destination to one of those that are asked for.
func (c *changes) movesByIPT(e *packetsim.HookEntry) bool {
	if e.Kind != packetsim.EntryNAT || e.Side != conntrack.Destination {
		return false
	}
	for i := range e.Chains {
		if e.Chains[i].Chain == nil {
			continue
		}
		for chain := range e.Chains[i].Table.Chains() {
			for _, r := range chain.Rules {
				switch to := r.Target.(type) {
				case *target.DNAT:
					if !to.Range.MinAddr.IsValid() || to.Range.MinAddr != to.Range.MaxAddr || c.moves.to.Has(valueOf(to.Range.MinAddr)) {
						return true
					}
				case *target.Redirect, *target.Netmap:
					return true
				}
			}
		}
	}
	return false
}
