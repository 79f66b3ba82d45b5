package nftables

import (
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Counts are the use counts of chains, sets and objects that a table keeps, and those that a look at all rules and elements gives.
func Counts(t *Table) (kept, counted map[string]int32) {
	kept, counted = map[string]int32{}, map[string]int32{}
	t.chains.Each(func(name string, e chainEntry) bool {
		kept["chain "+name] = e.uses
		counted["chain "+name] += 0
		return true
	})
	t.sets.Each(func(name string, e setEntry) bool {
		kept["set "+name] = e.uses
		counted["set "+name] += 0
		return true
	})
	t.objects.Each(func(name string, e objectEntry) bool {
		kept["object "+name] = e.uses
		counted["object "+name] += 0
		return true
	})
	verdict := func(v *expr.Verdict) {
		if v != nil && v.Chain != "" {
			counted["chain "+v.Chain]++
		}
	}
	for _, c := range t.Chains() {
		for _, r := range c.Rules {
			for _, e := range r.Exprs {
				switch e := e.(type) {
				case *expr.Immediate:
					verdict(e.Data.Verdict)
				case *expr.Lookup:
					counted["set "+e.Set]++
				case *expr.Dynset:
					counted["set "+e.Set]++
				case *expr.Objref:
					if e.Set != "" {
						counted["set "+e.Set]++
					} else {
						counted["object "+objectKey(e.Type, e.Object)]++
					}
				}
			}
		}
	}
	for _, s := range t.Sets() {
		s.members.Load().each(func(e *Element) {
			verdict(verdictOf(e))
			if e.Object != "" {
				counted["object "+objectKey(s.ObjectType, e.Object)]++
			}
		})
	}
	return kept, counted
}

// Whole says whether the lists, names and reaches of a table fit together, and whether it is valid if all of it is looked at.
func Whole(k *Kernel, t *Table) error {
	if t.chains.Len() != t.chainList.Len() || t.sets.Len() != t.setList.Len() || t.objects.Len() != t.objectList.Len() {
		return fmt.Errorf("table %s: names and lists differ in length", t.Name)
	}
	for _, c := range t.Chains() {
		if t.Chain(c.Name) != c {
			return fmt.Errorf("chain %s is two", c.Name)
		}
	}
	for _, s := range t.Sets() {
		if t.Set(s.Name) != s {
			return fmt.Errorf("set %s is two", s.Name)
		}
	}
	tx := k.begin()
	if e := tx.table(t.Family, t.Name); e.faultOf() != 0 || !e.validWhole() {
		return fmt.Errorf("table %s is not valid: %w", t.Name, e.faultOf())
	}
	return nil
}
