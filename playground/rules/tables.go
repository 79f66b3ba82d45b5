package rules

import (
	"iter"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
)

// table is a table of rules in any language, as far as packets of one family meet it.
type table struct {
	name   string
	family netfilter.Family
	// chains are the table's, and chain is one by its name.
	chains iter.Seq[chain]
	chain  func(name string) (chain, bool)
	// shared says that packets of another family meet the table too, and that it was listed as theirs before.
	shared bool
}

// chain is a chain of a table.
type chain struct {
	name string
	// hook leads packets to the chain if base is set.
	hook netfilter.Hook
	base bool
	// rules is how many there are. facts are what they mean, which is worked out when they are looked at: of a rule that looks for the packet
	// in a set there is one for each element.
	rules int
	facts iter.Seq[netfilter.Fact]
}

// tablesOf are the tables of a host: those of services stand in nat, which comes first.
func tablesOf(host *packetsim.Host) []table {
	var out []table
	for _, family := range netfilter.Families() {
		for _, view := range host.Rulesets(family) {
			for _, name := range []string{"nat", "filter", "raw", "mangle", "security"} {
				if t := view.Table(name); t != nil {
					out = append(out, savedTable(family, t))
				}
			}
		}
	}
	kernel := nftables.In(host.Netfilter())
	if kernel == nil {
		return out
	}
	for _, t := range kernel.State().Tables() {
		for _, family := range familiesOf(t.Family) {
			one := nativeTable(kernel, family, t)
			one.shared = slices.ContainsFunc(out,
				func(o table) bool { return t.Family == nftables.Inet && o.name == one.name && o.family != family })
			out = append(out, one)
		}
	}
	return out
}

// savedTable is a table of iptables.
func savedTable(family netfilter.Family, of netfilter.Table) table {
	wrap := func(c netfilter.Chain) chain {
		out := chain{name: c.Name, rules: c.Len(), facts: func(yield func(netfilter.Fact) bool) {
			for _, fact := range c.Facts() {
				if !yield(fact) {
					return
				}
			}
		}}
		out.hook, out.base = netfilter.HookOf(c.Hook)
		return out
	}
	return table{
		name: of.Name(), family: family,
		chains: func(yield func(chain) bool) {
			for c := range of.Chains() {
				if !yield(wrap(c)) {
					return
				}
			}
		},
		chain: func(name string) (chain, bool) {
			c, there := of.Chain(name)
			if !there {
				return chain{}, false
			}
			return wrap(c), true
		},
	}
}

// familiesOf are the families whose packets meet a table.
func familiesOf(f nftables.Family) []netfilter.Family {
	switch f {
	case nftables.IPv4:
		return []netfilter.Family{netfilter.IPv4}
	case nftables.IPv6:
		return []netfilter.Family{netfilter.IPv6}
	case nftables.Inet:
		families := netfilter.Families()
		return families[:]
	}
	return nil
}
