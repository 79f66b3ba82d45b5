package live

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Drift is what the rules of a node are other than those that its kube-proxy would leave there.
type Drift struct {
	// node is the node's name.
	node string
	// families were compared.
	families []netfilter.Family
	// missing are the rules that kube-proxy would add, and foreign those that it would remove.
	missing []driftRule
	foreign []driftRule
	// moved are the rules of a chain that stand in another order than kube-proxy would give them. The order of services in the chains that
	// they share means nothing, and kube-proxy itself draws it.
	moved []driftRule
	// before are the rules of others that stand before kube-proxy's and could keep packets to services from them. kube-proxy leaves them
	// alone.
	before []driftRule
	// Warnings say what in the configuration is likely to be a mistake.
	Warnings []string
}

// DriftOf lets our proxier sync on a node that has rules, and says what it changes in those of the families. What is not kube-proxy's it
// leaves alone, and so it is no drift, unless it stands before kube-proxy's rules and could take packets from them. Node makes the node
// with its rules; it is called twice.
func DriftOf(in sim.RulesInput, families []netfilter.Family, node func() (*packetsim.Host, error)) (*Drift, error) {
	is, err := node()
	if err != nil {
		return nil, err
	}
	if in.Host, err = node(); err != nil {
		return nil, err
	}
	rules, err := sim.Rules(in)
	if err != nil {
		return nil, fmt.Errorf("what kube-proxy would write on %s: %w", in.Node.Name, err)
	}
	drift, sum := &Drift{node: in.Node.Name, families: families, Warnings: rules.Warnings}, difference{}
	services, others := calledOn(in.Objects, in.Node), []factRule{}
	for _, family := range families {
		sum.add(changed(in.Node.Name, family, is, in.Host))
		others = append(others, before(in.Node.Name, is.Rulesets(family)[0], services)...)
	}
	of := func(rules []factRule) []driftRule {
		var out []driftRule
		for i := range rules {
			out = append(out, driftRule{rules[i].Rule, rules[i].service()})
		}
		return out
	}
	drift.missing, drift.foreign, drift.moved, drift.before = of(sum.missing), of(sum.foreign), of(sum.moved), of(others)
	return drift, nil
}

// changed is what the rules of a node are other than after a sync.
func changed(node string, family netfilter.Family, have, healed *packetsim.Host) difference {
	was, will := have.Rulesets(family)[0], healed.Rulesets(family)[0]
	d := compare(node, family, rulesetOf(was).withNative(have, family), rulesetOf(will).withNative(healed, family))
	if bothHave(have, family) {
		d.belongTo(was.Dialect)
	}
	return d
}

// None says whether the rules are as they should be.
func (d *Drift) None() bool { return len(d.missing)+len(d.foreign)+len(d.moved)+len(d.before) == 0 }

// DriftVersion is the version of the JSON of a Drift, and DriftKind its kind.
const (
	driftVersion = 1
	driftKind    = "RulesDiff"
)

// driftRule is a rule with the service that it is for.
type driftRule struct {
	Rule
	// Service is NAMESPACE/NAME, as the rule says it; empty if it says none.
	Service string `json:"service,omitempty"`
}

// WriteJSON writes the drift as JSON, with the rules in the order of the text.
func (d *Drift) WriteJSON(w io.Writer) error {
	of := func(rules []driftRule) []driftRule { return append([]driftRule{}, rules...) } // never null
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	families := make([]int, len(d.families))
	for i, family := range d.families {
		families[i] = int(family)
	}
	return encoder.Encode(struct {
		Version  int         `json:"version"`
		Kind     string      `json:"kind"`
		Node     string      `json:"node"`
		Families []int       `json:"families"` // those that were compared: 4, 6
		Foreign  []driftRule `json:"foreign"`  // kube-proxy would remove them
		Missing  []driftRule `json:"missing"`  // kube-proxy would add them
		Moved    []driftRule `json:"moved"`    // they stand in another order than kube-proxy would give them
		Before   []driftRule `json:"before"`   // of others: they stand before kube-proxy's and could take packets to services
	}{driftVersion, driftKind, d.node, families, of(d.foreign), of(d.missing), of(d.moved), of(d.before)})
}

// WriteText writes a line for each rule: + is missing, - is foreign, ~ is in another order, ! is of others and comes before.
func (d *Drift) WriteText(w io.Writer) error {
	for _, part := range []struct {
		sign  string
		rules []driftRule
	}{{"-", d.foreign}, {"+", d.missing}, {"~", d.moved}, {"!", d.before}} {
		for _, r := range part.rules {
			service := ""
			if r.Service != "" {
				service = "  (of " + r.Service + ")"
			}
			if _, err := fmt.Fprintf(w, "%s %s%s\n", part.sign, r.Rule, service); err != nil {
				return err
			}
		}
	}
	var families []string
	for _, family := range d.families {
		families = append(families, fmt.Sprintf("IPv%d", family))
	}
	of := strings.Join(families, " and ")
	if d.None() {
		_, err := fmt.Fprintf(w, "no drift: kube-proxy would leave the rules of %s as they are\n", of)
		return err
	}
	if len(d.before) > 0 {
		_, err := fmt.Fprintf(w,
			"%s of other programs %s before those of kube-proxy and could take packets to services (!), which kube-proxy leaves alone\n",
			plural(len(d.before), "rule"), comes(len(d.before)))
		if err != nil || len(d.missing)+len(d.foreign)+len(d.moved) == 0 {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "drift of %s: %d rules are missing (+), %d are stale or strange in kube-proxy's chains (-), %d are in another "+
		"order (~); "+
		"kube-proxy would fix it with its next full sync\n", of, len(d.missing), len(d.foreign), len(d.moved))
	return err
}

func comes(n int) string {
	if n == 1 {
		return "comes"
	}
	return "come"
}
