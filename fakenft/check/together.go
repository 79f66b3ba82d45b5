package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// sameElements is how many commands from the first one on add elements to the same set; at least 1.
func sameElements(commands []*syntax.Command) int {
	first := commands[0]
	if !addsElements(first) {
		return 1
	}
	for i, cmd := range commands[1:] {
		if !addsElements(cmd) || cmd.Op != first.Op || tableOf(&cmd.Handle) != tableOf(&first.Handle) || cmd.Handle.Name != first.Handle.Name {
			return i + 1
		}
	}
	return len(commands)
}

// besideVariable says that one of two commands adds all elements of a variable to a set, and the other one others to the same set: nft
// 1.0.6 ends by a signal, or never.
func besideVariable(cmd, next *syntax.Command) bool {
	isVariable := func(c *syntax.Command) bool {
		_, is := c.Elements.(*syntax.Variable)
		return is
	}
	return (cmd.Op == syntax.OpAdd || cmd.Op == syntax.OpCreate) && cmd.Kind == syntax.KindElements &&
		next.Op == cmd.Op && next.Kind == cmd.Kind && (isVariable(cmd) || isVariable(next)) &&
		tableOf(&cmd.Handle) == tableOf(&next.Handle) && cmd.Handle.Name == next.Handle.Name
}

func addsElements(cmd *syntax.Command) bool {
	_, ok := cmd.Elements.(*syntax.Set)
	return ok && (cmd.Op == syntax.OpAdd || cmd.Op == syntax.OpCreate) && cmd.Kind == syntax.KindElements
}

// together checks commands that add elements to one set as if they were one, as nft does: the first mistake is told alone, and intervals of
// all are merged. Each has its own elements again afterwards.
func (c *Checker) together(commands []*syntax.Command) []*syntax.Mistake {
	first := commands[0]
	if len(commands) == 1 {
		return c.Command(first)
	}
	all := first.Elements.(*syntax.Set)
	joined := joined{commands: commands, ends: make([]int, len(commands))}
	for i, cmd := range commands {
		set := cmd.Elements.(*syntax.Set)
		joined.items = append(joined.items, set.Items...)
		joined.ends[i], set.Items = len(joined.items), nil
	}
	all.Items = joined.items
	mistakes := c.Command(first)
	joined.part(all.Items)
	for _, cmd := range commands[1:] {
		cmd.Set, cmd.Begins = first.Set, first.Begins
		cmd.Elements.(*syntax.Set).Common = all.Common
	}
	return mistakes
}

// joined are the elements of several commands, and where among them those of each command end.
type joined struct {
	commands []*syntax.Command
	items    []syntax.Expr
	ends     []int
}

// part gives each command its own of the elements that evaluation has left, and the first one those that it has made.
func (j *joined) part(left []syntax.Expr) {
	if slices.Equal(left, j.items) { // as of all sets without intervals
		begin := 0
		for i, cmd := range j.commands {
			cmd.Elements.(*syntax.Set).Items = left[begin:j.ends[i]:j.ends[i]]
			begin = j.ends[i]
		}
		return
	}
	from := make(map[syntax.Expr]*syntax.Set, len(j.items))
	begin := j.ends[0]
	for i, cmd := range j.commands[1:] {
		for _, item := range j.items[begin:j.ends[i+1]] {
			from[item] = cmd.Elements.(*syntax.Set)
		}
		begin = j.ends[i+1]
	}
	first := j.commands[0].Elements.(*syntax.Set)
	first.Items = nil
	for _, item := range left {
		set := first
		if of := from[item]; of != nil {
			set = of
		}
		set.Items = append(set.Items, item)
	}
}
