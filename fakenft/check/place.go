package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

const ruleNotFound = "Could not process rule: No such file or directory"

// placeRule finds the rule that another one is placed by, and follows which rules the chain has.
func (c *transaction) placeRule(cmd *syntax.Command) bool {
	h := cmd.Rule.Handle
	t := c.cache.table(tableOf(h))
	if t == nil {
		return c.noTable()
	}
	if !t.hasChain(h.Chain) {
		return c.noChain()
	}
	ch := t.rules(h.Chain)
	at, ok := c.placeOf(ch, h)
	if !ok {
		return false
	}
	if by := h.Placed; by != nil && by.Index != 0 {
		beside := &ch.rules[at]
		if beside.handle != 0 {
			by.Position, by.PositionLoc = beside.handle, by.IndexLoc
		} else {
			by.Neighbour = beside.rule
			if by.Neighbour != nil && by.Neighbour.ID == 0 {
				by.Neighbour.ID = c.nextID()
			}
		}
	}
	mark := ruleMark{rule: cmd.Rule}
	switch cmd.Op {
	case syntax.OpInsert:
		ch.rules = slices.Insert(ch.rules, max(at, 0), mark)
	case syntax.OpAdd, syntax.OpCreate:
		if at < 0 {
			at = len(ch.rules) - 1
		}
		ch.rules = slices.Insert(ch.rules, at+1, mark)
	case syntax.OpReplace:
		if at >= 0 {
			ch.rules[at] = mark
		}
	}
	return true
}

// placeOf is the place of the rule that a handle names in one of three ways; -1 if it names none.
func (c *transaction) placeOf(ch *chain, h *syntax.Handle) (int, bool) {
	byHandle := func(handle uint64) int {
		return slices.IndexFunc(ch.rules, func(r ruleMark) bool { return r.handle == handle })
	}
	by := h.Placement()
	at, said := -1, by.IndexLoc
	switch {
	case by.Index != 0:
		if by.Index <= uint64(len(ch.rules)) {
			at = int(by.Index) - 1
		}
	case h.Number != 0:
		at, said = byHandle(h.Number), h.NumberLoc
	case by.Position != 0:
		at, said = byHandle(by.Position), by.PositionLoc
	default:
		return -1, true
	}
	if at < 0 {
		return at, c.wrong(ruleNotFound, said)
	}
	return at, true
}

// dropRule follows that a rule is deleted.
func (c *transaction) dropRule(cmd *syntax.Command) bool {
	h := &cmd.Handle
	t := c.cache.table(tableOf(h))
	if t == nil || !t.hasChain(h.Chain) || h.Number == 0 {
		return true
	}
	ch := t.rules(h.Chain)
	ch.rules = slices.DeleteFunc(ch.rules, func(r ruleMark) bool { return r.handle == h.Number })
	return true
}
