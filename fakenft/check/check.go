package check

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// Checker evaluates the commands of one transaction, in order. It remembers what they add and delete. Each of its parts evaluates one kind
// of thing and has the parts that it needs. All share the state of the command and the mistakes that were found in it.
type Checker struct {
	// Newer takes what nft after 1.0.6 prints in listings and 1.0.6 refuses, where the meaning is certain: the priorities dstnat in output
	// and srcnat in input.
	Newer bool
	// Before is how many mistakes nft has counted when it begins to evaluate.
	Before int

	notes
	state
	nodes
	tx    transaction
	exprs exprChecker
	keys  keyChecker
	sets  setChecker
	spans intervalChecker
	decls declChecker
	stmts stmtChecker
}

// New returns a checker.
func New(w World) *Checker {
	c := &Checker{}
	n, s, made := &c.notes, &c.state, &c.nodes
	c.tx = transaction{notes: n, state: s, cache: cache{world: w}}
	c.exprs = exprChecker{notes: n, state: s, nodes: made, world: w, keys: &c.keys, sets: &c.sets}
	c.keys = keyChecker{notes: n, state: s, nodes: made, exprs: &c.exprs}
	c.spans = intervalChecker{notes: n, state: s, tx: &c.tx}
	c.sets = setChecker{notes: n, state: s, nodes: made, tx: &c.tx, exprs: &c.exprs, keys: &c.keys, spans: &c.spans}
	c.decls = declChecker{notes: n, state: s, tx: &c.tx}
	c.stmts = stmtChecker{notes: n, state: s, tx: &c.tx, exprs: &c.exprs, keys: &c.keys, sets: &c.sets, spans: &c.spans}
	return c
}

// nodes are the values that evaluation makes most of.
type nodes struct {
	values    syntax.Slab[syntax.Value]
	relations syntax.Slab[syntax.Relational]
	matches   syntax.Slab[syntax.Match]
}

// notes are the mistakes of a command.
type notes struct{ mistakes []*syntax.Mistake }

// mostMistakes is at how many mistakes nft gives up. It counts a command once, however many it has, and those of its parser: if these are
// so many already, it does not give up any more (nft_evaluate in src/libnftables.c).
const mostMistakes = 10

// Commands checks all commands of a transaction.
func (c *Checker) Commands(commands []*syntax.Command) []*syntax.Mistake {
	for _, cmd := range commands {
		if m := tooLong(&cmd.Handle); m != nil {
			return []*syntax.Mistake{m}
		}
	}
	for i, cmd := range commands[:max(0, len(commands)-1)] {
		if besideVariable(cmd, commands[i+1]) {
			return []*syntax.Mistake{syntax.Wrong("chainwalk does not support adding a variable to "+cmd.Handle.Name+
				" beside other elements, where nft 1.0.6 fails: put it into braces", commands[i+1].Loc)}
		}
	}
	for _, cmd := range commands {
		if cmd.Kind != syntax.KindRule {
			continue
		}
		switch {
		case cmd.Op == syntax.OpReplace:
			c.tx.placesRules = false // so nft forgets it
		case cmd.Handle.Placement().Index != 0 || cmd.Handle.Placement().Position != 0:
			c.tx.placesRules = true
		}
	}
	var all []*syntax.Mistake
	count := c.Before
	for len(commands) > 0 {
		run := sameElements(commands)
		found := c.together(commands[:run])
		slices.Reverse(commands[1:run]) // as nft takes them apart again: each goes next to the first one
		all = append(all, found...)
		commands = commands[run:]
		if syntax.Counted(found) == 0 {
			continue
		}
		if count++; count == mostMistakes {
			break
		}
	}
	return all
}

// longestName is NFT_NAME_MAXLEN of nft.
const longestName = 256

// tooLong is about the first name of a command that is too long: nft looks at nothing else then (nft_handle_validate in src/cache.c).
func tooLong(h *syntax.Handle) *syntax.Mistake {
	at := h.NameLoc
	switch {
	case len(h.Table) > longestName:
		at = h.TableLoc
	case len(h.Chain) > longestName:
		at = h.ChainLoc
	case len(h.Name) <= longestName:
		return nil
	}
	return syntax.Wrong(fmt.Sprintf("name too long, %d characters maximum allowed", longestName), at)
}

// Command checks one command and types all that is in it.
func (c *Checker) Command(cmd *syntax.Command) []*syntax.Mistake {
	c.state = state{cmd: cmd}
	c.mistakes = nil
	c.decls.newer = c.Newer
	c.command(cmd)
	return c.mistakes
}

// wrong notes a mistake. It returns false, so that callers can pass it on.
func (c *notes) wrong(text string, at ...syntax.Loc) bool {
	c.mistakes = append(c.mistakes, syntax.Wrong(text, at...))
	return false
}

func loc(e syntax.Expr) syntax.Loc { return e.Info().Loc }
