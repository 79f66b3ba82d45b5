package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// causeOfUnit says what is wrong with kube-proxy's rules of a unit.
func (f *group) causeOfUnit(e *exam) cause.Cause {
	c := cause.Cause{Owner: "kube-proxy", What: f.whatOfUnit(), Remedy: f.remedyOfUnit()}
	missing, others := len(f.missing), len(f.foreign)
	switch {
	case f.unit.none:
		c.Code, c.Says = cause.NoProxyRules, sorted(f.nodes)[0]+" has no rules of kube-proxy"+f.unit.of
		if len(f.nodes) > 1 {
			c.Says = plural(len(f.nodes), "node") + " have no rules of kube-proxy" + f.unit.of
		}
	case f.unit.whole():
		missing, others, services := e.otherOn(f.nodes)
		c.Code, c.Says = cause.RuleMissing, fmt.Sprintf("%s of kube-proxy's are missing", plural(missing, "rule"))
		switch {
		case missing == 0:
			c.Code, c.Says = cause.RuleStale, fmt.Sprintf("%s of kube-proxy's are of what is no more", plural(others, "rule"))
		case others > 0:
			c.Says += fmt.Sprintf(", and %d that it would not write are there", others)
		}
		c.Says += fmt.Sprintf(", those of %s", plural(services, "service"))
	case others > 0 && f.ofGoneEndpoint(e):
		c.Code, c.Says = cause.RuleStale, fmt.Sprintf("the rules for %s are older than its endpoints", f.unit)
	case missing > 0 && others > 0:
		c.Code, c.Says = cause.RuleMissing, fmt.Sprintf("%s of kube-proxy's for %s %s changed", plural(missing, "rule"), f.unit, are(missing))
	case missing > 0:
		c.Code, c.Says = cause.RuleMissing, fmt.Sprintf("%s of kube-proxy's for %s %s missing", plural(missing, "rule"), f.unit, are(missing))
	case others > 0 && f.strange():
		c.Code, c.Says = cause.RuleForeign, fmt.Sprintf("%s for %s %s not kube-proxy's", plural(others, "rule"), f.unit, are(others))
	case others > 0:
		c.Code, c.Says = cause.RuleStale, fmt.Sprintf("%s for %s %s of what is no more", plural(others, "rule"), f.unit, are(others))
	default:
		c.Code, c.Says = cause.RulesMoved, fmt.Sprintf("the rules for %s stand in another order than kube-proxy gives them", f.unit)
	}
	c.Says = cause.Sentence(c.Says)
	return c
}

// String names what the rules are for.
func (u unit) String() string {
	if u.chain == "" {
		return u.service
	}
	table, chain := splitKey(u.chain)
	if set, is := strings.CutPrefix(chain, "@"); is {
		return fmt.Sprintf("set %s of table %s", set, table)
	}
	return fmt.Sprintf("chain %s of table %s", chain, table)
}

// whole says that the unit are all rules of a node.
func (u unit) whole() bool { return u.service == "" && u.chain == "" }

// ofGoneEndpoint says that packets met the rules of an endpoint that the objects do not have.
func (f *group) ofGoneEndpoint(e *exam) bool {
	if f.gone {
		return true
	}
	for _, r := range f.foreign {
		if provenance.IsOfEndpoint(r.Chain) && !e.units.asked[r.Chain] && f.unit.service != "" && e.services[f.unit.service] {
			return true
		}
	}
	return false
}

// strange says that some of the rules that should not be there are such as kube-proxy does not write.
func (f *group) strange() bool {
	for _, r := range f.foreign {
		if r.native() && f.unit.service != "" {
			if !provenance.IsUsual(r.Chain, &r.fact) {
				return true
			}
			continue
		}
		if f.unit.service == "" || r.service() == "" && r.fact.Jump == "" && !r.fact.Translation.To().IsValid() {
			return true
		}
	}
	return false
}

// whatOfUnit is the only rule of the unit that is other, whatever its node, or what its rules are for.
func (f *group) whatOfUnit() string {
	texts := map[string]bool{}
	for _, rules := range []map[Rule]*factRule{f.missing, f.foreign, f.moved} {
		for r := range maps.Keys(rules) {
			texts[r.command()] = true
		}
	}
	switch {
	case f.unit.whole():
		return "kube-proxy's rules"
	case len(texts) == 1:
		return sorted(texts)[0]
	}
	return "rules for " + f.unit.String()
}

// remedyOfUnit has kube-proxy write its rules anew.
func (f *group) remedyOfUnit() string {
	nodes := sorted(f.nodes)
	if len(nodes) != 1 {
		return "kubectl -n kube-system rollout restart daemonset kube-proxy"
	}
	return "kubectl -n kube-system delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=" + nodes[0]
}

// otherOn counts the rules that are other on nodes, and the services that they are for.
func (e *exam) otherOn(nodes map[string]bool) (missing, others, services int) {
	of := map[string]bool{}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		d := e.rules[node]
		missing, others = missing+len(d.missing), others+len(d.foreign)
		for _, rules := range [][]factRule{d.missing, d.foreign} {
			for i := range rules {
				if service := e.units.service(&rules[i]); service != "" {
					of[service] = true
				}
			}
		}
	}
	return missing, others, len(of)
}

// plural is a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(n), what)
}

// thousands is a number as people read it: 1,641 from ten thousand on.
func thousands(n int) string {
	text := fmt.Sprint(n)
	if n < 10_000 {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
