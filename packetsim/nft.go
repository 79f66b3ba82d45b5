package packetsim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftBase is a base chain of nf_tables, as one host has it.
type nftBase struct {
	table   *nftables.Table
	chain   *nftables.Chain
	program *nftProgram // nil before the first packet
	live    *nftProgram // without idle rules
}

// start is where a walk begins.
func (b *nftBase) start(quiet bool) nftPosition {
	if b.program == nil {
		b.program = nftProgramOf(b.table, b.chain)
		b.live = b.program.in(b.table)
	}
	if quiet {
		return nftPosition{b.live, 0}
	}
	return nftPosition{b.program, 0}
}

// nftJumps is how many jumps may be open at once (NFT_JUMP_STACK_SIZE in include/net/netfilter/nf_tables.h).
const nftJumps = 16

// nftPosition is a rule to come back to.
type nftPosition struct {
	program *nftProgram
	next    int
}

// nftMachine is the machine of registers that nf_tables is, and the packet that expressions load them from (nft_regs, nft_pktinfo).
type nftMachine struct {
	*course
	targets *targets
	s       *skb
	wire    *maskedBytes // the packet's bytes, once a rule has asked for them
	view    nftView
	regs    nftRegisters
	code    expr.Code // the verdict so far
}

// nftRun runs the expressions of one rule (nft_rule_dp_for_each_expr in net/netfilter/nf_tables_core.c).
type nftRun struct {
	nftMachine
	touched  uint64 // means nothing: what is written must have been read
	tally    *tally
	base     *nftBase
	at       nftPosition       // the rule
	op       int               // the one of its operations that is run
	chain    string            // of the code Jump or Goto, unless to is set
	to       *nftProgram       // of that code, if it is known already
	element  *nftables.Element // that the code is from; nil: from the rule itself
	rejected *expr.Reject      // to be answered when the rule has been told
	looked   []nftLooked       // what its look-ups found, if the walk is told
}

// nftWalk takes packets through one base chain of nf_tables at a time (nft_do_chain in net/netfilter/nf_tables_core.c).
type nftWalk struct {
	nftRun
	values *nftValues
	jumps  int // since the walk began
	stack  [nftJumps]nftPosition
	depth  int
}

// run takes the packet through a base chain. It is false if the packet goes no further.
func (t *nftWalk) run(s *skb, base *nftBase) bool {
	t.s, t.base, t.depth, t.wire, t.view.has = s, base, 0, nil, 0
	t.at = base.start(t.quiet())
	for t.err == nil {
		if t.at.next == len(t.at.program.rules) {
			if t.tells() && t.at.program.chain != base.chain {
				t.step(Step{Kind: StepReturn, Verdict: "continue"})
			}
			if !t.pop() {
				return t.policy()
			}
			continue
		}
		t.rule()
		if t.err != nil {
			break
		}
		if t.code == expr.Break {
			if t.told&tellMissed != 0 {
				t.missed()
			}
			t.at.next++
			continue
		}
		if t.tells() {
			t.stepOfRule()
		}
		if f := t.decide(); f != goOn {
			return f == accepted
		}
	}
	return false
}

// quiet says that nothing is told of the rules.
func (t *nftMachine) quiet() bool { return t.told&(tellSteps|tellMissed) == 0 }

// end forgets the packet and its chain, and what of the registers is not known: no rule reads what it has not filled.
func (t *nftWalk) end() {
	if t.regs.tainted {
		t.regs.unknown, t.regs.tainted = [expr.RegisterBytes]byte{}, false
	}
	t.s, t.base, t.at, t.wire, t.to, t.element, t.rejected, t.jumps = nil, nil, nftPosition{}, nil, nil, nil, nil, 0
}

// decide does what the rule's verdict says.
func (t *nftWalk) decide() fate {
	switch t.code {
	case expr.Continue:
		t.at.next++
		return goOn
	case expr.Accept:
		return accepted
	case expr.Drop:
		if t.rejected != nil {
			t.reject(t.rejected)
		}
		return stopped
	case expr.Return:
		if t.pop() {
			return goOn
		}
		if t.policy() {
			return accepted
		}
		return stopped
	case expr.Jump, expr.Goto:
		return t.jump()
	}
	t.fail(fmt.Errorf("not supported: verdict %d", t.code))
	t.blame()
	return stopped
}

// pop goes back to the rule after the last jump; false if none is open.
func (t *nftWalk) pop() bool {
	if t.depth == 0 {
		return false
	}
	t.depth--
	t.at = t.stack[t.depth]
	return true
}

// policy ends the base chain.
func (t *nftWalk) policy() bool {
	drops := t.base.chain.Policy != nil && *t.base.chain.Policy == expr.Drop
	if t.tells() {
		t.at = nftPosition{t.base.program, len(t.base.chain.Rules)}
		if drops {
			t.step(Step{Kind: StepPolicy, Policy: netfilter.Drop, Verdict: "drop"})
		} else {
			t.step(Step{Kind: StepPolicy, Policy: netfilter.Accept, Verdict: "accept"})
		}
	}
	return !drops
}

// jump goes to the chain of the verdict.
func (t *nftWalk) jump() fate {
	to := t.to
	if to == nil {
		if to = t.target(); to == nil {
			return stopped
		}
	}
	if t.jumps++; t.jumps > maxJumps || t.code == expr.Jump && t.depth == nftJumps {
		t.fail(fmt.Errorf("%w: gave up after %d jumps", errLoop, t.jumps))
		t.blame()
		return stopped
	}
	if t.code == expr.Jump {
		t.stack[t.depth] = nftPosition{t.at.program, t.at.next + 1}
		t.depth++
	}
	if to.prunes && t.quiet() {
		to = to.in(t.base.table)
	}
	t.at = nftPosition{to, 0}
	return goOn
}

// target is the chain that the verdict leads to, which is kept where the verdict is from.
func (t *nftWalk) target() *nftProgram {
	chain := t.base.table.Chain(t.chain)
	if chain == nil {
		t.fail(fmt.Errorf("chain %s, to which it leads, is not there", t.chain))
		t.blame()
		return nil
	}
	to := nftProgramOf(t.base.table, chain)
	to.table.Store(t.base.table)
	switch {
	case t.element == nil:
		t.at.program.rules[t.at.next].ops[t.op].to.Store(to)
	case t.code == expr.Jump:
		t.element.Leads.Store(&nftables.Leads{Code: t.code, To: to})
	default:
		t.element.Leads.Store(&to.gone)
	}
	return to
}

// ExpressionError says that a packet met a rule of nf_tables with an expression of which nobody here can say what it does.
type ExpressionError struct {
	// Host is the one whose rule it is.
	Host string
	// Expression is what is not walked, with the reason.
	Expression string
	// Family, Table, Chain and Handle are the place of the rule, and Rule is its text.
	Family, Table, Chain string
	Handle               uint64
	Rule                 string

	cause error
}

// Error names the expression and the rule.
func (e *ExpressionError) Error() string {
	return fmt.Sprintf("%s (table %s %s, chain %s, handle %d: %s)", e.Expression, e.Family, e.Table, e.Chain, e.Handle, e.Rule)
}

// Unwrap is the cause.
func (e *ExpressionError) Unwrap() error { return e.cause }

// blame names the rule at which the walk failed.
func (t *nftWalk) blame() {
	if errors.As(t.err, new(*ExpressionError)) {
		return
	}
	r := t.at.program.rules[t.at.next].rule
	t.err = &ExpressionError{
		Host: t.targets.match.host, Expression: t.err.Error(), cause: t.err, Family: t.base.table.Family.String(), Table: t.base.table.Name,
		Chain: t.at.program.chain.Name, Handle: r.Handle, Rule: t.values.of(t, r).Text,
	}
}

// notWalked ends the walk at an expression that has no meaning here.
func (t *nftMachine) notWalked(x expr.Expr, what string) {
	text := "not supported: expression " + x.Name()
	if what != "" {
		text += " (" + what + ")"
	}
	t.fail(errors.New(text))
}

// step notes a line of the trace at the place where the packet is.
func (t *nftWalk) step(step Step) {
	if !t.tells() {
		return
	}
	step.Hook, step.Family, step.Table = t.s.hook.String(), t.base.table.Family.String(), t.base.table.Name
	step.Chain, step.Number = t.at.program.chain.Name, t.at.next+1
	if cap(t.outcome.Steps) == 0 {
		t.outcome.Steps = make([]Step, 0, usualSteps)
	}
	t.outcome.Steps = append(t.outcome.Steps, step)
}

// stepOfRule notes the rule that the packet has met, and what it has changed.
func (t *nftWalk) stepOfRule() {
	r := t.at.program.rules[t.at.next].rule
	t.step(Step{Kind: StepRule, Handle: r.Handle, Rule: t.met(r), Verdict: t.verdictText(), Elements: t.elements()})
	t.notice(t.s, "")
}

// met is the rule as the packet met it: a verdict that a map gave is the rule's.
func (t *nftWalk) met(r *nftables.Rule) *netfilter.Rule {
	value := t.values.of(t, r)
	if t.element == nil {
		return value
	}
	met := *value
	met.Fact.Verdict, met.Fact.Jump, met.Fact.Goto = "", "", false
	setVerdict(&met.Fact, t.code, t.leadsTo())
	return &met
}

// verdictText is the verdict as nft monitor trace prints it.
func (t *nftWalk) verdictText() string {
	switch t.code {
	case expr.Accept:
		return "accept"
	case expr.Drop:
		return "drop"
	case expr.Return:
		return "return"
	case expr.Jump:
		return "jump " + t.leadsTo()
	case expr.Goto:
		return "goto " + t.leadsTo()
	}
	return "continue"
}

// leadsTo is the name of the chain that the verdict leads to, if it is one that does.
func (t *nftWalk) leadsTo() string {
	switch {
	case t.code != expr.Jump && t.code != expr.Goto:
		return ""
	case t.to != nil:
		return t.to.chain.Name
	}
	return t.chain
}

// missed tells the rule that was looked at and does not hold, and what in it does not.
func (t *nftWalk) missed() {
	key := nftMissedRule{t.at.program.rules[t.at.next].rule, t.op}
	look := t.values.missed.known[key]
	if look == nil || look.Number != t.at.next+1 || look.Chain != t.at.program.chain.Name {
		look = t.missedLook()
		t.values.missed.keep(key, look)
	}
	t.tell(Event{Kind: EventMissed, Rule: look})
}

// missedLook is the rule that is looked at, and the part of it that does not hold.
func (t *nftWalk) missedLook() *RuleLook {
	r := &t.at.program.rules[t.at.next]
	look := &RuleLook{
		Family: t.base.table.Family.String(), Table: t.base.table.Name, Chain: t.at.program.chain.Name, Handle: r.rule.Handle,
		Number: t.at.next + 1, Rule: *t.values.of(t, r.rule),
	}
	from, to := r.testOf(t.op)
	look.FailedAt = conditionsOf(t.base.table, r.rule.Exprs[from:to])
	if speller := t.targets.memory.nftSets.speller(); speller != nil {
		look.Failed = speller.Part(t.base.table, t.at.program.chain, r.rule, from, to)
	}
	if look.Failed == "" {
		look.Failed = exprsText(r.rule.Exprs[from:to])
	}
	return look
}

// exprsText is expressions as libnftnl prints them.
func exprsText(exprs []expr.Expr) string {
	texts := make([]string, len(exprs))
	for i, x := range exprs {
		texts[i] = expr.Text(x)
	}
	return strings.Join(texts, " ")
}
