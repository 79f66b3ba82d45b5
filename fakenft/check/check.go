package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// Checker evaluates the commands of one transaction, in order. It remembers what they add and delete.
type Checker struct {
	// Newer takes what nft after 1.0.6 prints in listings and 1.0.6 refuses, where the meaning is certain: the priorities dstnat in output
	// and srcnat in input.
	Newer bool

	world World
	cache cache
	ids   uint32
	// placesRules: a rule of the transaction is placed by another one, so that nft follows what becomes of the rules of all chains.
	placesRules bool
	// sent are the sets of intervals that the transaction adds: nft sends elements that it adds to them with the set as well. They have the
	// number of elements that they are declared with, or -1 until it is asked for.
	sent map[*syntax.SetDecl]int

	mistakes []*syntax.Mistake
	state
}

// state is what the evaluation of one command is about.
type state struct {
	cmd  *syntax.Command
	rule *syntax.Rule
	out  []syntax.Stmt // the statements of the rule so far, with those that were added
	set  *syntax.SetDecl
	want want
	protocols
}

// want is what the place of an expression expects (struct expr_ctx in nft).
type want struct {
	typ   *syntax.Datatype
	order syntax.ByteOrder
	bits  int
	max   uint64
	key   *syntax.Concat // a concatenation that gives the parts their types
}

// New returns a checker.
func New(w World) *Checker {
	return &Checker{world: w, cache: cache{world: w}}
}

// MaxMistakes is how many mistakes nft prints before it gives up.
const MaxMistakes = 10

// Commands checks all commands of a transaction.
func (c *Checker) Commands(commands []*syntax.Command) []*syntax.Mistake {
	for _, cmd := range commands {
		if m := tooLong(&cmd.Handle); m != nil {
			return []*syntax.Mistake{m}
		}
	}
	for _, cmd := range commands {
		if cmd.Kind != syntax.KindRule {
			continue
		}
		switch {
		case cmd.Op == syntax.OpReplace:
			c.placesRules = false // so nft forgets it
		case cmd.Handle.Index != 0 || cmd.Handle.Position != 0:
			c.placesRules = true
		}
	}
	var all []*syntax.Mistake
	for len(commands) > 0 {
		run := sameElements(commands)
		all = append(all, c.together(commands[:run])...)
		commands = commands[run:]
		if len(all) >= MaxMistakes {
			return all[:MaxMistakes]
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
	c.command(cmd)
	return c.mistakes
}

// wrong notes a mistake. It returns false, so that callers can pass it on.
func (c *Checker) wrong(text string, at ...syntax.Loc) bool {
	c.mistakes = append(c.mistakes, syntax.Wrong(text, at...))
	return false
}

// nextID is the number of a set in the transaction.
func (c *Checker) nextID() uint32 {
	c.ids++
	return c.ids
}

func (c *Checker) expect(t *syntax.Datatype, order syntax.ByteOrder, bits int, max uint64) {
	c.want = want{typ: t, order: order, bits: bits, max: max}
}

// expectType expects a type as it is by itself.
func (c *Checker) expectType(t *syntax.Datatype, bits int) {
	order := syntax.NoOrder
	if t != nil {
		order = t.Order
	}
	c.expect(t, order, bits, 0)
}

func loc(e syntax.Expr) syntax.Loc { return e.Info().Loc }
