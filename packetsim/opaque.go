package packetsim

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// OpaqueError says that a packet met a rule with an extension that is not known, so that nobody can say what becomes of it.
type OpaqueError struct {
	// Host is the one whose rule it is.
	Host string
	// Extension is what is not known: "match NAME" or "target NAME".
	Extension string
	// Table, Chain and Number (from 1) are the place of the rule now.
	Table, Chain string
	Number       int
	// Rule is its text, and where it was loaded from.
	Rule *xtables.OpaqueRule
}

// Error names the extension, the rule, and where it is from.
func (e *OpaqueError) Error() string {
	return fmt.Sprintf("not supported: an extension that is not known: %s of %s:%s:rule:%d (%s, line %d: -A %s %s)",
		e.Extension, e.Table, e.Chain, e.Number, e.Rule.Source, e.Rule.Line, e.Chain, e.Rule.Text)
}

// MarshalText gives Error.
func (e *OpaqueError) MarshalText() ([]byte, error) { return []byte(e.Error()), nil }

// matchOpaque is a match that is not known. The rule does not hold if one of the matches behind it does not; what a packet that all of
// them let through meets is an error. A match that would remember that it was asked is not asked, since the kernel asks it only if
// the unknown one holds.
func (w *walk) matchOpaque(s *skb, m *xtables.OpaqueMatch) bool {
	place := w.rule.place
	behind := w.rule.rule.Matches[place+1:]
	for i, other := range behind {
		if remembers(other) {
			continue
		}
		if _, opaque := other.(*xtables.OpaqueMatch); opaque {
			continue
		}
		w.rule.place = len(w.rule.rule.Matches) - len(behind) + i
		if !w.matches(s, other) && !w.hotdrop {
			return false
		}
		w.hotdrop = false // it drops only what comes to it
	}
	w.rule.place = place
	e := w.opaqueError("match "+m.Extension, m.Rule)
	if w.told&guess == 0 {
		w.fail(e)
		return false
	}
	return w.guess(s, e, AnswerMatches, AnswerDiffers)
}

// guess takes a rule that nobody knows to give either answer. It is true for the first.
func (w *walk) guess(s *skb, e *OpaqueError, yes, no RuleAnswer) bool {
	look := &RuleLook{Table: e.Table, Chain: e.Chain, Number: e.Number, Extension: e.Extension, Answer: no,
		Rule: w.valueOf(w.rule.rule, e.Chain)}
	if s.hooks.mixed {
		look.Dialect = w.rules.Dialect()
	}
	fell := w.chance.Draw(certain / answersPerRule)
	if fell {
		look.Answer = yes
	}
	w.tell(Event{Kind: EventOpaque, Rule: look})
	return fell
}

// guesses is how many times as likely the outcome is if the rules that nobody knows give the answers that they were taken to give.
func (o *Outcome) guesses() float64 {
	times := 1.0
	for i := range o.Events {
		if o.Events[i].Kind == EventOpaque {
			times *= answersPerRule
		}
	}
	for i := range o.Replies {
		times *= o.Replies[i].Outcome.guesses()
	}
	return times
}

// remembers says that a match changes something of the host where it does not hold.
func remembers(m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Recent, *match.Hashlimit, *match.Limit, *match.NFAcct, *match.Set, *match.Quota,
		*match.Connlimit:
		return true
	case *match.Statistic:
		return m.Mode == match.StatisticNth
	}
	return false
}

// opaqueTarget is a target that is not known.
func (w *walk) opaqueTarget(s *skb, t *xtables.OpaqueTarget) fate {
	e := w.opaqueError("target "+t.Extension, t.Rule)
	switch {
	case w.told&guess == 0:
		w.fail(e)
	case w.guess(s, e, AnswerGoesOn, AnswerDecides):
		return goOn
	default:
		w.outcome.Verdict, w.outcome.To = Unknown, ToNone
	}
	return stopped
}

// opaqueError says at which rule the walk ends.
func (w *walk) opaqueError(extension string, rule *xtables.OpaqueRule) *OpaqueError {
	e := &OpaqueError{Host: w.h.name, Extension: extension, Table: w.rule.table.Name(), Rule: rule}
	for c := range w.rule.table.Unsorted() {
		if i := slices.Index(c.Rules, w.rule.rule); i >= 0 {
			e.Chain, e.Number = c.Name, i+1
		}
	}
	return e
}
