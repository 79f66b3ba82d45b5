package fakeipt

import (
	"fmt"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/translate"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

var _ nftables.Guest = (*Kernel)(nil)

// guestTables are tables as nft sees them, by what they were made from.
type guestTables struct {
	lock sync.Mutex
	made map[*ruleset.TableID]*nftables.Table
	// seen are tables of nft as the tools see them, by what they were made from.
	seen map[*nftables.Table]*nativeTable
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
			policy := policyCode(c.Policy)
			chain.Policy = &policy
			chain.Turn = t.Registered(c.Name)
			chain.Hooking = &nftables.Hooking{Type: hookingType(t.Name(), hook), Hook: uint32(hook), Priority: int32(priority)}
		}
		for _, r := range c.Rules {
			chain.Rules = append(chain.Rules, &nftables.Rule{Handle: r.Handle, Exprs: translate.Rule(r, f), Origin: &origin{r, f}})
		}
		chains = append(chains, chain)
	}
	return nftables.GuestTable(nftables.TableSpec{Family: nftFamily(f), Name: t.Name()}, t.Handle(), t.LastHandle(), chains)
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

// Drop takes a table away.
func (k *Kernel) Drop(f nftables.Family, name string) {
	if t, family := k.guestOf(f, name); t != nil {
		k.rulesets[indexOf(family)].Store(k.Ruleset(family).Without(ruleset.FindKind(name)))
	}
}

// Count says the last handle that was given in a table.
func (k *Kernel) Count(f nftables.Family, name string, handle uint64) {
	if t, family := k.guestOf(f, name); t != nil && t.LastHandle() < handle {
		k.rulesets[indexOf(family)].Store(k.Ruleset(family).With(t.WithLastHandle(handle)))
	}
}

// Hold makes a table of nf_tables one of iptables-nft's, if all that is in it could be.
func (k *Kernel) Hold(t *nftables.Table) bool {
	family, kind := familyOfNative(t), ruleset.FindKind(t.Name)
	if k.dialect != netfilter.NFT || kind == nil || family == 0 {
		return false
	}
	n := k.readNative(t, kind, family)
	if !n.ours {
		return false
	}
	rs := k.Ruleset(family)
	table := rs.FromNative(kind, &n.native, &k.surroundings)
	if table == nil {
		return false
	}
	if rs.Table(t.Name) != table {
		k.rulesets[indexOf(family)].Store(rs.With(table))
	}
	return true
}

// SharesTable says whether a table of nf_tables has the name of one of iptables' in a family.
func SharesTable(f netfilter.Family, of nftables.Family, name string) bool {
	return of == nftFamily(f) && ruleset.FindKind(name) != nil
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

// oddChains is what the tools say of a table with such chains.
func oddChains(table string) string {
	return fmt.Sprintf("# Table `%s' contains incompatible base-chains, use 'nft' tool to list them.\n", table)
}
