package packetsim

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// maxJumps is the number of jumps after which a table's walk is taken for a loop. The kernel refuses loops that a hook reaches, but
// a ruleset need not have passed those checks.
const maxJumps = 1 << 16

// errLoop says that the chains of a table lead a packet round in a circle.
var errLoop = errors.New("rules loop")

// position is a rule to come back to.
type position struct {
	chain *fakeipt.Chain
	next  int
}

// fate is what a target decides.
type fate uint8

const (
	goOn fate = iota
	accepted
	stopped // dropped, rejected, or the walk failed
)

// runTables takes the packet through the chains that its hook has in a stage, one after the other: a verdict to accept it in one says
// nothing about the next. It is false if the packet goes no further.
func (w *walk) runTables(s *skb, st stage) bool {
	for base := s.baseChain(st); base != nil; base = base.next {
		if !w.runTable(s, base) {
			return false
		}
	}
	return true
}

// baseChain is the first chain that the packet's hook has in a stage, or nil.
func (s *skb) baseChain(st stage) *baseChain {
	if base := &s.hooks.base[s.hook][st]; base.chain != nil {
		return base
	}
	return nil
}

// runTable takes the packet through a table's chain of its hook (ipt_do_table in
// net/ipv4/netfilter/ip_tables.c). It is false if the packet goes no further.
func (w *walk) runTable(s *skb, base *baseChain) bool {
	bottom := len(w.stack)
	w.rules = base.rules
	passes := w.runChain(s, base.table, base.chain)
	w.stack = w.stack[:bottom]
	return passes
}

func (w *walk) runChain(s *skb, table *fakeipt.Table, base *fakeipt.Chain) bool {
	t := tableWalk{w: w, table: table, s: s, base: base, bottom: len(w.stack)}
	t.enter(position{base, 0})
	for w.err == nil {
		t.at.next = t.cursor.next(t.at.next)
		if t.at.next >= len(t.at.chain.Rules) {
			if t.at.chain == base {
				return t.policy()
			}
			t.step(StepReturn, nil)
			t.pop()
			continue
		}
		rule := t.at.chain.Rules[t.at.next]
		w.rule = ruleState{rule: rule, table: table}
		if !w.ruleMatches(s, rule) {
			if w.hotdrop {
				return false
			}
			t.at.next++
			continue
		}
		if f := t.apply(rule); f != goOn {
			return f == accepted
		}
	}
	return false
}

// tableWalk is the state of one runTable.
type tableWalk struct {
	w      *walk
	table  *fakeipt.Table
	s      *skb
	base   *fakeipt.Chain
	at     position // the rule that is looked at
	cursor cursor   // the rules of its chain that are worth a look
	bottom int      // w.stack's height at the start
}

// enter goes to a rule of another chain.
func (t *tableWalk) enter(to position) {
	t.at = to
	t.cursor.start(t.w.h.indexing.indexOf(to.chain), t.s, len(to.chain.Rules), to.next)
}

// step notes the rule (nil: the end of the chain) as a line of the trace.
func (t *tableWalk) step(kind StepKind, rule *fakeipt.Rule) {
	if !t.w.tells() {
		return
	}
	rules := t.w.rules
	step := Step{Hook: t.s.hook.String(), Table: t.table.Name(), Chain: t.at.chain.Name, Kind: kind, Number: t.at.next + 1}
	if t.s.hooks.mixed() {
		step.Backend = rules.Dialect().String()
	}
	if rule != nil {
		step.Rule, step.Text = rule, rule.Text(t.at.chain.Name, rules.Family(), rules.Dialect())
	} else if kind == StepPolicy {
		step.Policy = t.at.chain.Policy
	}
	t.w.outcome.Steps = append(t.w.outcome.Steps, step)
}

// pop goes back to the rule after the last jump, or from the built-in chain to its policy.
func (t *tableWalk) pop() {
	stack := t.w.stack
	if len(stack) == t.bottom {
		t.enter(position{t.base, len(t.base.Rules)})
		return
	}
	t.enter(stack[len(stack)-1])
	t.w.stack = stack[:len(stack)-1]
}

// policy ends the built-in chain.
func (t *tableWalk) policy() bool {
	t.step(StepPolicy, nil)
	if t.table.CountsPolicy(t.base.Name) {
		t.w.count(t.base.Counters, t.s)
	}
	return t.base.Policy != fakeipt.PolicyDrop
}

// apply counts a rule that matched and does what its target says.
func (t *tableWalk) apply(rule *fakeipt.Rule) fate {
	t.w.count(rule.Counters, t.s)
	t.step(RuleStepKind(rule, t.at.chain == t.base), rule)
	switch target := rule.Target.(type) {
	case nil:
		t.at.next++
		return goOn
	case *fakeipt.Verdict:
		return t.verdict(target)
	case *fakeipt.Jump:
		return t.jump(target)
	default:
		f := t.w.target(t.s, target)
		if t.w.tells() {
			t.w.notice(t.s, "")
		}
		if f == goOn {
			t.at.next++
		}
		return f
	}
}

// RuleStepKind is how the legacy kernel's log calls a rule that a packet meets in a chain, which builtIn says to be one of the kernel's own:
// a rule without conditions and with a plain verdict looks to it like the tail of its chain (get_chainname_rulenum in
// net/ipv4/netfilter/ip_tables.c). The steps of a walk are spelled so, whatever the dialect.
func RuleStepKind(rule *fakeipt.Rule, builtIn bool) StepKind {
	switch rule.Target.(type) {
	case *fakeipt.Verdict, *fakeipt.TargetQueue:
	default:
		return StepRule
	}
	if !unconditional(rule) {
		return StepRule
	}
	if builtIn {
		return StepPolicy
	}
	return StepReturn
}

func unconditional(r *fakeipt.Rule) bool {
	return r.Src == nil && r.Dst == nil && r.In == nil && r.Out == nil && r.Proto == (fakeipt.ProtoMatch{}) &&
		r.Fragment == fakeipt.FragmentAny && len(r.Matches) == 0
}

func (t *tableWalk) verdict(v *fakeipt.Verdict) fate {
	switch v.Kind {
	case fakeipt.VerdictAccept:
		return accepted
	case fakeipt.VerdictDrop:
		return stopped
	}
	t.pop()
	return goOn
}

func (t *tableWalk) jump(j *fakeipt.Jump) fate {
	w := t.w
	chain := t.table.Chain(j.Chain)
	if chain == nil {
		w.fail(fmt.Errorf("table %s: chain %s: rule %d jumps to %s, which is not there", t.table.Name(), t.at.chain.Name, t.at.next+1, j.Chain))
		return stopped
	}
	if w.jumps++; w.jumps > maxJumps {
		w.fail(fmt.Errorf("table %s: chain %s: %w: gave up after %d jumps", t.table.Name(), t.at.chain.Name, errLoop, maxJumps))
		return stopped
	}
	if !j.Goto {
		w.stack = append(w.stack, position{t.at.chain, t.at.next + 1})
	}
	t.enter(position{chain, 0})
	return goOn
}

// count notes one packet for the counters; keep adds it. What a probe counts is never kept.
func (w *walk) count(c *fakeipt.Counters, s *skb) {
	if c != nil && w.h.probes == 0 {
		j := &w.h.journal
		j.pending = append(j.pending, pendingCount{counters: c, bytes: uint64(s.size())})
	}
}
