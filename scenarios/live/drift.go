package live

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

// Drift is what the rules of a node are other than those that its kube-proxy would leave there.
type Drift struct {
	// Node is the node's name.
	Node string
	// Families are those that were compared.
	Families []netfilter.Family
	// Missing are the rules that kube-proxy would add, and Foreign those that it would remove.
	Missing []Rule
	Foreign []Rule
	// Moved are the rules of a chain that stand in another order than kube-proxy would give them. The order of services in the chains that
	// they share means nothing, and kube-proxy itself draws it.
	Moved []Rule
	// Warnings say what in the configuration is likely to be a mistake.
	Warnings []string
}

// DriftOf lets our proxier sync on a node that has rules, and says what it changes in those of the families. What is not kube-proxy's it
// leaves alone, and so it is no drift. Node makes the node with its rules; it is called twice.
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
	drift, sum := &Drift{Node: in.Node.Name, Families: families, Warnings: rules.Warnings}, difference{}
	for _, family := range families {
		d, err := changed(in.Node.Name, family, fakeipt.First(is.Netfilter()), fakeipt.First(in.Host.Netfilter()))
		if err != nil {
			return nil, err
		}
		sum.add(d)
	}
	drift.Missing, drift.Foreign = sum.missing, sum.foreign
	for _, r := range sum.moved {
		if !slices.Contains(sharedChains, chainOf(r.Text)) || serviceOf(r.Text) == "" {
			drift.Moved = append(drift.Moved, r)
		}
	}
	return drift, nil
}

// sharedChains are those that have rules of all services.
var sharedChains = []string{"KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL"}

// changed is what the rules of a node are other than after a sync.
func changed(node string, family netfilter.Family, have, healed *fakeipt.Kernel) (difference, error) {
	was, err := rulesetOf(have, family)
	if err != nil {
		return difference{}, err
	}
	will, err := rulesetOf(healed, family)
	if err != nil {
		return difference{}, err
	}
	d := compare(node, family, was, will)
	if bothHave(have.Namespace(), family) {
		d.belongTo(have.Dialect())
	}
	return d, nil
}

// None says whether the rules are as they should be.
func (d *Drift) None() bool { return len(d.Missing)+len(d.Foreign)+len(d.Moved) == 0 }

// DriftVersion is the version of the JSON of a Drift, and DriftKind its kind.
const (
	DriftVersion = 1
	DriftKind    = "RulesDiff"
)

// driftRule is a rule with the service that it is of.
type driftRule struct {
	Rule
	// Service is NAMESPACE/NAME, as the rule's comment has it; empty if it names none.
	Service string `json:"service,omitempty"`
}

// WriteJSON writes the drift as JSON, with the rules in the order of the text.
func (d *Drift) WriteJSON(w io.Writer) error {
	of := func(rules []Rule) []driftRule {
		out := make([]driftRule, len(rules))
		for i, r := range rules {
			out[i] = driftRule{r, serviceOf(r.Text)}
		}
		return out
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	families := make([]int, len(d.Families))
	for i, family := range d.Families {
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
	}{DriftVersion, DriftKind, d.Node, families, of(d.Foreign), of(d.Missing), of(d.Moved)})
}

// WriteText writes a line for each rule: + is missing, - is foreign, ~ is in another order.
func (d *Drift) WriteText(w io.Writer) error {
	for _, part := range []struct {
		sign  string
		rules []Rule
	}{{"-", d.Foreign}, {"+", d.Missing}, {"~", d.Moved}} {
		for _, r := range part.rules {
			service := ""
			if name := serviceOf(r.Text); name != "" {
				service = "  (of " + name + ")"
			}
			if _, err := fmt.Fprintf(w, "%s %s%s\n", part.sign, r, service); err != nil {
				return err
			}
		}
	}
	var families []string
	for _, family := range d.Families {
		families = append(families, fmt.Sprintf("IPv%d", family))
	}
	of := strings.Join(families, " and ")
	if d.None() {
		_, err := fmt.Fprintf(w, "no drift: the rules of %s are those that kube-proxy would leave\n", of)
		return err
	}
	_, err := fmt.Fprintf(w, "drift of %s: %d rules are missing (+), %d are stale or strange in kube-proxy's chains (-), %d are in another "+
		"order (~); "+
		"kube-proxy would mend it with its next full sync\n", of, len(d.Missing), len(d.Foreign), len(d.Moved))
	return err
}
