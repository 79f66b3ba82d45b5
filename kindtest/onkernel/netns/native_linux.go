package netns

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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

// nativeID names a table of nf_tables that is none of iptables-nft's.
type nativeID struct{ family, name string }

// nativeChain is a chain of such a table.
type nativeChain struct {
	atHook bool
	policy netfilter.Verdict
	rules  map[uint64]*netfilter.Rule // by their handles
}

// nativeTable is a table: its chains, and the sets to which packets add, by name.
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

// nativeFamilies are the families whose chains packets of IP meet, by their numbers.
var nativeFamilies = map[uint8]string{unix.NFPROTO_INET: "inet", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_IPV6: "ip6"}

// isOfIPTables says whether a table has a name that iptables-nft gives to its own.
func (id nativeID) isOfIPTables() bool {
	return id.family != "inet" && slices.Contains([]string{"raw", "mangle", "nat", "filter", "security"}, id.name)
}

// loadNative reads kube-proxy's tables of nftables, and those of others.
func (b *ruleBook) loadNative() error {
	b.tables = map[nativeID]*nativeTable{}
	all, err := tools.Run(b.host.exec, "", "nft", "list", "tables")
	if err != nil {
		return err
	}
	for line := range strings.Lines(all) {
		words := strings.Fields(line) // table inet firewall
		if len(words) != 3 || !slices.Contains(slices.Collect(maps.Values(nativeFamilies)), words[1]) {
			continue
		}
		id := nativeID{words[1], words[2]}
		if id.isOfIPTables() || id.name == watchTable {
			continue
		}
		list, err := tools.Run(b.host.exec, "", "nft", "-a", "list", "table", id.family, id.name)
		if err != nil {
			return err
		}
		if b.tables[id], err = readNative(list); err != nil {
			return err
		}
	}
	return nil
}

// proxyTable is kube-proxy's table of a family; nil if there is none.
func (b *ruleBook) proxyTable(v6 bool) *nativeTable {
	return b.tables[nativeID{tools.NFTFamily(familyOf(v6)), tools.NFTTable}]
}

func familyOf(v6 bool) scenarios.IPFamily {
	if v6 {
		return scenarios.FamilyIPv6
	}
	return scenarios.FamilyIPv4
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
			one := &nativeChain{atHook: chain.Hooking != nil, policy: netfilter.Accept, rules: map[uint64]*netfilter.Rule{}}
			if chain.Policy != nil && *chain.Policy == expr.Drop {
				one.policy = netfilter.Drop
			}
			for _, r := range chain.Rules {
				one.rules[r.Handle] = &netfilter.Rule{Text: kernel.Speller().Rule(table, chain, r), Fact: packetsim.FactOf(table, r)}
			}
			out.chains[chain.Name] = one
		}
		out.remember(table, kernel.Clock().Now())
	}
	return out, nil
}

// metNative is a step in a native table; false for the end of a chain at a hook, which its policy tells.
func (b *ruleBook) metNative(id nativeID, r *nftrace.Report) (packetsim.Step, bool) {
	b.load()
	step := packetsim.Step{Family: id.family, Table: r.Table, Chain: r.Chain, Kind: r.Kind}
	table := b.tables[id]
	if table == nil || table.chains[r.Chain] == nil {
		return step, true // the rules have changed since
	}
	chain := table.chains[r.Chain]
	switch r.Kind {
	case packetsim.StepRule:
	case packetsim.StepPolicy:
		step.Policy = chain.policy
		return step, true
	default:
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
