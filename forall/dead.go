package forall

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
)

// DeadReason is why no packet matches a rule.
type DeadReason string

// The reasons.
const (
	// Covered rules stand behind others of their chain that take all packets that they would match.
	Covered DeadReason = "covered"
	// Unreached rules are in a chain that no packet comes to.
	Unreached DeadReason = "unreached"
	// Elsewhere are rules of which each packet that they would match is none of those that come to their chain.
	Elsewhere DeadReason = "elsewhere"
	// Contradictory rules have conditions that never hold together.
	Contradictory DeadReason = "contradictory"
)

// DeadRule is a rule that no packet matches.
type DeadRule struct {
	// Family is that of the table; 0 is both, as of a table inet.
	Family netfilter.Family `json:"family,omitempty"`
	// Dialect is the tools of a rule of iptables; it is empty for a rule of nftables.
	Dialect netfilter.Dialect `json:"dialect,omitempty"`
	// Table is the table's name, of nftables with its family: "ip kube-proxy".
	Table string `json:"table"`
	Chain string `json:"chain"`
	// Number is the rule's in its chain, from 1 on. Handle is that of a rule of nftables.
	Number int        `json:"number"`
	Handle uint64     `json:"handle,omitempty"`
	Text   string     `json:"text"`
	Why    DeadReason `json:"why"`
	// CoveredBy are the numbers of rules of the chain that take, together, all packets that the rule would match.
	CoveredBy []int `json:"coveredBy,omitempty"`
	// LedBy are the rules that lead to the chain of a rule that is dead because of what comes there, as "CHAIN rule N".
	LedBy []string `json:"ledBy,omitempty"`
}

// DeadRules are the rules of a host that no packet matches.
type DeadRules struct {
	Rules []DeadRule
	// NotJudged are tables of which nothing is said, each with the reason.
	NotJudged []string
}

// Dead finds the rules of iptables and nftables on the host that no packet matches, in whatever state its connection is. Rules are compared
// by addresses, protocols and ports, and chains by the packets that rules lead to them. No rule is called dead that some packet matches,
// while a rule that only a mark, a device or the state of a connection makes useless is not found.
func Dead(h *packetsim.Host) (*DeadRules, error) {
	out := &DeadRules{}
	if h.Netfilter() == nil {
		return out, nil
	}
	builders := map[netfilter.Family]*builder{}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		t, err := h.Terrain(family)
		if err != nil {
			return nil, err
		}
		w := newWorld(family == netfilter.IPv6, nil)
		b := newBuilder(w, w.store, t, New, &Options{Chance: Exact})
		builders[family] = b
		for _, kernel := range fakeipt.Kernels(h.Netfilter()) {
			rules := kernel.Ruleset(family)
			for _, table := range rules.Tables() {
				out.add(iptDeadTable(b, rules, table))
			}
		}
	}
	if kernel := nftables.In(h.Netfilter()); kernel != nil {
		for _, table := range kernel.State().Tables() {
			out.add(nftDeadTables(builders, kernel.Speller(), table)...)
		}
	}
	return out, nil
}

// add judges tables that have the same rules, each for one family: dead is what is dead in all.
func (d *DeadRules) add(tables ...*deadTable) {
	var dead []DeadRule
	for i, t := range tables {
		if t.notJudged != "" {
			d.NotJudged = append(d.NotJudged, t.notJudged)
			return
		}
		found := t.find()
		if i == 0 {
			dead = found
			continue
		}
		both := dead[:0]
		for k := range dead {
			at := slices.IndexFunc(found, func(r DeadRule) bool { return r.Chain == dead[k].Chain && r.Number == dead[k].Number })
			if at >= 0 {
				both = append(both, dead[k].and(&found[at]))
			}
		}
		dead = both
	}
	d.Rules = append(d.Rules, dead...)
}

// and is a rule that is dead for two families, for the reason that says more.
func (r DeadRule) and(other *DeadRule) DeadRule {
	r.Family = 0
	if r.Why != Covered && other.Why == Covered {
		r.Why, r.LedBy = other.Why, other.LedBy
	}
	r.CoveredBy = append(slices.Clone(r.CoveredBy), other.CoveredBy...)
	slices.Sort(r.CoveredBy)
	r.CoveredBy = slices.Compact(r.CoveredBy)
	return r
}

// deadTable is a table for packets of a family, as far as addresses, protocols and ports go.
type deadTable struct {
	b         *builder
	like      DeadRule // what its rules have in common
	chains    []*deadChain
	byName    map[string]*deadChain
	notJudged string
	found     []DeadRule
}

// deadChain is a chain, and what is known of the packets that come to it.
type deadChain struct {
	name  string
	base  bool
	rules []boundedRule

	entry   diagram.ID // the packets that may come to it
	callers int
	ledBy   []string
	placed  bool
}

// boundedRule is a rule and the packets that it may match.
type boundedRule struct {
	text   func() string
	handle uint64
	// most is all packets that it may match; it is exact if it matches each of them.
	most  diagram.ID
	exact bool
	// takes says that no packet that it matches goes on to the next rule.
	takes bool
	leads []string
}

func (t *deadTable) addChain(c *deadChain) {
	if t.byName == nil {
		t.byName = map[string]*deadChain{}
	}
	t.chains, t.byName[c.name] = append(t.chains, c), c
}

// find is the dead rules. A chain is looked at behind all that lead to it.
func (t *deadTable) find() []DeadRule {
	var behind []*deadChain // those that are led to come first
	var place func(c *deadChain)
	place = func(c *deadChain) {
		if c == nil || c.placed {
			return
		}
		c.placed = true
		for i := range c.rules {
			for _, name := range c.rules[i].leads {
				place(t.byName[name])
			}
		}
		behind = append(behind, c)
	}
	nobody := t.b.s.One(no)
	for _, c := range t.chains {
		if c.entry = nobody; c.base {
			c.entry = t.b.s.One(yes)
			place(c)
		}
	}
	for _, c := range slices.Backward(behind) {
		t.chain(c)
	}
	for _, c := range t.chains {
		if !c.placed {
			t.chain(c)
		}
	}
	turn := map[string]int{}
	for i, c := range t.chains {
		turn[c.name] = i
	}
	slices.SortStableFunc(t.found, func(a, b DeadRule) int {
		return cmp.Or(cmp.Compare(turn[a.Chain], turn[b.Chain]), cmp.Compare(a.Number, b.Number))
	})
	return t.found
}

// mostCallers is up to how many rules that lead to a chain what comes there is worked out. More are taken to lead everything there.
const mostCallers = 64

// taker is a rule that takes what it matches.
type taker struct {
	number int
	what   diagram.ID
}

// chain looks at the rules of a chain in turn, with the packets that the rules before have left.
func (t *deadTable) chain(c *deadChain) {
	s := t.b.s
	nobody := s.One(no)
	both := func(a, b diagram.ID) diagram.ID { return t.b.then(a, b, nobody) }
	left := c.entry
	var takers []taker
	for i := range c.rules {
		r := &c.rules[i]
		if meets := both(left, r.most); meets == nobody {
			t.dead(c, i, takers)
			continue
		} else {
			t.lead(c, i, meets)
		}
		if r.exact && r.takes {
			left = t.b.then(r.most, nobody, left)
			takers = append(takers, taker{i + 1, r.most})
		}
	}
}

// lead notes that packets come to the chains that a rule leads to.
func (t *deadTable) lead(c *deadChain, i int, meets diagram.ID) {
	for _, name := range c.rules[i].leads {
		to := t.byName[name]
		if to == nil {
			continue
		}
		if to.callers++; to.callers > mostCallers {
			to.entry, to.ledBy = t.b.s.One(yes), nil
			continue
		}
		to.entry = t.b.then(to.entry, t.b.s.One(yes), meets)
		to.ledBy = append(to.ledBy, place(&chain{name: c.name}, i))
	}
}

// dead notes a rule with the reason.
func (t *deadTable) dead(c *deadChain, i int, takers []taker) {
	s, r, dead := t.b.s, &c.rules[i], t.like
	nobody := s.One(no)
	both := func(a, b diagram.ID) diagram.ID { return t.b.then(a, b, nobody) }
	dead.Chain, dead.Number, dead.Handle, dead.Text = c.name, i+1, r.handle, r.text()
	comes := both(c.entry, r.most)
	switch {
	case c.entry == nobody:
		dead.Why = Unreached
	case r.most == nobody:
		dead.Why = Contradictory
	case comes == nobody:
		dead.Why, dead.LedBy = Elsewhere, c.ledBy
	default:
		dead.Why, dead.CoveredBy = Covered, t.covering(comes, takers)
	}
	t.found = append(t.found, dead)
}

// covering is the number of the first rule that takes all of these packets, or those of the rules that do so together.
func (t *deadTable) covering(comes diagram.ID, takers []taker) []int {
	nobody := t.b.s.One(no)
	var together []int
	left := comes
	for _, by := range takers {
		if t.b.then(by.what, nobody, comes) == nobody {
			return []int{by.number}
		}
		if rest := t.b.then(by.what, nobody, left); rest != left {
			together, left = append(together, by.number), rest
		}
	}
	return together
}

// bounds is what a rule may match, in the making.
type bounds struct {
	*cond
	exact bool
}

func (b *builder) newBounds() *bounds {
	return &bounds{cond: b.newCond(&state{port: asIs}), exact: true}
}

// whole says that the packet's own header must be there: neither a later fragment nor a header that cannot be read has ports.
func (q *bounds) whole() {
	s := q.b.s
	broken := diagram.Set{diagram.Point(diagram.Number(1))}
	q.more = append(q.more, s.Choose(q.b.w.name("a fragment, or a header that cannot be read"), broken, s.One(no), s.One(yes)))
}
