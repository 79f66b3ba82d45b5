package packetsim

import (
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// SetElement is an element of a named set or map of nftables.
type SetElement struct {
	// Set is the name, without "@".
	Set string `json:"set"`
	// Rule is the element as nft lists it, such as "10.96.0.1 . tcp . 80 : goto service", with its verdict and its comment.
	Rule netfilter.Rule `json:"element"`
}

// nftLooked is an element that a look-up has found.
type nftLooked struct {
	set     string
	element *nftables.Element
}

// elements are those of named sets that the look-ups of the rule have found.
func (t *nftWalk) elements() []SetElement {
	var out []SetElement
	speller := t.targets.memory.nftSets.speller()
	for _, found := range t.looked {
		set := t.base.table.Set(found.set)
		if speller == nil || set == nil || set.Flags&nftables.SetAnonymous != 0 || !isListed(set) {
			continue
		}
		for _, r := range elementRules(speller, t.base.table, set, []*nftables.Element{found.element}) {
			out = append(out, SetElement{set.Name, r})
		}
	}
	return out
}

// isListed says whether each element of a set is listed by itself: not those of intervals, of which two ends make one, and not those that
// packets add, which are as they are now.
func isListed(set *nftables.Set) bool { return set.Flags&(nftables.SetInterval|nftables.SetEval) == 0 }

// NativeChain is a chain of a table of nf_tables in netfilter's words, or a named set or map of it.
type NativeChain struct {
	// Name is the chain's; that of a set begins with "@", as rules name it.
	Name string
	// Rules are the chain's rules, without the chain's name. Of a set they are the elements, as SetElement has them.
	Rules []netfilter.Rule
}

// NativeTable is what the host holds of a table of nf_tables: its sets and then its chains, both in the order in which they were made.
// Sets of intervals, and those to which packets add, are left out. It is nil if there is no such table.
func (h *Host) NativeTable(family nftables.Family, name string) []NativeChain {
	if h.netfilter == nil || nftables.In(h.netfilter) == nil {
		return nil
	}
	kernel := nftables.In(h.netfilter)
	table := kernel.State().Table(family, name)
	if table == nil {
		return nil
	}
	out := []NativeChain{}
	speller := kernel.Speller()
	for _, set := range table.Sets() {
		if set.Flags&nftables.SetAnonymous == 0 && isListed(set) && speller != nil {
			out = append(out, NativeChain{Name: "@" + set.Name, Rules: elementRules(speller, table, set, set.Elements(kernel.Clock().Now()))})
		}
	}
	for _, chain := range table.Chains() {
		one := NativeChain{Name: chain.Name}
		for _, r := range chain.Rules {
			text := exprsText(r.Exprs)
			if speller != nil {
				text = speller.Rule(table, chain, r)
			}
			one.Rules = append(one.Rules, netfilter.Rule{Text: text, Fact: FactOf(table, r)})
		}
		out = append(out, one)
	}
	return out
}

// elementRules are elements of a set as rules.
func elementRules(speller nftables.Speller, table *nftables.Table, set *nftables.Set, elements []*nftables.Element) []netfilter.Rule {
	out := make([]netfilter.Rule, len(elements))
	for i, text := range speller.Elements(table, set, elements) {
		e, f := elements[i], &out[i].Fact
		out[i].Text = text
		if e.Data != nil && e.Data.Verdict != nil {
			setVerdict(f, e.Data.Verdict.Code, e.Data.Verdict.Chain)
		}
		if data := nftables.DecodeUserData(nftables.ElementUserData, e.UserData); data != nil {
			f.Comment = data.Comment
		}
	}
	return out
}
