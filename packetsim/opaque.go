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
	// Extension is what is not known: "match NAME" or "target NAME", or "expression NAME" of a rule of nftables.
	Extension string
	// Table, Chain and Number (from 1) are the place of the rule now.
	Table, Chain string
	Number       int
	// Rule is its text, and where it was loaded from; nil of a rule of nftables.
	Rule *xtables.OpaqueRule
	// Native is the rule if it is one of nftables.
	Native *ExpressionError
}

// Error names the extension, the rule, and where it is from.
func (e *OpaqueError) Error() string {
	if e.Native != nil {
		return e.Native.Error()
	}
	return fmt.Sprintf("not supported: an extension that is not known: %s of %s:%s:rule:%d (%s, line %d: -A %s %s)",
		e.Extension, e.Table, e.Chain, e.Number, e.Rule.Source, e.Rule.Line, e.Chain, e.Rule.Text)
}

// Unwrap is Native.
func (e *OpaqueError) Unwrap() error {
	if e.Native != nil {
		return e.Native
	}
	return nil
}

// MarshalText gives Error.
func (e *OpaqueError) MarshalText() ([]byte, error) { return []byte(e.Error()), nil }

// matchOpaque is a match that is not known. The rule does not hold if one of the matches behind it does not; what a packet that all of
// them let through meets is an error. A match that would remember that it was asked is not asked, since the kernel asks it only if
// the unknown one holds.
func (mt *matcher) matchOpaque(s *skb, m *xtables.OpaqueMatch) bool {
	place := mt.place
	behind := mt.rule.Matches[place+1:]
	for i, other := range behind {
		if remembers(other) {
			continue
		}
		if _, opaque := other.(*xtables.OpaqueMatch); opaque {
			continue
		}
		mt.place = len(mt.rule.Matches) - len(behind) + i
		if !mt.matches(s, other) && !mt.hotdrop {
			return false
		}
		mt.hotdrop = false // it drops only what comes to it
	}
	mt.place = place
	e := mt.opaqueError("match "+m.Extension, m.Rule)
	if mt.told&guess == 0 {
		mt.fail(e)
		return false
	}
	return mt.guess(s, e, AnswerMatches, AnswerDiffers)
}

// guess assumes either answer of an unknown rule. It is true for the first.
func (mt *matcher) guess(s *skb, e *OpaqueError, yes, no RuleAnswer) bool {
	look := &RuleLook{Table: e.Table, Chain: e.Chain, Number: e.Number, Extension: e.Extension, Answer: no,
		Rule: valueOf(mt.rules, mt.rule, e.Chain)}
	if s.hooks.mixed {
		look.Dialect = mt.rules.Dialect()
	}
	fell := mt.chance.Draw(certain / answersPerRule)
	if fell {
		look.Answer = yes
	}
	mt.tell(Event{Kind: EventOpaque, Rule: look})
	return fell
}

// guesses is how many times as likely the outcome is if the unknown rules give the assumed answers.
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
func (tg *targets) opaqueTarget(s *skb, t *xtables.OpaqueTarget) fate {
	e := tg.match.opaqueError("target "+t.Extension, t.Rule)
	switch {
	case tg.told&guess == 0:
		tg.fail(e)
	case tg.match.guess(s, e, AnswerGoesOn, AnswerDecides):
		return goOn
	default:
		tg.outcome.Verdict, tg.outcome.To = Unknown, ToNone
	}
	return stopped
}

// opaqueError says at which rule the walk ends.
func (mt *matcher) opaqueError(extension string, rule *xtables.OpaqueRule) *OpaqueError {
	e := &OpaqueError{Host: mt.host, Extension: extension, Table: mt.table.Name(), Rule: rule}
	for c := range mt.table.Unsorted() {
		if i := slices.Index(c.Rules, mt.rule); i >= 0 {
			e.Chain, e.Number = c.Name, i+1
		}
	}
	return e
}
