package plan

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// filterOfNatives is that of rules for nft. It is false where it cannot tell: if two tables stop packets, or a chain does so that packets
// meet before kube-proxy's rules.
func filterOfNatives(natives []string, family netfilter.Family) (f oracle.Filter, ok bool) {
	kernel := fakekernel.New(fakekernel.Options{})
	for _, text := range natives {
		if _, err := tools.Run(kernel.Exec(), text, "nft", "-f", "-"); err != nil {
			return f, false
		}
	}
	state := nftables.In(kernel.Namespace())
	if state == nil {
		return f, true
	}
	for _, t := range state.State().Ruleset(family).Tables() {
		if t.Name == tools.NFTTable {
			continue // a former kube-proxy has left it: that is not a rule of somebody else
		}
		one, ok := filterOfNative(t)
		if !ok || one.Stops() && f.Stops() {
			return f, false
		}
		if one.Stops() {
			f = one
		}
	}
	return f, true
}

// filterOfNative is that of one table.
func filterOfNative(t *nftables.Table) (f oracle.Filter, ok bool) {
	for _, c := range t.Chains() {
		if slices.ContainsFunc(c.Rules, picksVerdict) {
			return f, false
		}
	}
	at := map[string]*nftables.Chain{}
	for _, c := range t.BaseChains() {
		hook := netfilter.Hook(c.Hooking.Hook).String()
		if hook == "PREROUTING" || hook == "POSTROUTING" || c.Hooking.Type != "filter" || at[hook] != nil {
			if decides(t, c, map[string]bool{}) {
				return f, false
			}
			continue
		}
		at[hook] = c
	}
	facts := func(name string) []netfilter.Fact {
		if c := at[name]; c != nil {
			return factsOf(t, c)
		}
		if c := t.Chain(name); c != nil {
			return factsOf(t, c)
		}
		return nil
	}
	drops := func(hook string) bool { return at[hook] != nil && dropsByPolicy(at[hook]) }
	f, ok = filterBy(chains{facts}, drops)
	for hook, c := range at {
		ok = ok && (!drops(hook) || c.Hooking.Priority > 0)
	}
	return f, ok
}

// picksVerdict says whether a rule takes its verdict from a map.
func picksVerdict(r *nftables.Rule) bool {
	return slices.ContainsFunc(r.Exprs, func(x expr.Expr) bool {
		lookup, is := x.(*expr.Lookup)
		return is && lookup.Map && lookup.Dreg == 0
	})
}

func dropsByPolicy(c *nftables.Chain) bool { return c.Policy != nil && *c.Policy == expr.Drop }

func factsOf(t *nftables.Table, c *nftables.Chain) []netfilter.Fact {
	facts := make([]netfilter.Fact, len(c.Rules))
	for i, r := range c.Rules {
		facts[i] = packetsim.FactOf(t, r)
	}
	return facts
}

// decides says whether a chain, or one that it leads to, does more with packets than to count them and to let them pass. Those chains that
// were looked through are seen.
func decides(t *nftables.Table, c *nftables.Chain, seen map[string]bool) bool {
	if c == nil || seen[c.Name] {
		return false
	}
	seen[c.Name] = true
	if dropsByPolicy(c) {
		return true
	}
	for _, f := range factsOf(t, c) {
		quiet := f
		quiet.Jump, quiet.Goto = "", false
		if f.Verdict == netfilter.Accept || f.Verdict == netfilter.Return {
			quiet.Verdict = ""
		}
		if quiet.HasTarget() || f.Opaque || f.Jump != "" && decides(t, t.Chain(f.Jump), seen) {
			return true
		}
	}
	return false
}
