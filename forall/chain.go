package forall

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
)

// chain is a chain of either language, with what the builder knows of it.
type chain struct {
	name  string
	drops bool // the policy of a base chain
	rules []rule
	reads reads // with those of the chains that it leads to
	asks  []asked
	alike classes         // of destinations by asks, if these are many
	as    *chain          // a chain that asks for the same; nil: the chain itself
	goals []diagram.Value // what rules of iptables translate destinations to
	// partly says that rules were left out that match none of the packets that the builder works out. numbers are those of the rules that
	// were read; nil: all were.
	partly  bool
	numbers []int32

	table    *ruleset.Table
	family   netfilter.Family
	dialect  netfilter.Dialect
	nftTable *nftables.Table
	nftChain *nftables.Chain
	lookedAt bool
	// lookedAtLate says that it was looked at as one that packets meet behind a translation.
	lookedAtLate bool
	bySlice      map[int32][]int32 // of a long chain: rules by the slices of their destinations
	rest         []int32           // and the rules that are in no slice
}

// rule is a rule of either language.
type rule interface {
	// destinations returns the destinations that the rule may match; nil: any.
	destinations() diagram.Set
	// run is what the rule does in a state: atoms of states, and ends.
	run(b *builder, c *chain, number int, st state) diagram.ID
	// leadsTo are the names of the chains that it may lead to.
	leadsTo() []string
}

// reads says what of a state a chain looks at or changes, beside what is in every key.
type reads uint8

const (
	readsHook    reads = 1 << iota // which hook it is
	readsDevices                   // how the packet came, and by which device it leaves
	readsWay
	readsView
	marks      // looks at the mark or changes it
	translates // the destination
)

// longChain is from how many rules on a chain has an index.
const longChain = 16

// fewAsks is up to how many destinations that a chain asks for are asked for one by one.
const fewAsks = 32

// sumKey is a chain and the state in which it is entered, without what it does not look at.
type sumKey struct {
	c  *chain
	st state
}

// deepest is how many chains may be entered one in another.
const deepest = 512

// leaving is what states behind a chain become: of which kind those are of accepted packets, and of which the others, if these are not
// dropped.
type leaving struct {
	accepted, others kind
	drops            bool
}

// chain is what a chain does in a state. Its atoms are states behind it.
func (b *builder) chain(c *chain, st state, as leaving) diagram.ID {
	if b.depth++; b.depth > deepest {
		b.depth--
		return b.unmodelled("rules that loop")
	}
	defer func() { b.depth-- }()
	plain := b.plainFor(c, st)
	made := recall(&b.names, &b.sums, sumKey{c, plain}, plain.isHere(), func() diagram.ID {
		return b.inTurn(c, b.candidates(c, plain), plain)
	})
	if plain == st && as == (leaving{accepted: accepted, others: fell}) && !b.returns(made) {
		return made
	}
	dropped := b.w.fate(droppedFate)
	return b.s.Rename(made, func(a diagram.Atom) diagram.Atom {
		if a < 0 {
			return a
		}
		k, after := b.stateOf(a)
		switch {
		case k == accepted:
			k = as.accepted
		case as.drops:
			return dropped
		default:
			k = as.others
		}
		b.restore(c, &st, &plain, &after)
		return b.atom(k, after)
	})
}

// returns says whether packets leave a chain by RETURN or the like, and not at its end only.
func (o *outcomes) returns(made diagram.ID) bool {
	return slices.ContainsFunc(o.s.Open(made), func(a diagram.Atom) bool { return kind(a%kinds) == returned })
}

// restore gives a state behind a chain back what was taken out of it before.
func (o *outcomes) restore(c *chain, st, plain, after *state) {
	after.at, after.sub, after.back, after.orig = st.at, st.sub, st.back, st.orig
	if c.reads&readsHook == 0 {
		after.hook = st.hook
	}
	if c.reads&readsDevices == 0 {
		after.origin, after.out = st.origin, st.out
	}
	if c.reads&readsWay == 0 {
		after.way, after.routed = st.way, st.routed
	}
	if c.reads&marks == 0 {
		after.mark = st.mark
	}
	if after.to == plain.to || after.to < someTarget && !o.names.targetOf(after.to).addr.IsValid() {
		after.view = st.view
	}
}

// plainFor is the state without what a chain does not look at.
func (p *places) plainFor(c *chain, st state) state {
	st.at, st.sub, st.back = 0, 0, 0
	if c.reads&readsHook == 0 {
		st.hook = 0
	}
	if c.reads&readsDevices == 0 {
		st.origin, st.out = 0, 0
	}
	if c.reads&readsWay == 0 {
		st.way, st.routed = 0, false
	}
	if c.reads&marks == 0 {
		st.mark = 0
	}
	if c.reads&translates != 0 && p.goalViews[p.numberOf(st.view)] {
		return st // whether it is moved depends on the view
	}
	if c.reads&readsView == 0 && len(c.asks) == 0 {
		st.view, st.orig = anyView, 0
	} else if st.orig == 0 {
		st.view = p.likeFor(c, st.view)
	}
	return st
}

// likeKey is a chain and which of the destinations that it asks for have a view: a bit for each, or the class.
type likeKey struct {
	c    *chain
	have uint64
	more int32 // the part of the terrain, if the chain asks for it
}

// likeFor is the first view that was met of those that a chain cannot tell apart.
func (p *places) likeFor(c *chain, v int32) int32 {
	key := likeKey{c: c}
	if len(c.asks) > fewAsks {
		as := cmp.Or(c.as, c)
		if as.alike.first == nil {
			as.alike = classify(as.asks, []diagram.Value{{}}, p.s.Limit(vDst))
		}
		key.have = uint64(as.alike.of(p.views[v].value))
	} else {
		for i, ask := range c.asks {
			if ask.Has(p.views[v].value) {
				key.have |= 1 << i
			}
		}
	}
	if c.reads&readsView != 0 {
		key.more = p.views[v].place
	}
	known := p.like[key]
	if known == 0 {
		known = p.numberOf(v)
		p.like[key] = known
	}
	if v == hereView && known == p.here {
		return v
	}
	return known
}

// candidates are the rules of a chain that a packet may match to the destination of a view.
func (p *places) candidates(c *chain, st state) []int32 {
	all := p.candidatesTo(c, st)
	byPort := p.only.ports != nil && st.port == asIs
	if !byPort && !c.partly {
		return all
	}
	p.sight.strayed = p.sight.strayed || c.partly && p.only.ports != nil && !byPort // rules were left out by their ports
	return slices.DeleteFunc(all, func(i int32) bool {
		r := c.rules[i]
		return c.partly && !p.only.meets(r) || byPort && !p.only.portsMeet(r)
	})
}

func (p *places) candidatesTo(c *chain, st state) []int32 {
	var out []int32
	if st.view == anyView {
		for i := range c.rules {
			out = append(out, int32(i))
		}
		return out
	}
	view := &p.views[st.view]
	if len(c.rules) < longChain {
		for i, r := range c.rules {
			if dst := r.destinations(); dst == nil || dst.Has(view.value) {
				out = append(out, int32(i))
			}
		}
		return out
	}
	p.index(c)
	out = slices.Clone(c.bySlice[view.slice])
	for _, i := range c.rest {
		if dst := c.rules[i].destinations(); dst == nil || dst.Has(view.value) {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fewSlices is up to how many slices a rule stands in the index by these.
const fewSlices = 64

// index makes the index of a chain.
func (p *places) index(c *chain) {
	if c.bySlice != nil {
		return
	}
	c.bySlice = map[int32][]int32{}
	for i, r := range c.rules {
		dst := r.destinations()
		var in []int32
		few := dst != nil
		for _, iv := range dst {
			for at := p.sliceOf(iv.First); few && at < len(p.slices) && !iv.Last.Less(p.slices[at].First); at++ {
				in = append(in, int32(at))
				few = len(in) <= fewSlices
			}
		}
		if !few {
			c.rest = append(c.rest, int32(i))
			continue
		}
		for _, at := range in {
			c.bySlice[at] = append(c.bySlice[at], int32(i))
		}
	}
}

// inTurn is rules in turn. They are joined half by half, so that n rules cost n log n.
func (b *builder) inTurn(c *chain, rules []int32, st state) diagram.ID {
	switch len(rules) {
	case 0:
		return b.is(fell, st)
	case 1:
		return c.rules[rules[0]].run(b, c, c.numberOf(int(rules[0])), st)
	}
	half := len(rules) / 2
	return b.s.Replace(b.inTurn(c, rules[:half], st), func(a diagram.Atom) diagram.ID {
		if k, after := b.stateOf(a); k == fell {
			return b.inTurn(c, rules[half:], after)
		}
		return b.s.One(a)
	})
}

// jump is what a chain does that a rule leads to. Behind it the rules of the first chain go on, or with goto do not.
func (b *builder) jump(c *chain, name string, isGoto bool, st state) diagram.ID {
	return jumpInto(b, b.jumpTo(c, name), name, isGoto, st)
}

// jumpInto is jump to a chain that was looked up; nil: it is not there.
func jumpInto(b *builder, to *chain, name string, isGoto bool, st state) diagram.ID {
	if to == nil {
		return b.unmodelled(fmt.Sprintf("chain %s, which is not there", name))
	}
	behind := fell
	if isGoto {
		behind = returned
	}
	return b.chain(to, st, leaving{accepted: accepted, others: behind})
}

// fewGoals is up to how many targets of translations are told from the other destinations, so that a packet that is for one already is
// known to
// stay as it is.
const fewGoals = 256

// scan looks at all chains that packets can come to, and cuts the destinations by what they ask for.
func (b *builder) scan() {
	scanHooks(b, true)
	scanHooks(b, false)
	if len(b.goals) <= fewGoals {
		b.wanted = alone(b.wanted, b.goals...)
	}
	b.cutPlaces()
}

// scanHooks scans the base chains that packets meet behind the translation of their destination, or the others.
func scanHooks(b *builder, behind bool) {
	b.sight.early, b.whole = !behind, behind
	for at := range b.entries {
		hook, early := netfilter.Hook(at), true
		for _, e := range b.entries[at] {
			if e.Kind == packetsim.EntryNAT {
				if b.class != New {
					continue // its chains decide of new connections only
				}
				early = false
			}
			is := isBehind(hook, e.Kind, early) || b.ends == asReplies && e.Kind != packetsim.EntryNAT
			if is != behind {
				continue
			}
			for i := range e.Chains {
				b.scanFrom(&e.Chains[i], behind)
			}
		}
	}
}

// isBehind says whether packets may meet an entry of a hook with another destination than that with which they came. early says that
// no NAT comes before it at the hook.
func isBehind(hook netfilter.Hook, kind packetsim.HookEntryKind, early bool) bool {
	if kind == packetsim.EntryNAT {
		return hook == netfilter.Input || hook == netfilter.PostRouting
	}
	return !early || hook != netfilter.Output // PREROUTING is passed by packets of the host again, behind the translation
}

func (b *builder) scanFrom(h *packetsim.HookChain, behind bool) {
	b.scanChain(b.baseOf(h), behind)
}

// scanChain adds what a chain asks for, and notes it with the chain.
func (b *builder) scanChain(c *chain, behind bool) {
	if c.lookedAt && (!behind || c.lookedAtLate) {
		return
	}
	first := !c.lookedAt
	c.lookedAt = true
	c.lookedAtLate = c.lookedAtLate || behind
	b.leftOut = b.leftOut || c.partly
	for _, r := range c.rules {
		if !behind && !(b.only.meets(r) && b.only.portsMeet(r)) {
			c.partly, b.leftOut = true, true
			continue
		}
		asks, read := b.asksOf(c, r)
		if !behind && b.sight.known != nil && !b.only.meets(r) {
			c.partly = true
			continue
		}
		if behind {
			b.late = append(b.late, asks...)
		}
		if first {
			b.wanted = append(b.wanted, asks...)
			c.reads |= read
			c.ask(asks)
		}
		for _, name := range r.leadsTo() {
			if to := b.ledTo(c, r, name); to != nil {
				b.scanChain(to, behind)
				c.reads |= to.reads
				c.askAs(to)
			}
		}
	}
}

// numberOf is the number in the chain of one of the rules that were read.
func (c *chain) numberOf(rule int) int {
	if c.numbers == nil {
		return rule
	}
	return int(c.numbers[rule])
}

// askAs adds the destinations that a chain asks for to which the chain leads.
func (c *chain) askAs(to *chain) {
	if len(c.asks) == 0 && len(to.asks) > fewAsks {
		c.asks, c.as = slices.Clip(to.asks), cmp.Or(to.as, to)
		return
	}
	c.ask(to.asks)
}

// ask adds destinations that the chain asks for.
func (c *chain) ask(more []asked) {
	if len(more) > 0 {
		c.as = nil
	}
	for _, i := range more {
		if len(c.asks) > fewAsks || !slices.Contains(c.asks, i) {
			c.asks = append(c.asks, i)
		}
	}
}

// asksOf is the destinations that a rule asks for, and what else it reads.
func (b *builder) asksOf(c *chain, r rule) ([]asked, reads) {
	switch r := r.(type) {
	case *iptRule:
		return b.iptAsks(c, r)
	case *nftRule:
		return b.nftAsks(c, r)
	}
	return nil, 0
}
