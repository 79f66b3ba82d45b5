package trial

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// leakedNFT is the first chain by name of a service or an endpoint that no rule and no element leads to; empty if there is none. A chain
// that may have no element is none.
func leakedNFT(lines []line, mayHaveNone func(chain string) bool) string {
	led := map[string]bool{}
	for i := range lines {
		for _, m := range leadsTo.FindAllStringSubmatch(lines[i].text, -1) {
			led[strings.TrimSuffix(m[1], ",")] = true
		}
	}
	var out string
	for i := range lines {
		l := &lines[i]
		if strings.HasPrefix(l.text, ":") && strings.Contains(l.chain, "/") && !led[l.chain] && (out == "" || l.chain < out) &&
			!mayHaveNone(l.chain) {
			out = l.chain
		}
	}
	return out
}

// contested says whether a node's chain is for external addresses of a service port that are all those of other services too. An element
// can lead to one of them only.
func (r *run) contested(n *nodeState, family scenarios.IPFamily, chain string) bool {
	kind, rest, _ := strings.Cut(chain, "-")
	_, names, _ := strings.Cut(rest, "-")
	words := strings.Split(names, "/") // namespace, service, protocol, port
	if kind != "external" && kind != "firewall" || len(words) != 4 {
		return false
	}
	return r.specs.of(r.nodes.ruled()).Contested(n.name, oracle.ServicePort{
		Service:  types.NamespacedName{Namespace: words[0], Name: words[1]},
		Protocol: corev1.Protocol(strings.ToUpper(words[2])), Name: words[3], IPv6: family == scenarios.FamilyIPv6,
	})
}

// unusedGone lets the sync period pass for nodes of mode nftables that have chains out of use, and looks whether these are deleted then.
func (r *run) unusedGone(ctx context.Context) error {
	waiting, wait, err := r.allWaiting(ctx)
	if err != nil || len(waiting) == 0 {
		return err
	}
	r.exercised(oracle.NoStaleChain)
	if err := r.mendBy(ctx, wait); err != nil {
		return err
	}
	still, _, err := r.allWaiting(ctx)
	if err != nil {
		return err
	}
	for _, w := range waiting {
		i := slices.IndexFunc(still, func(o waitingChain) bool { return o == w })
		if i < 0 {
			continue
		}
		check := &scenarios.RulesCheck{Nodes: []string{w.node}, Family: w.family, Mode: scenarios.ModeNFTables, NoChains: []string{w.chain}}
		return r.add(Violation{
			Clause: oracle.NoStaleChain, Node: w.node, Want: "no chain that has been out of use for a sync period", Got: "chain " + w.chain,
			Check: []scenarios.Step{{Rules: check}},
		})
	}
	return nil
}

// waitingChain is a chain of mode nftables that waits to be deleted.
type waitingChain struct {
	node   string
	family scenarios.IPFamily
	chain  string
}

// allWaiting are those of all nodes, and the step after which they are gone.
func (r *run) allWaiting(ctx context.Context) (all []waitingChain, wait *scenarios.Step, err error) {
	wait = &scenarios.Step{Advance: &metav1.Duration{}, Sync: &scenarios.NodeSet{All: true}}
	for _, n := range r.nodes {
		if !n.inNFTables() {
			continue
		}
		wait.Advance.Duration = max(wait.Advance.Duration, n.syncPeriod())
		for _, family := range tools.Families(r.cluster.IPFamily) {
			text, err := r.world.List(ctx, n.name, family)
			if err != nil {
				return nil, nil, err
			}
			for _, chain := range waitingOf(text) {
				all = append(all, waitingChain{n.name, family, chain})
			}
		}
	}
	return all, wait, nil
}
