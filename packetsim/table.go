package packetsim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxJumps is the number of jumps after which a table's walk is taken for a loop. The kernel refuses loops that a hook reaches, but
// a ruleset need not have passed those checks.
const maxJumps = 1 << 16

// errLoop says that the chains of a table lead a packet round in a circle.
var errLoop = errors.New("rules loop")

// position is a rule to come back to.
type position struct {
	program *program
	next    int
}

// fate is what a target decides.
type fate uint8

const (
	goOn fate = iota
	accepted
	stopped // dropped, rejected, or the walk failed
)

// tableWalk takes packets through the rules of one table at a time.
type tableWalk struct {
	*course
	match    matcher
	targets  targets
	tally    *tally
	values   *ruleValues
	indexing *indexPolicy
	jumps    int // since the walk began
	stack    []position
	own      compiledRule // the last rule that held and is not compiled

	// Of the table that the packet is in:
	s      *skb
	base   *program
	at     position    // the rule that is looked at
	index  *chainIndex // of its chain, if it has one
	cursor cursor      // the rules of its chain that are worth a look
	plain  bool        // each rule is asked itself, and those that do not match are told
}

// run takes the packet through a table's chain of its hook (ipt_do_table in net/ipv4/netfilter/ip_tables.c). It is false if the packet goes
// no further.
func (t *tableWalk) run(s *skb, base *baseChain) bool {
	t.match.rules, t.match.table = base.rules, base.table
	t.s, t.base, t.stack, t.plain = s, t.indexing.programOf(base.chain), t.stack[:0], t.told&tellMissed != 0
	t.enter(position{t.base, 0})
	for t.err == nil {
		t.at.next = t.cursor.next(t.at.next)
		if t.at.next >= t.cursor.all {
			if t.at.program == t.base {
				return t.policy(base.chain)
			}
			t.step(Step{Kind: StepReturn})
			t.pop()
			continue
		}
		rule := t.look()
		if rule == nil {
			if t.plain {
				t.missed()
			}
			if t.match.hotdrop {
				t.tellHotdrop()
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

// end forgets the packet and its table, but for what the next one writes over.
func (t *tableWalk) end() {
	t.match.ruleState, t.match.hotdrop, t.targets.bypassed = ruleState{}, false, false
	t.jumps, t.stack, t.own = 0, t.stack[:0], compiledRule{}
	t.s, t.base, t.at, t.index = nil, nil, position{}, nil
}

// enter goes to a rule of another chain.
func (t *tableWalk) enter(to position) {
	t.at, t.index = to, nil
	if to.program.long != nil && !t.plain {
		t.index = t.indexing.indexOf(to.program)
	}
	t.cursor.start(t.index, t.s, int(to.program.rules), to.next)
}

// rule is the rule that is looked at.
func (t *tableWalk) rule() *xtables.Rule { return t.at.program.chain.Rules[t.at.next] }

// compiled is the rule that is looked at as it is compiled, nil if it is not.
func (t *tableWalk) compiled() *compiledRule {
	switch {
	case t.plain:
	case t.at.program.long == nil:
		return t.at.program.short(t.at.next)
	case t.index != nil:
		return &t.index.compiled[t.at.next]
	}
	return nil
}

// look is the rule that is looked at, if the packet meets its conditions, or nil.
func (t *tableWalk) look() *compiledRule {
	if r := t.compiled(); r != nil {
		if t.holds(r) {
			return r
		}
		return nil
	}
	rule := t.rule()
	t.match.rule = rule
	if !t.blames(t.match.ruleMatches(t.s, rule)) {
		return nil
	}
	t.own = compiledRule{op: opOf(rule.Target)}
	return &t.own
}

// holds asks the compiled conditions first, which stand before the others in the rule, and then the rule if there are others.
func (t *tableWalk) holds(r *compiledRule) bool {
	if r.flags&asksRule == 0 && (!r.comparesEqual(t.s) || r.flags&draws != 0 && t.chance.Draw(r.draw) == (r.flags&invertsDraw != 0)) {
		return false
	}
	if r.flags&(asksRule|asksMatches) == 0 {
		return true
	}
	rule := t.rule()
	t.match.rule = rule
	if r.flags&asksRule != 0 {
		return t.blames(t.match.ruleMatches(t.s, rule))
	}
	return t.blames(t.match.matchesFrom(t.s, rule, int(r.rest)))
}

// blames is what a rule was found to do; if the walk failed by that, its error names the rule.
func (t *tableWalk) blames(holds bool) bool {
	if t.err != nil {
		t.blame()
	}
	return holds
}

func (t *tableWalk) blame() {
	if errors.As(t.err, new(*OpaqueError)) || errors.As(t.err, new(*ruleError)) {
		return
	}
	chain, rules := t.at.program.chain, t.match.rules
	t.err = &ruleError{cause: t.err, rule: fmt.Sprintf("%s:%s:rule:%d: %s", t.match.table.Name(), chain.Name, t.at.next+1,
		t.rule().Text(chain.Name, rules.Family(), rules.Dialect()))}
}

// ruleError is why a walk cannot go on, and the rule that it cannot judge.
type ruleError struct {
	cause error
	rule  string
}

func (e *ruleError) Error() string { return e.cause.Error() + " (" + e.rule + ")" }

// Unwrap returns the cause.
func (e *ruleError) Unwrap() error { return e.cause }

// missed tells the rule that was looked at and does not match.
func (t *tableWalk) missed() {
	rule := t.rule()
	part := t.match.failedPart(t.s, rule)
	key := missedRule{rule, part, rulesKind{t.match.rules.Family(), t.match.rules.Dialect()}, t.match.table.Name(), t.s.hooks.mixed}
	look := t.values.missed.known[key]
	if look == nil || look.Number != t.at.next+1 || look.Chain != t.at.program.chain.Name {
		look = t.missedLook(part)
		t.values.missed.keep(key, look)
	}
	t.tell(Event{Kind: EventMissed, Rule: look})
}

// missedLook is the rule that is looked at, and the part of it that does not hold.
func (t *tableWalk) missedLook(failed rulePart) *RuleLook {
	rule, chain := t.rule(), t.at.program.chain
	look := &RuleLook{Table: t.match.table.Name(), Chain: chain.Name, Number: t.at.next + 1, Rule: valueOf(t.match.rules, rule, chain.Name)}
	if t.s.hooks.mixed {
		look.Dialect = t.match.rules.Dialect()
	}
	part := failed.of(rule)
	condition := valueOf(t.match.rules, &part, "")
	look.Failed, look.FailedAt = strings.TrimPrefix(condition.Text, "-A  "), condition.Fact.Conditions
	return look
}

// tellHotdrop notes the rule of which a match has dropped the packet: the trace of nf_tables has it, that of the legacy tables has not.
func (t *tableWalk) tellHotdrop() {
	if t.match.rules.Dialect() == netfilter.NFT && t.tells() {
		met := valueOf(t.match.rules, t.rule(), t.at.program.chain.Name)
		t.step(Step{Kind: StepRule, Rule: &met})
	}
}

// step notes a line of the trace at the place where the packet is.
func (t *tableWalk) step(step Step) {
	if !t.tells() {
		return
	}
	step.Hook, step.Table, step.Chain, step.Number = t.s.hook.String(), t.match.table.Name(), t.at.program.chain.Name, t.at.next+1
	if t.s.hooks.mixed {
		step.Dialect = t.match.rules.Dialect()
	}
	if cap(t.outcome.Steps) == 0 {
		t.outcome.Steps = make([]Step, 0, usualSteps)
	}
	t.outcome.Steps = append(t.outcome.Steps, step)
}

// usualSteps is room for what a packet to a service meets on a node.
const usualSteps = 16

// stepOfRule notes the rule that the packet has met.
func (t *tableWalk) stepOfRule(rule *xtables.Rule) {
	if !t.tells() {
		return
	}
	met := t.values.of(t.match.rules, rule, t.at.program.chain.Name)
	t.step(Step{Kind: RuleStepKind(&met.Fact, t.at.program == t.base), Rule: met})
}

// pop goes back to the rule after the last jump, or from the built-in chain to its policy.
func (t *tableWalk) pop() {
	stack := t.stack
	if len(stack) == 0 {
		t.enter(position{t.base, int(t.base.rules)})
		return
	}
	t.enter(stack[len(stack)-1])
	t.stack = stack[:len(stack)-1]
}

// policy ends the built-in chain.
func (t *tableWalk) policy(base *ruleset.Chain) bool {
	t.step(Step{Kind: StepPolicy, Policy: base.Policy.Verdict()})
	if t.match.table.CountsPolicy(base.Name) {
		t.tally.count(base.Counters, t.s)
	}
	return base.Policy != ruleset.PolicyDrop
}

// apply counts a rule that matched and does what its target says.
func (t *tableWalk) apply(r *compiledRule) fate {
	if t.tally.counts() || t.tells() {
		rule := t.rule()
		t.tally.count(rule.Counters, t.s)
		t.stepOfRule(rule)
	}
	switch r.op {
	case toNext:
		t.at.next++
		return goOn
	case toAccept:
		return accepted
	case toDrop:
		return stopped
	case toReturn:
		t.pop()
		return goOn
	case toChain, toChainForGood:
		return t.jump(r)
	}
	f := t.target(r)
	if t.tells() {
		t.notice(t.s, "")
	}
	if f == goOn {
		t.at.next++
	}
	return f
}

// target does what a target says that is no verdict and no jump.
func (t *tableWalk) target(r *compiledRule) fate {
	if r.op == toEndpoint {
		return t.targets.dnatTo(t.s.conn, t.at.program.address, t.at.program.port)
	}
	rule := t.rule()
	t.match.rule = rule
	f := t.targets.target(t.s, rule.Target)
	if t.err != nil {
		t.blame()
	}
	return f
}

// RuleStepKind is how the legacy kernel's log calls a rule that a packet meets in a chain, which builtIn says to be one of the kernel's
// own: a rule without conditions and with a plain verdict looks to it like the tail of its chain (get_chainname_rulenum in
// net/ipv4/netfilter/ip_tables.c). The steps of a walk are spelled so, whatever the dialect.
func RuleStepKind(f *netfilter.Fact, builtIn bool) StepKind {
	switch {
	case f.Verdict == "", f.Comment != "", !f.Conditions.Any():
		return StepRule
	case builtIn:
		return StepPolicy
	}
	return StepReturn
}

func (t *tableWalk) jump(r *compiledRule) fate {
	to := r.to.Load()
	if to == nil || to.table.Load() != t.match.table.ID() {
		if to = t.find(); to == nil {
			return stopped
		}
		r.to.Store(to)
	}
	if t.jumps++; t.jumps > maxJumps {
		t.fail(fmt.Errorf("table %s: chain %s: %w: gave up after %d jumps", t.match.table.Name(), t.at.program.chain.Name, errLoop, maxJumps))
		return stopped
	}
	if r.op == toChain {
		t.stack = append(t.stack, position{t.at.program, t.at.next + 1})
	}
	t.enter(position{to, 0})
	return goOn
}

// find looks the chain up that the rule jumps to.
func (t *tableWalk) find() *program {
	name := t.rule().Target.Name()
	chain := t.match.table.Chain(name)
	if chain == nil {
		t.fail(fmt.Errorf("table %s: chain %s: rule %d jumps to %s, which is not there", t.match.table.Name(), t.at.program.chain.Name,
			t.at.next+1,
			name))
		return nil
	}
	to := t.indexing.programOf(chain)
	to.table.Store(t.match.table.ID())
	return to
}
