package scenarios

import "github.com/chainwalk/chainwalk/packetsim"

// Decide fills what the rules that the packet met say of its way, once its end is known: whether it was masqueraded, and the rule that
// made the end what it is, which is the last one for a packet that was stopped, the translation for one that arrived.
func (w *Way) Decide(d packetsim.Decision) {
	w.Rule, w.Masqueraded = "", No
	if d.SourceTranslated {
		w.Masqueraded = Yes
	}
	switch w.End {
	case Rejected, Dropped:
		w.Rule = ruleText(d.Last)
	case Delivered, Refused:
		w.Rule = ruleText(d.Translation)
	}
}

// ruleText is the rule of a step, or the step's name where it is a policy.
func ruleText(step *packetsim.Step) string {
	switch {
	case step == nil:
		return ""
	case step.Text == "":
		return step.String()
	}
	return step.Text
}

// TraceOf is what a report shows of steps.
func TraceOf(steps []packetsim.Step) []TraceStep {
	var out []TraceStep
	for _, step := range steps {
		out = append(out, TraceStep{At: step.String(), Rule: step.Text})
	}
	return out
}
