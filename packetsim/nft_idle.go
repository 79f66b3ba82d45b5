package packetsim

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// A rule is idle in a table if it does nothing there to any packet. It looks something up in a set without elements, as kube-proxy's
// chains for services without endpoints do, or it jumps to a chain whose rules are all idle. A table never changes, so a walk finds idle
// rules once.
//
// A walk that tells nothing of the rules skips the idle ones. In other rules it may run a test before the look-up in front of it: if the
// test fails, the walk does not touch the memory of the set. If a look-up is followed by the next rule's, it asks for the memory of both
// sets together. Skipped rules fill no registers. That makes no difference, since nft writes
// no rule that reads a register which it has not filled, and Linux 6.18 refuses such a rule.

// mayIdle says that a rule might be idle in some table.
func (r nftRule) mayIdle() bool {
	for i := range r.ops {
		if op := &r.ops[i]; op.kind == nftLookup || op.kind == nftVerdict && expr.Code(int32(op.want)) == expr.Jump {
			return true
		}
	}
	return false
}

// in is the chain as walks that tell nothing of rules go through it in a table.
func (x *nftProgram) in(table *nftables.Table) *nftProgram {
	if !x.prunes {
		return x
	}
	if live := x.live.Load(); live != nil && live.table.Load() == table {
		return live
	}
	return x.prune(table)
}

// prune leaves the idle rules out. If all that is left is a jump, the other chain stands for this one. A chain that leads back to this one
// finds all of its rules.
func (x *nftProgram) prune(table *nftables.Table) *nftProgram {
	whole := x.keepLive(table, x.chain, x.rules)
	var rules []nftRule
	changed := false
	for i := range x.rules {
		r := x.rules[i]
		if r.isIdle(table) {
			changed = true
			continue
		}
		r.early = r.testBehind(table)
		changed = changed || r.early != nil
		rules = append(rules, r)
	}
	changed = noteAhead(rules) || changed
	if len(rules) == 1 {
		if to := rules[0].jumpsTo(table, 0); to != nil {
			live := to.in(table)
			return x.keepLive(table, live.chain, live.rules)
		}
	}
	if changed {
		return x.keepLive(table, x.chain, rules)
	}
	return whole
}

// noteAhead finds the rules with a look-up behind which one with another stands. It says whether there are some.
func noteAhead(rules []nftRule) (some bool) {
	for i := 1; i < len(rules); i++ {
		if ops := rules[i].ops; len(ops) > 0 && ops[0].gather > 0 && rules[i-1].looksUp() {
			rules[i-1].ahead, some = true, true
		}
	}
	return some
}

func (r *nftRule) looksUp() bool {
	for i := range r.ops {
		if r.ops[i].kind == nftLookup {
			return true
		}
	}
	return false
}

// keepLive notes that in a table the chain is as if it had the rules of a chain.
func (x *nftProgram) keepLive(table *nftables.Table, chain *nftables.Chain, rules []nftRule) *nftProgram {
	live := &nftProgram{chain: chain, rules: rules}
	live.table.Store(table)
	x.live.Store(live)
	return live
}

// jumpsTo is the chain that an operation of the rule jumps to in a table; nil if it does something else.
func (r *nftRule) jumpsTo(table *nftables.Table, op int) *nftProgram {
	if r.ops[op].kind != nftVerdict || expr.Code(int32(r.ops[op].want)) != expr.Jump {
		return nil
	}
	if chain := table.Chain(r.rule.Exprs[r.ops[op].from].(*expr.Immediate).Data.Verdict.Chain); chain != nil {
		return nftProgramOf(table, chain)
	}
	return nil
}

// isIdle says that the rule does nothing in a table.
func (r *nftRule) isIdle(table *nftables.Table) bool {
	for i := range r.ops {
		switch op := &r.ops[i]; op.kind {
		case nftTest, nftLoad, nftCompare, nftBitwise:
		case nftLookup:
			set := r.plainSet(table, op)
			if set == nil {
				return false
			}
			if !op.not && set.IsEmpty() {
				return true
			}
			if op.maps {
				return false
			}
		case nftVerdict:
			to := r.jumpsTo(table, i)
			return to != nil && len(to.in(table).rules) == 0
		default:
			return false
		}
	}
	return true
}

// plainSet is the set of a look-up that does nothing but look up; nil if it does more.
func (r *nftRule) plainSet(table *nftables.Table, op *nftOp) *nftables.Set {
	set := table.Set(r.rule.Exprs[op.end-1].(*expr.Lookup).Set)
	if set == nil || !isBare(set) {
		return nil
	}
	return set
}

// testBehind is the first test behind a look-up, if nothing before it changes anything.
func (r *nftRule) testBehind(table *nftables.Table) *nftOp {
	behind := false
	for i := range r.ops {
		switch op := &r.ops[i]; op.kind {
		case nftTest:
			if behind {
				return op
			}
		case nftLoad, nftCompare, nftBitwise:
		case nftLookup:
			if op.maps || r.plainSet(table, op) == nil {
				return nil
			}
			behind = true
		default:
			return nil
		}
	}
	return nil
}
