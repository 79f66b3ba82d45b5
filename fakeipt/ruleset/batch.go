package ruleset

import (
	"slices"
	"sort"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// batchOp is a rule that an nft tool adds.
type batchOp struct {
	rule *xtables.Rule
	slot *Slot
	line int32
	kind Change
}

// Change is the kind of a change in a batch for the kernel.
type Change uint8

// The kinds of changes.
const (
	RuleAppend Change = iota
	RuleInsert
	RuleReplace
	RuleDelete
	ChainDelete
	ChainRename
	ChainZero
	ChainAdd
)

// IsOfChain says that the change is of a chain and not of one rule.
func (k Change) IsOfChain() bool { return k >= ChainDelete }

// String is the change as the tools call it.
func (k Change) String() string { return changeNames[k] }

var changeNames = [...]string{"RULE_APPEND", "RULE_INSERT", "RULE_REPLACE", "RULE_DELETE", "CHAIN_DEL", "CHAIN_RENAME", "CHAIN_ZERO",
	"CHAIN_ADD"}

// Failure is a change that the kernel refused.
type Failure struct {
	Line  int
	Kind  Change
	Errno syscall.Errno
	Chain string
}

// batch is what the nft tools send to the kernel with one commit, and what is known of its answer.
type batch struct {
	Line     int       // of the input that is read
	added    []batchOp // every rule that was added
	failures []Failure
	bad      map[*xtables.Rule]badRule // rules that the kernel refuses for themselves
}

// Fail notes a change that the kernel will refuse.
func (b *batch) Fail(line int, kind Change, errno syscall.Errno, chain string) {
	b.failures = append(b.failures, Failure{line, kind, errno, chain})
}

// failure is the error of the changes that the kernel refuses, nil if there are none.
func (b *batch) failure() error {
	if len(b.failures) == 0 {
		return nil
	}
	return &CommitError{Errno: b.failures[0].Errno, Line: b.failures[0].Line, Failures: b.failures}
}

// badRule is why the kernel refuses a rule for itself, and the line of input that it is from.
type badRule struct {
	errno syscall.Errno
	line  int
}

// setBad notes a rule that the kernel refuses for itself.
func (b *batch) setBad(r *xtables.Rule, errno syscall.Errno) {
	if b.bad == nil {
		b.bad = map[*xtables.Rule]badRule{}
	}
	b.bad[r] = badRule{errno, b.Line}
}

// refused says that the kernel refuses the rule for itself.
func (b *batch) refused(r *xtables.Rule) bool { return b.bad[r].errno != 0 }

// blame finds the rule with which the table became wrong. The kernel checks the
// table again after each rule, so that rule and all behind it are refused.
func (e *Edit) blame() {
	validate := func(n int) syscall.Errno { return e.without(e.added[n:]).validate() }
	first := sort.Search(len(e.added), func(n int) bool { return validate(n+1) != 0 })
	for i := first; i < len(e.added); i++ {
		op := e.added[i]
		if errno := validate(i + 1); errno != 0 {
			e.Fail(int(op.line), op.kind, errno, op.slot.Name)
		}
		if len(e.failures) == maxFailures {
			break
		}
	}
}

// maxFailures is more than the tool has room to print.
const maxFailures = 16

// without is a copy of the draft without some of the rules that were added.
func (d *draft) without(added []batchOp) *draft {
	left := map[*xtables.Rule]bool{}
	for _, op := range added {
		left[op.rule] = true
	}
	c := &draft{Family: d.Family, Dialect: d.Dialect, Kind: d.Kind, Base: d.Base}
	for _, s := range d.opened {
		o := c.SlotOf(s.Name)
		c.Open(o)
		o.Live = s.Live
		o.rules = slices.DeleteFunc(slices.Clone(s.CurrentRules()), func(r *xtables.Rule) bool { return left[r] })
	}
	return c
}
