package fakeipt

import (
	"slices"
	"sort"
	"syscall"
)

// batchOp is a rule that an nft tool adds.
type batchOp struct {
	rule *Rule
	slot *chainSlot
	line int32
	kind batchKind
}

// batchKind is the kind of a change in a batch for the kernel.
type batchKind uint8

const (
	batchAppend batchKind = iota
	batchInsert
	batchReplace
	batchDelete
	batchDeleteChain
	batchRenameChain
	batchZeroChain
)

// isOfChain says that the change is of a chain and not of one rule.
func (k batchKind) isOfChain() bool { return k >= batchDeleteChain }

var batchNames = [...]string{"RULE_APPEND", "RULE_INSERT", "RULE_REPLACE", "RULE_DELETE", "CHAIN_DEL", "CHAIN_RENAME", "CHAIN_ZERO"}

// batchError is a change that the kernel refused.
type batchError struct {
	line  int
	kind  batchKind
	errno syscall.Errno
	chain string
}

// fail notes a change that the kernel will refuse.
func (e *tableEdit) fail(line int, kind batchKind, errno syscall.Errno, chain string) {
	e.changed = true
	e.failures = append(e.failures, batchError{line, kind, errno, chain})
}

func (e *tableEdit) batchFailure() error {
	if len(e.failures) == 0 {
		return nil
	}
	return &commitError{errno: e.failures[0].errno, line: e.failures[0].line, failures: e.failures}
}

// blame finds the rule with which the table became wrong. The kernel checks the
// table again after each rule, so that rule and all behind it are refused.
func (e *tableEdit) blame() {
	first := sort.Search(len(e.batch), func(n int) bool { return e.without(n+1).validate() != 0 })
	for i := first; i < len(e.batch); i++ {
		op := e.batch[i]
		if errno := e.without(i + 1).validate(); errno != 0 {
			e.fail(int(op.line), op.kind, errno, op.slot.name)
		}
		if len(e.failures) == maxFailures {
			break
		}
	}
}

// maxFailures is more than the tool has room to print.
const maxFailures = 16

// without is a copy of the edit with only the first n rules of the batch.
func (e *tableEdit) without(n int) *tableEdit {
	left := map[*Rule]bool{}
	for _, op := range e.batch[n:] {
		left[op.rule] = true
	}
	c := &tableEdit{family: e.family, dialect: e.dialect, kind: e.kind, base: e.base}
	for _, s := range e.drafts {
		d := c.slotOf(s.name)
		c.open(d)
		d.live = s.live
		d.rules = slices.DeleteFunc(slices.Clone(s.currentRules()), func(r *Rule) bool { return left[r] })
	}
	return c
}
