package fakeipt

import (
	"fmt"
	"slices"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/translate"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var _ nftables.Guest = (*Kernel)(nil)

// guestTables are tables as nft sees them, by what they were made from.
type guestTables struct {
	lock sync.Mutex
	made map[*ruleset.TableID]*nftables.Table
}

// nftFamily is a family as nf_tables has it.
func nftFamily(f netfilter.Family) nftables.Family {
	if f == netfilter.IPv6 {
		return nftables.IPv6
	}
	return nftables.IPv4
}

// GuestTables are the tables of iptables-nft as nft sees them; the legacy tools have none there.
func (k *Kernel) GuestTables() []*nftables.Table {
	if k.dialect != netfilter.NFT {
		return nil
	}
	k.guests.lock.Lock()
	defer k.guests.lock.Unlock()
	made := map[*ruleset.TableID]*nftables.Table{}
	var tables []*nftables.Table
	for _, f := range netfilter.Families() {
		for _, t := range k.Ruleset(f).Tables() {
			table := k.guests.made[t.ID()]
			if table == nil {
				table = guestTable(t, f)
			}
			made[t.ID()] = table
			tables = append(tables, table)
		}
	}
	k.guests.made = made
	return tables
}

// guestTable is a table as nft sees it.
func guestTable(t *ruleset.Table, f netfilter.Family) *nftables.Table {
	var chains []*nftables.Chain
	for c := range t.Unsorted() {
		chain := &nftables.Chain{ChainSpec: nftables.ChainSpec{Name: c.Name}, Handle: t.ChainHandle(c)}
		if c.Policy != ruleset.PolicyNone {
			hook, priority, made := t.HookOf(c.Name)
			if !made {
				continue
			}
			policy := expr.Accept
			if c.Policy == ruleset.PolicyDrop {
				policy = expr.Drop
			}
			chain.Policy = &policy
			chain.Turn = t.Registered(c.Name)
			chain.Hooking = &nftables.Hooking{Type: hookingType(t.Name(), hook), Hook: uint32(hook), Priority: int32(priority)}
		}
		for _, r := range c.Rules {
			chain.Rules = append(chain.Rules, &nftables.Rule{Handle: r.Handle, Exprs: translate.Rule(r, f)})
		}
		chains = append(chains, chain)
	}
	return nftables.GuestTable(nftables.TableSpec{Family: nftFamily(f), Name: t.Name()}, t.Handle(), chains)
}

// hookingType is the type of a built-in chain: what goes out is routed again if the mangle table has changed it.
func hookingType(table string, hook netfilter.Hook) string {
	switch {
	case table == "nat":
		return "nat"
	case table == "mangle" && hook == netfilter.Output:
		return "route"
	}
	return "filter"
}

// DeleteTable takes a table away, as nft does.
func (k *Kernel) DeleteTable(f nftables.Family, name string) {
	if t, family := k.guestOf(f, name); t != nil {
		k.rulesets[indexOf(family)].Store(k.Ruleset(family).Without(ruleset.FindKind(name)))
	}
}

// FlushTable takes the rules of a table away, as nft does.
func (k *Kernel) FlushTable(f nftables.Family, name string) {
	if t, family := k.guestOf(f, name); t != nil {
		k.store(family, t.WithoutRules())
	}
}

func (k *Kernel) guestOf(f nftables.Family, name string) (*ruleset.Table, netfilter.Family) {
	family := netfilter.IPv4
	if f == nftables.IPv6 {
		family = netfilter.IPv6
	}
	if k.dialect != netfilter.NFT || f != nftFamily(family) {
		return nil, family
	}
	return k.Ruleset(family).Table(name), family
}

// foreign looks for tables that nft has made under names of iptables': for the one of a name, or for all. The real tools pass over base
// chains that are none of theirs, and say so when they list: found says of each such table whether it has any. What else the tools would do
// with tables of nft is refused.
func (k *Kernel) foreign(f netfilter.Family, table string, lists bool) (found map[string]bool, err error) {
	nft := nftables.In(k.namespace)
	if k.dialect != netfilter.NFT || nft == nil {
		return nil, nil
	}
	for _, t := range nft.State().Tables() {
		kind := ruleset.FindKind(t.Name)
		if t.Family != nftFamily(f) || kind == nil || table != "" && table != t.Name {
			continue
		}
		if !lists || hasPlainChains(t) {
			return nil, &xtables.Problem{Status: xtables.StatusOther, Msg: fmt.Sprintf(
				"chainwalk does not support iptables-nft on tables that nft made: table %s %s", t.Family, t.Name)}
		}
		if found == nil {
			found = map[string]bool{}
		}
		found[t.Name] = len(t.Chains()) > 0
	}
	return found, nil
}

// hasPlainChains says that a table of nft has chains that the tools would take for some of theirs: such as are no base chains, or have the
// name of a built-in chain.
func hasPlainChains(t *nftables.Table) bool {
	return slices.ContainsFunc(t.Chains(), func(c *nftables.Chain) bool {
		_, builtin := netfilter.HookOf(c.Name)
		return builtin || c.Hooking == nil
	})
}

// oddChains is what the tools say of a table with such chains.
func oddChains(table string) string {
	return fmt.Sprintf("# Table `%s' contains incompatible base-chains, use 'nft' tool to list them.\n", table)
}
