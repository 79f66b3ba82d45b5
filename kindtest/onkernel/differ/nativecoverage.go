package differ

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nativeRules are the expressions of a kernel's rules by "TABLE:CHAIN:NUMBER".
func nativeRules(k *nftables.Kernel) map[string][]string {
	rules := map[string][]string{}
	for _, t := range k.State().Tables() {
		for _, c := range t.Chains() {
			for i, rule := range c.Rules {
				var names []string
				for _, x := range rule.Exprs {
					names = append(names, kindOf(x))
				}
				slices.Sort(names)
				rules[fmt.Sprintf("%s:%s:%d", t.Name, c.Name, i+1)] = slices.Compact(names)
			}
		}
	}
	return rules
}

// kindOf is what coverage counts an expression as: its name, with what there are few of.
func kindOf(x expr.Expr) string {
	words := strings.Fields(strings.Trim(expr.Text(x), "[] "))
	first := func(n int) string { return strings.Join(words[:min(n, len(words))], " ") }
	switch x := x.(type) {
	case *expr.Meta, *expr.CT, *expr.RT:
		return first(3)
	case *expr.Payload:
		for _, word := range []string{"link", "network", "transport", "inner"} {
			if slices.Contains(words, word) {
				return first(2) + " " + word
			}
		}
	case *expr.Cmp, *expr.Range, *expr.Dynset, *expr.NAT, *expr.Exthdr:
		return first(2)
	case *expr.Fib:
		before, _, _ := strings.Cut(strings.Join(words, " "), " =>")
		return before
	case *expr.Lookup:
		return x.Name() + map[bool]string{true: " map"}[x.Map] + map[bool]string{true: " not"}[x.Invert]
	case *expr.Numgen:
		return x.Name() + map[bool]string{true: " random", false: " inc"}[x.Random]
	case *expr.Immediate:
		if x.Data.Verdict != nil {
			return x.Name() + " " + words[len(words)-1-map[bool]int{true: 2}[slices.Contains(words, "->")]]
		}
		return x.Name() + " data"
	case *expr.Reject:
		return fmt.Sprint(x.Name(), " ", x.Kind)
	case *expr.Limit:
		return x.Name() + map[bool]string{true: " over"}[x.Over]
	case *expr.Objref:
		return x.Name() + map[bool]string{true: " of a map"}[x.Set != ""]
	}
	return x.Name()
}

// addNative counts the expressions of native rules and those of rules that the kernel's steps name.
func (c coverage) addNative(rules map[string][]string, a *kernelAnswer) {
	for _, names := range rules {
		for _, name := range names {
			c.reach(name).Rules++
		}
	}
	for i := range a.Sends {
		for _, step := range slices.Concat(a.Sends[i].Steps, a.Sends[i].Replies) {
			for _, name := range rules[placeOfStep(strings.TrimPrefix(step, "reply "))] {
				c.reach(name).Met++
			}
		}
	}
}

// printNative says how often packets met each expression, and which none did.
func (c coverage) printNative(w io.Writer) {
	var met, unmet []string
	for _, name := range sortedKeys(c) {
		if r := c[name]; r.Met > 0 {
			met = append(met, fmt.Sprintf("%s %d (%d rules)", name, r.Met, r.Rules))
		} else {
			unmet = append(unmet, fmt.Sprintf("%s (%d rules)", name, r.Rules))
		}
	}
	fmt.Fprintf(w, "  reached by packets: %d of %d expressions: %s\n", len(met), len(c), strings.Join(met, ", "))
	if len(unmet) > 0 {
		fmt.Fprintf(w, "  not reached in this run: %s\n", strings.Join(unmet, ", "))
	}
}

// join adds what another run has met.
func (c coverage) join(o coverage) {
	for name, r := range o {
		have := c.reach(name)
		have.Rules += r.Rules
		have.Met += r.Met
	}
}
