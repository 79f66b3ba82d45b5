package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// sharedChains are those that hold rules of many services, by table.
var sharedChains = map[string][]string{
	"nat":    {"KUBE-SERVICES", "KUBE-NODEPORTS"},
	"filter": {"KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL"},
}

// isServiceChain says whether a chain is one that belongs to one service.
func isServiceChain(name string) bool {
	for _, prefix := range []string{"KUBE-SVC-", "KUBE-SVL-", "KUBE-SEP-", "KUBE-FW-", "KUBE-EXT-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// rulesOf are the rules of each chain of a ruleset, by "table chain", as iptables-save prints them and put into an order in
// which they can be compared. Where onlyReached is set, chains of services that no packet can come to are left out.
func rulesOf(set *fakeipt.Ruleset, onlyReached bool) map[string][]string {
	chains := map[string][]string{}
	for _, table := range set.Tables() {
		reached := reachedChains(table)
		for chain := range table.Chains() {
			if onlyReached && isServiceChain(chain.Name) && !reached[chain.Name] {
				continue
			}
			lines := make([]string, 0, len(chain.Rules))
			for _, rule := range chain.Rules {
				lines = append(lines, rule.Text(chain.Name, set.Family(), set.Dialect()))
			}
			if slices.Contains(sharedChains[table.Name()], chain.Name) {
				lines = orderShared(lines)
			}
			chains[table.Name()+" "+chain.Name] = lines
		}
	}
	return chains
}

// orderShared puts the rules of a shared chain in the order of their services. The rules of one service stay in the order
// that they have. The rules for node ports must be the last ones; among themselves they have no order.
func orderShared(lines []string) []string {
	end := len(lines)
	for end > 0 && isNodePortsJump(lines[end-1]) {
		end--
	}
	slices.SortStableFunc(lines[:end], func(a, b string) int { return strings.Compare(serviceOf(a), serviceOf(b)) })
	slices.Sort(lines[end:])
	return lines
}

func isNodePortsJump(line string) bool { return strings.HasSuffix(line, "-j KUBE-NODEPORTS") }

// serviceOf is the first word of the comment: the name of the service port.
func serviceOf(line string) string {
	_, comment, _ := strings.Cut(line, "--comment ")
	name, _, _ := strings.Cut(strings.TrimPrefix(comment, `"`), " ")
	return strings.TrimSuffix(name, `"`)
}

// reachedChains are the chains of a table that packets can come to.
func reachedChains(table *fakeipt.Table) map[string]bool {
	reached := map[string]bool{}
	var next []*fakeipt.Chain
	for chain := range table.Chains() {
		if chain.Policy != fakeipt.PolicyNone {
			next = append(next, chain)
		}
	}
	for len(next) > 0 {
		chain := next[len(next)-1]
		next = next[:len(next)-1]
		for _, rule := range chain.Rules {
			jump, ok := rule.Target.(*fakeipt.Jump)
			if !ok || reached[jump.Chain] {
				continue
			}
			reached[jump.Chain] = true
			if target := table.Chain(jump.Chain); target != nil {
				next = append(next, target)
			}
		}
	}
	return reached
}

// compareRules counts our rules and returns a difference for each chain that is not the same. A nil list of lines
// is a chain that is not there.
func compareRules(ours, theirs map[string][]string) (rules int, differences []*Difference) {
	names := map[string]bool{}
	for name := range ours {
		names[name] = true
	}
	for name := range theirs {
		names[name] = true
	}
	for name := range names {
		rules += len(ours[name])
		if len(ours[name]) == len(theirs[name]) && slices.Equal(ours[name], theirs[name]) && (ours[name] == nil) == (theirs[name] == nil) {
			continue
		}
		differences = append(differences, &Difference{
			Kind: "rules", Where: name, Ours: declared(name, ours[name]), Theirs: declared(name, theirs[name]),
		})
	}
	slices.SortFunc(differences, func(a, b *Difference) int { return cmp.Compare(a.Where, b.Where) })
	return rules, differences
}

// declared puts a line for the chain itself before its rules, so that an empty chain is not one that is missing.
func declared(name string, lines []string) []string {
	if lines == nil {
		return nil
	}
	_, chain, _ := strings.Cut(name, " ")
	return append([]string{":" + chain}, lines...)
}
