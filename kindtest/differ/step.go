package differ

import (
	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
)

// stepText is a step of a walk as the tracer of the dialect spells it. The nft kernel names every rule as a rule, and
// gives no numbers to policies and ends of chains.
func stepText(s packetsim.Step, d fakeipt.Dialect) string {
	switch {
	case d == fakeipt.Legacy:
		return s.String()
	case s.Rule != nil:
		s.Kind = packetsim.StepRule
		return s.String()
	}
	return s.Table + ":" + s.Chain + ":" + string(s.Kind)
}

// stepTexts are the lines that the kernel writes for an outcome, of the rules of one dialect: the rule with TRACE itself is written only if
// the packet is traced already.
func stepTexts(o *packetsim.Outcome, d fakeipt.Dialect) []string {
	var lines []string
	first := true
	for _, s := range o.Steps {
		if s.Backend != "" && s.Backend != d.String() {
			continue
		}
		if d != fakeipt.Legacy || !first || s.Table != "raw" || s.Number != 1 || s.Rule == nil {
			lines = append(lines, stepText(s, d))
		}
		first = false
	}
	return lines
}

// replySteps are the steps of the packets that the node made because of the one that the outcome is of, each followed by those about it.
func replySteps(o *packetsim.Outcome, d fakeipt.Dialect) []string {
	var lines []string
	for i := range o.Replies {
		r := &o.Replies[i].Outcome
		lines = append(append(lines, stepTexts(r, d)...), replySteps(r, d)...)
	}
	return lines
}
