package ruleset

import (
	"iter"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// View is the ruleset for readers that know no iptables. It costs nothing until they look.
func (rs *Ruleset) View() netfilter.RulesetView {
	view := netfilter.RulesetView{Family: rs.family, Dialect: rs.dialect}
	for _, t := range rs.tables {
		view.Tables = append(view.Tables, tableView{t, rs.family, rs.dialect})
	}
	return view
}

// tableView is a netfilter.Table.
type tableView struct {
	*Table
	family  netfilter.Family
	dialect netfilter.Dialect
}

func (t tableView) Chain(name string) (netfilter.Chain, bool) {
	if c := t.Table.Chain(name); c != nil {
		return t.view(c), true
	}
	return netfilter.Chain{}, false
}

func (t tableView) PolicyCounted(chain string) netfilter.Counted {
	if c := t.Table.Chain(chain); c != nil {
		return counted(c.Counters)
	}
	return netfilter.Counted{}
}

func (t tableView) Chains() iter.Seq[netfilter.Chain] { return t.views(t.Table.Chains()) }

func (t tableView) Unsorted() iter.Seq[netfilter.Chain] { return t.views(t.Table.Unsorted()) }

func (t tableView) views(chains iter.Seq[*Chain]) iter.Seq[netfilter.Chain] {
	return func(yield func(netfilter.Chain) bool) {
		for c := range chains {
			if !yield(t.view(c)) {
				return
			}
		}
	}
}

func (t tableView) view(c *Chain) netfilter.Chain {
	view := netfilter.Chain{Name: c.Name, Policy: c.Policy.Verdict(), Rules: rulesView{c, t.family, t.dialect}}
	if c.Policy != PolicyNone {
		view.Hook = c.Name
	}
	return view
}

// rulesView is a chain's netfilter.Rules.
type rulesView struct {
	chain   *Chain
	family  netfilter.Family
	dialect netfilter.Dialect
}

func (v rulesView) Len() int { return len(v.chain.Rules) }

func (v rulesView) Text(i int) string {
	return v.chain.Rules[i].Text(v.chain.Name, v.family, v.dialect)
}

func (v rulesView) Fact(i int) netfilter.Fact { return v.chain.Rules[i].Fact() }

func (v rulesView) Args(i int, comments bool) []string {
	return argsOf(v.chain.Rules[i], v.family, v.dialect, comments)
}

func (v rulesView) Counted(i int) netfilter.Counted { return counted(v.chain.Rules[i].Counters) }

// counted are counters at this moment.
func counted(c *netfilter.Counters) netfilter.Counted {
	if c == nil {
		return netfilter.Counted{}
	}
	return netfilter.Counted{Packets: c.Packets(), Bytes: c.Bytes()}
}

func (v rulesView) Handle(i int) any { return v.chain.Rules[i] }

// argsOf are the words of the text behind the chain, with or without those of comments.
func argsOf(r *xtables.Rule, f netfilter.Family, d netfilter.Dialect, comments bool) []string {
	var list xtables.WordList
	if list.Add(append(r.AppendOptions(nil, f, d), '\n'), 1) != nil {
		return nil // no rule that was committed is longer than a line can be
	}
	words := make([]string, 0, len(list.Words))
	for i := 0; i < len(list.Words); i++ {
		if comment := []string{"-m", "comment", "--comment"}; !comments && i+len(comment) < len(list.Words) && list.Has(i, comment) {
			i += len(comment)
			continue
		}
		words = append(words, string(list.Words[i]))
	}
	return words
}
