package fakeipt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/translate"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// listable says why the tools do not list a table, or one chain of it; nil if they do.
func (n *nativeTable) listable(chain string) error {
	switch {
	case n.incompatible(chain) && chain != "":
		return errIncompatible(chain, n.kind.Name)
	case n.incompatible(chain):
		return &xtables.Problem{Status: xtables.StatusOther, Msg: "table " + incompatibleTable(n.kind.Name)}
	}
	if n.unread != "" {
		return n.notKnown(n.unread)
	}
	return n.known()
}

// incompatible says that a chain, or any if none is named, has rules for which the tools do not list it.
func (n *nativeTable) incompatible(chain string) bool {
	return slices.ContainsFunc(n.native.Chains, func(c ruleset.NativeChain) bool {
		return (chain == "" || c.Name == chain) && slices.ContainsFunc(c.Rules, func(r *xtables.Rule) bool { return n.strange[r].incompatible })
	})
}

// shown is the table as the tools show it.
func (n *nativeTable) shown() *ruleset.Table {
	if n.table == nil {
		return ruleset.NewTable(n.kind)
	}
	return n.table
}

func incompatibleTable(table string) string {
	return fmt.Sprintf("`%s' is incompatible, use 'nft' tool.", table)
}

// known refuses by name what is not known of how the tools see the table.
func (n *nativeTable) known() error {
	if n == nil || n.lacks == "" {
		return nil
	}
	return n.notKnown(n.lacks)
}

func (n *nativeTable) notKnown(what string) error {
	return &xtables.Problem{Status: xtables.StatusOther, Msg: fmt.Sprintf(
		"chainwalk does not support iptables-nft on a table that nft made or changed: table %s %s: %s", nftFamily(n.family), n.kind.Name, what)}
}

// compare is what the tools say who look for a rule in a chain, which they found at an index, or not if that is negative: they fail at a
// rule before it that they cannot read.
func (n *nativeTable) compare(rules []*xtables.Rule, looked *xtables.Rule, index int) error {
	if n == nil {
		return nil
	}
	for i, r := range rules {
		strange, is := n.strange[r]
		switch {
		case index >= 0 && i > index:
			return nil
		case !is || strange.read:
		case strange.failure != "":
			return &xtables.Problem{Status: xtables.StatusVersion, Before: "Error: " + strange.failure, Msg: "Parsing nftables rule failed"}
		case !strange.incompatible || looked.Target == nil:
			return n.notKnown(fmt.Sprintf("what iptables-nft reads into the rule with the handle %d", r.Handle))
		}
	}
	return nil
}

// nativeChanges are what the kernel of nf_tables is asked for, so that a table becomes another one.
type nativeChanges struct {
	from  *nativeTable
	to    *ruleset.Table
	table string
	of    nftables.Family
	all   []nativeChange
	// renamed has the new names of chains, and formerly the old ones, by which the kernel knows them until the end.
	renamed, formerly map[string]string
}

// nativeChange is one change, and what the tools call it if the kernel refuses it.
type nativeChange struct {
	change nftables.Change
	kind   ruleset.Change
	makes  uint64 // the handle of what it makes; 0: it makes nothing
}

// changes are what makes the table another one, which an edit has made of it.
func (n *nativeTable) changes(e *ruleset.Edit, to *ruleset.Table) []nativeChange {
	c := &nativeChanges{
		from: n, to: to, table: n.kind.Name, of: nftFamily(n.family), renamed: map[string]string{}, formerly: map[string]string{},
	}
	names := map[uint64]string{}
	for chain := range to.Unsorted() {
		names[to.ChainHandle(chain)] = chain.Name
	}
	for chain := range n.table.Unsorted() {
		if name := names[n.table.ChainHandle(chain)]; chain.Policy == ruleset.PolicyNone && name != "" && name != chain.Name {
			c.renamed[chain.Name], c.formerly[name] = name, chain.Name
		}
	}
	if e.Emptied {
		c.add(ruleset.RuleDelete, &nftables.DeleteRule{Family: c.of, Table: c.table})
	} else {
		c.removeRules()
	}
	from := len(c.all)
	c.makeChains()
	c.makeRules()
	// Handles are given in the order in which the tools ask.
	slices.SortStableFunc(c.all[from:], func(a, b nativeChange) int { return cmp.Compare(a.makes-1, b.makes-1) })
	c.removeChains()
	return c.all
}

func (n *nativeChanges) add(kind ruleset.Change, c nftables.Change) {
	n.all = append(n.all, nativeChange{change: c, kind: kind})
}

// now is the chain that a chain has become; nil if it is gone.
func (n *nativeChanges) now(c *ruleset.Chain) *ruleset.Chain {
	switch {
	case n.renamed[c.Name] != "":
		return n.to.Chain(n.renamed[c.Name])
	case c.Policy != ruleset.PolicyNone && !n.to.Made(c.Name):
		return nil
	}
	return n.to.Chain(c.Name)
}

// before is the chain that a chain was; nil if it is new.
func (n *nativeChanges) before(c *ruleset.Chain) *ruleset.Chain {
	switch {
	case n.formerly[c.Name] != "":
		return n.from.table.Chain(n.formerly[c.Name])
	case c.Policy != ruleset.PolicyNone && !n.from.table.Made(c.Name):
		return nil
	}
	return n.from.table.Chain(c.Name)
}

func (n *nativeChanges) removeRules() {
	for c := range n.from.table.Chains() {
		now := n.now(c)
		switch {
		case len(c.Rules) == 0:
		case now == nil || len(now.Rules) == 0:
			n.add(ruleset.RuleDelete, &nftables.DeleteRule{Family: n.of, Table: n.table, Chain: c.Name})
		default:
			for _, r := range c.Rules {
				if !slices.ContainsFunc(now.Rules, func(left *xtables.Rule) bool { return left.Handle == r.Handle }) {
					n.add(ruleset.RuleDelete, &nftables.DeleteRule{Family: n.of, Table: n.table, Chain: c.Name, Handle: r.Handle})
				}
			}
		}
	}
}

func (n *nativeChanges) makeChains() {
	for c := range n.to.Chains() {
		old := n.before(c)
		add := &nftables.AddChain{Family: n.of, Table: n.table, Chain: nftables.ChainSpec{Name: c.Name}}
		one := nativeChange{change: add, kind: ruleset.ChainAdd}
		switch {
		case c.Policy != ruleset.PolicyNone && (!n.to.Made(c.Name) || old != nil && old.Policy == c.Policy):
			continue
		case c.Policy != ruleset.PolicyNone:
			hook, priority, _ := n.from.kind.Hooking(c.Name)
			policy := policyCode(c.Policy)
			add.Chain.Hooking = &nftables.Hooking{Type: hookingType(n.table, hook), Hook: uint32(hook), Priority: int32(priority)}
			add.Chain.Policy = &policy
		case old != nil && old.Name == c.Name:
			continue
		case old != nil:
			add.Handle, one.kind = n.to.ChainHandle(c), ruleset.ChainRename
		}
		if old == nil {
			one.makes = n.to.ChainHandle(c)
		}
		n.all = append(n.all, one)
	}
}

// policyCode is a policy as nf_tables has it.
func policyCode(p ruleset.Policy) expr.Code {
	if p == ruleset.PolicyDrop {
		return expr.Drop
	}
	return expr.Accept
}

func (n *nativeChanges) makeRules() {
	for c := range n.to.Chains() {
		old := map[uint64]*xtables.Rule{}
		name := c.Name
		if was := n.before(c); was != nil {
			name = was.Name
			for _, r := range was.Rules {
				old[r.Handle] = r
			}
		}
		for i, r := range c.Rules {
			switch was := old[r.Handle]; {
			case was == nil:
				n.makeRule(name, c.Rules, i, old)
			case was != r && !n.onlyRenamed(was, r):
				n.all = append(n.all, nativeChange{change: n.addRule(name, r, nftables.Instead, r.Handle), kind: ruleset.RuleReplace})
			}
		}
	}
}

// onlyRenamed says that a rule differs from what it was by the new name of the chain that it leads to.
func (n *nativeChanges) onlyRenamed(was, now *xtables.Rule) bool {
	from, jumped := was.Target.(*xtables.Jump)
	to, jumps := now.Target.(*xtables.Jump)
	return jumped && jumps && was.Counters == now.Counters && n.renamed[from.Chain] == to.Chain && to.Chain != ""
}

func (n *nativeChanges) addRule(chain string, r *xtables.Rule, place nftables.Place, by uint64) *nftables.AddRule {
	return &nftables.AddRule{Family: n.of, Table: n.table, Chain: chain, Place: place, Handle: by,
		Exprs: translate.Rule(r, n.from.family), Origin: &origin{r, n.from.family}}
}

// makeRule makes a new rule: behind the one nearest before it that is there already, or as the first one.
func (n *nativeChanges) makeRule(chain string, rules []*xtables.Rule, i int, old map[uint64]*xtables.Rule) {
	r, place, by, kind := rules[i], nftables.Last, uint64(0), ruleset.RuleAppend
	there := func(other *xtables.Rule) bool { return old[other.Handle] != nil || other.Handle < r.Handle }
	for _, before := range rules[:i] {
		if there(before) {
			by = before.Handle
		}
	}
	if by == 0 && slices.ContainsFunc(rules[i+1:], there) {
		place, kind = nftables.First, ruleset.RuleInsert
	}
	n.all = append(n.all, nativeChange{change: n.addRule(chain, r, place, by), kind: kind, makes: r.Handle})
}

func (n *nativeChanges) removeChains() {
	for c := range n.from.table.Chains() {
		if (c.Policy == ruleset.PolicyNone || n.from.table.Made(c.Name)) && n.now(c) == nil {
			n.add(ruleset.ChainDelete, &nftables.DeleteChain{Family: n.of, Table: n.table, Name: c.Name})
		}
	}
}

// commitNative asks the kernel of nf_tables for what an edit has changed in a table that is not the tools' own.
func (k *Kernel) commitNative(n *nativeTable, e *ruleset.Edit, to *ruleset.Table) error {
	nft := nftables.In(k.namespace)
	if e.Flushed {
		gone := &nftables.DeleteTable{Family: nftFamily(n.family), Name: n.kind.Name}
		if refused := nft.Commit([]nftables.Change{gone}); len(refused) > 0 {
			return &ruleset.CommitError{Errno: refused[0].Errno}
		}
		if to != nil {
			k.store(n.family, to)
		}
		return nil
	}
	if to == nil {
		return nil
	}
	var asked []nftables.Change
	changes := n.changes(e, to)
	for _, c := range changes {
		asked = append(asked, c.change)
	}
	refused := nft.Commit(asked)
	if len(refused) == 0 {
		return nil
	}
	failed := &ruleset.CommitError{Errno: refused[0].Errno, Line: e.Line}
	for _, r := range refused {
		c := changes[r.Change]
		failed.Failures = append(failed.Failures, ruleset.Failure{Line: e.Line, Kind: c.kind, Errno: r.Errno, Chain: chainOf(c.change)})
	}
	return failed
}

// chainOf is the chain that a change is about.
func chainOf(c nftables.Change) string {
	switch c := c.(type) {
	case *nftables.AddChain:
		return c.Chain.Name
	case *nftables.DeleteChain:
		return c.Name
	case *nftables.AddRule:
		return c.Chain
	case *nftables.DeleteRule:
		return c.Chain
	}
	return ""
}
