package fakenft

import (
	"sort"

	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// asked are the changes that the kernel is asked for, and the commands that they are of.
type asked struct {
	changes  []nftables.Change
	commands []*syntax.Command
	ends     []int // of the changes of each command
}

// newAsked has room for what commands usually change: each a little more than one thing, as rules have sets of their own.
func newAsked(commands []*syntax.Command) *asked {
	return &asked{
		changes:  make([]nftables.Change, 0, len(commands)+len(commands)/2),
		commands: make([]*syntax.Command, 0, len(commands)), ends: make([]int, 0, len(commands)),
	}
}

// add adds what a command changes.
func (a *asked) add(c *syntax.Command) error {
	var err error
	a.changes, err = compile.Append(a.changes, c)
	a.commands, a.ends = append(a.commands, c), append(a.ends, len(a.changes))
	return err
}

// place is where the part of a change was written that was refused.
func (a *asked) place(refusal *nftables.Refusal) syntax.Loc {
	of := sort.SearchInts(a.ends, refusal.Change+1)
	first := 0
	if of > 0 {
		first = a.ends[of-1]
	}
	return compile.Place(a.commands[of], refusal.Change-first, refusal.Part, refusal.Index)
}
