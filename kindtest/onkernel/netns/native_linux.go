package netns

import (
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// nativeChain is a chain of kube-proxy's table of nftables.
type nativeChain struct {
	atHook bool
	rules  map[uint64]*netfilter.Rule // by their handles
}

// nativeTable is kube-proxy's table of a family: its chains, and the sets to which packets add, by name; nil if there is none.
type nativeTable struct {
	chains map[string]*nativeChain
	sets   map[string]*nativeSet
}

// traceNative lets the watch see the steps of native tables too, from here on.
func (w *watch) traceNative() error {
	if !w.rules.native {
		w.rules.native = true
		w.rules.forget()
	}
	if w.traced {
		return nil
	}
	w.traced = true
	return nftrace.Join(w.reports)
}

// loadNative reads kube-proxy's tables of nftables.
func (b *ruleBook) loadNative() error {
	b.tables = map[bool]*nativeTable{}
	for _, family := range []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6} {
		list, err := tools.Run(b.host.exec, "", "nft", "-a", "list", "table", tools.NFTFamily(family), tools.NFTTable)
		if err != nil {
			if strings.Contains(err.Error(), "No such file or directory") {
				continue
			}
			return err
		}
		if b.tables[family == scenarios.FamilyIPv6], err = readNative(list); err != nil {
			return err
		}
	}
	return nil
}

// readNative reads a table as nft lists it with handles.
func readNative(list string) (*nativeTable, error) {
	saved, err := snapshot.ReadSaved("the listed table", strings.NewReader(list), snapshot.RulesOptions{})
	if err != nil {
		return nil, err
	}
	host, err := saved.Host(inet.Input{})
	if err != nil {
		return nil, err
	}
	out, kernel := &nativeTable{chains: map[string]*nativeChain{}, sets: map[string]*nativeSet{}}, nftables.In(host.Netfilter())
	for _, table := range kernel.State().Tables() {
		for _, chain := range table.Chains() {
			one := &nativeChain{atHook: chain.Hooking != nil, rules: map[uint64]*netfilter.Rule{}}
			for _, r := range chain.Rules {
				one.rules[r.Handle] = &netfilter.Rule{Text: kernel.Speller().Rule(table, chain, r), Fact: packetsim.FactOf(table, r)}
			}
			out.chains[chain.Name] = one
		}
		out.remember(table, kernel.Clock().Now())
	}
	return out, nil
}

// metNative is a step in kube-proxy's table; false for the end of a chain at a hook, which its policy tells.
func (b *ruleBook) metNative(v6 bool, r *nftrace.Report) (packetsim.Step, bool) {
	b.load()
	step := packetsim.Step{Family: "ip", Table: r.Table, Chain: r.Chain, Kind: r.Kind}
	if v6 {
		step.Family = "ip6"
	}
	table := b.tables[v6]
	if table == nil || table.chains[r.Chain] == nil {
		return step, true // the rules have changed since
	}
	chain := table.chains[r.Chain]
	if r.Kind != packetsim.StepRule {
		return step, true
	}
	if step.Rule = chain.rules[r.Handle]; step.Rule == nil {
		step.Kind = packetsim.StepReturn // the kernel says this of the end of a chain
		return step, !chain.atHook
	}
	step.Handle, step.Rule = r.Handle, asMet(step.Rule, &r.Verdict)
	return step, true
}

// asMet is a rule as a packet met it: the verdict that an element of a map gave is the rule's.
func asMet(rule *netfilter.Rule, v *expr.Verdict) *netfilter.Rule {
	if rule.Fact.Verdict != "" || rule.Fact.Jump != "" || rule.Fact.Reject != "" || rule.Fact.Translation.Kind != "" {
		return rule
	}
	met := *rule
	switch v.Code {
	case expr.Drop:
		met.Fact.Verdict = netfilter.Drop
	case expr.Accept:
		met.Fact.Verdict = netfilter.Accept
	case expr.Jump, expr.Goto:
		met.Fact.Jump, met.Fact.Goto = v.Chain, v.Code == expr.Goto
	}
	return &met
}

// Specified is the cluster by which the specification judges the nodes.
func (s *session) Specified(objects []manifest.Object) *oracle.Cluster {
	return s.network.plan.Oracle(objects)
}

var _ scenarios.SpecifiedSession = (*session)(nil)
