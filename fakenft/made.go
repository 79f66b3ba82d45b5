package fakenft

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// madeThings is what a transaction has made, as the kernel tells of it while it carries the transaction out: a chain has the rules that the
// transaction adds later then, and those that it deletes later.
type madeThings struct {
	things   map[nftables.Change]madeThing
	elements map[*nftables.AddElements][]nftables.MadeElement

	rules  map[*nftables.AddRule]*nftables.Rule
	texts  map[*nftables.AddRule]string
	chains map[chainName]*madeChain
	// turns are those in which rules were made; rules that were there before have none. From the turn of gone on a rule is deleted.
	turns, gone map[*nftables.Rule]int
}

// madeThing is a table, a chain, a set or an object that was made: the handles of its table and of itself, and how it was printed then.
type madeThing struct {
	table, handle uint64
	text          string
}

// madeChain has the rules that a chain had when the last one was made, and all that it had since the first one was.
type madeChain struct{ last, order []*nftables.Rule }

// chainName is a chain as the changes of a transaction name it.
type chainName struct {
	family       nftables.Family
	table, chain string
}

func chainOf(c *nftables.AddRule) chainName { return chainName{c.Family, c.Table, c.Chain} }

// noting has the kernel tell of what it makes, if that is to be printed.
func (r *run) noting(changes []nftables.Change) *madeThings {
	if !r.echo || r.check {
		return nil
	}
	m := &madeThings{
		things: map[nftables.Change]madeThing{}, elements: map[*nftables.AddElements][]nftables.MadeElement{},
		rules: map[*nftables.AddRule]*nftables.Rule{}, texts: map[*nftables.AddRule]string{}, chains: map[chainName]*madeChain{},
		turns: map[*nftables.Rule]int{}, gone: map[*nftables.Rule]int{},
	}
	for _, change := range changes {
		switch c := change.(type) {
		case *nftables.AddTable:
			c.Notify = func(made *nftables.Table) { m.things[c] = madeThing{made.Handle, 0, r.tableText(made)} }
		case *nftables.AddChain:
			c.Notify = func(in *nftables.Table, made *nftables.Chain) {
				m.things[c] = madeThing{in.Handle, made.Handle, r.chainText(in, made)}
			}
		case *nftables.AddSet:
			c.Notify = func(in *nftables.Table, made *nftables.Set) {
				if made.Flags&nftables.SetAnonymous == 0 {
					m.things[c] = madeThing{in.Handle, made.Handle, r.setText(in, made)}
				}
			}
		case *nftables.AddObject:
			c.Notify = func(in *nftables.Table, made *nftables.Object) {
				m.things[c] = madeThing{in.Handle, made.Handle, r.objectText(in, made)}
			}
		case *nftables.AddElements:
			c.Notify = func(of *nftables.Set, made []nftables.MadeElement) { m.elements[c] = r.asDumped(of, made) }
		case *nftables.AddRule:
			c.Notify = func(in *nftables.Table, rule *nftables.Rule, among []*nftables.Rule) {
				m.note(c, rule, among)
				m.texts[c] = r.madeText(in, rule)
			}
		}
	}
	return m
}

// asDumped are elements in the order in which they are printed: those of intervals by their keys, and each beginning as its end is told of.
func (r *run) asDumped(of *nftables.Set, made []nftables.MadeElement) []nftables.MadeElement {
	if of.Flags&nftables.SetInterval == 0 {
		return made
	}
	exclusive := make(map[*nftables.Element]bool, len(made))
	for _, is := range made {
		exclusive[is.Element] = is.Exclusive
	}
	var sorted []nftables.MadeElement
	for _, element := range of.Elements(r.tools.kernel.Clock().Now()) {
		if as, is := exclusive[element]; is {
			sorted = append(sorted, nftables.MadeElement{Element: element, Exclusive: as})
		}
	}
	for i := len(sorted) - 2; i >= 0; i-- {
		const end = nftables.ElementIntervalEnd
		if sorted[i].Flags&end == 0 && sorted[i].KeyEnd == nil && sorted[i+1].Flags&end != 0 {
			sorted[i].Exclusive = sorted[i+1].Exclusive
		}
	}
	return sorted
}

// note takes in that a rule was made.
func (m *madeThings) note(c *nftables.AddRule, rule *nftables.Rule, among []*nftables.Rule) {
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
func (m *madeThings) before(c *nftables.AddRule) *nftables.Rule {
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
