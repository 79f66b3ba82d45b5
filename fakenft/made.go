package fakenft

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// madeRules are the rules that a transaction has made, as the kernel tells of them while it carries the transaction out: a chain has those
// that the transaction adds later then, and those that it deletes later.
type madeRules struct {
	rules  map[*nftables.AddRule]*nftables.Rule
	texts  map[*nftables.AddRule]string
	chains map[chainName]*madeChain
	// turns are those in which rules were made; rules that were there before have none. From the turn of gone on a rule is deleted.
	turns, gone map[*nftables.Rule]int
}

// madeChain has the rules that a chain had when the last one was made, and all that it had since the first one was.
type madeChain struct{ last, order []*nftables.Rule }

// chainName is a chain as the changes of a transaction name it.
type chainName struct {
	family       nftables.Family
	table, chain string
}

func chainOf(c *nftables.AddRule) chainName { return chainName{c.Family, c.Table, c.Chain} }

// noting has the kernel tell of the rules that it makes, if they are to be printed.
func (r *run) noting(changes []nftables.Change) *madeRules {
	if !r.echo || r.check {
		return nil
	}
	m := &madeRules{
		rules: map[*nftables.AddRule]*nftables.Rule{}, texts: map[*nftables.AddRule]string{}, chains: map[chainName]*madeChain{},
		turns: map[*nftables.Rule]int{}, gone: map[*nftables.Rule]int{},
	}
	for _, change := range changes {
		if c, adds := change.(*nftables.AddRule); adds {
			c.Notify = func(in *nftables.Table, rule *nftables.Rule, among []*nftables.Rule) {
				m.note(c, rule, among)
				m.texts[c] = r.madeText(in, rule)
			}
		}
	}
	return m
}

// note takes in that a rule was made.
func (m *madeRules) note(c *nftables.AddRule, rule *nftables.Rule, among []*nftables.Rule) {
	turn := len(m.turns) + 1
	m.rules[c], m.turns[rule] = rule, turn
	chain := m.chains[chainOf(c)]
	if chain == nil {
		m.chains[chainOf(c)] = &madeChain{last: slices.Clone(among), order: slices.Clone(among)}
		return
	}
	rest := among
	for _, r := range chain.last { // the rules that are still there are in the same order
		if at := slices.Index(rest, r); at >= 0 {
			rest = rest[at+1:]
		} else {
			m.gone[r] = turn
		}
	}
	chain.last = append(chain.last[:0], among...)
	chain.order = slices.Insert(chain.order, chain.placeOf(c, slices.Index(among, rule)), rule)
}

// placeOf is where in its order a rule comes that is made at a place among those that are there.
func (chain *madeChain) placeOf(c *nftables.AddRule, at int) int {
	placed := c.Handle != 0 || c.PlaceID != 0
	switch {
	case c.Place == nftables.First && !placed:
		return 0
	case c.Place == nftables.First && at+1 < len(chain.last):
		return slices.Index(chain.order, chain.last[at+1])
	case c.Place == nftables.Instead:
		return 1 + slices.IndexFunc(chain.order, func(r *nftables.Rule) bool { return r.Handle == c.Handle })
	case placed && at > 0:
		return 1 + slices.Index(chain.order, chain.last[at-1])
	}
	return len(chain.order)
}

// before is the rule that the kernel says a rule was made behind: it says nothing of the first and the last one (nf_tables_rule_notify).
func (m *madeRules) before(c *nftables.AddRule) *nftables.Rule {
	rule, order := m.rules[c], m.chains[chainOf(c)].order
	isThere := func(r *nftables.Rule) bool { return m.gone[r] == 0 || m.gone[r] > m.turns[rule] }
	at := slices.Index(order, rule)
	if !slices.ContainsFunc(order[at+1:], isThere) {
		return nil
	}
	for _, r := range slices.Backward(order[:at]) {
		if isThere(r) {
			return r
		}
	}
	return nil
}

// madeText is a rule as it is printed where it was made, with the sets that it names, which may go with it; empty if it cannot be printed.
func (r *run) madeText(in *nftables.Table, rule *nftables.Rule) string {
	d := r.decompiler(in)
	d.Table(&in.TableSpec, in.Handle)
	o := r.printing()
	o.Handles, o.Family, o.Sorted = false, in.Family, true // as they were sent
	text, err := print.AppendRule(nil, d.Rule(rule), o)
	if err != nil {
		return ""
	}
	return string(text)
}
