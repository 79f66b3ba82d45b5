package check

import "github.com/chainwalk/chainwalk/fakenft/syntax"

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
	from := map[syntax.Expr]*syntax.Command{}
	for _, cmd := range commands[1:] {
		set := cmd.Elements.(*syntax.Set)
		for _, item := range set.Items {
			from[item] = cmd
		}
		all.Items = append(all.Items, set.Items...)
		set.Items = nil
	}
	mistakes := c.Command(first)
	own := all.Items[:0]
	for _, item := range all.Items {
		if cmd := from[item]; cmd != nil {
			set := cmd.Elements.(*syntax.Set)
			set.Items = append(set.Items, item)
		} else {
			own = append(own, item)
		}
	}
	all.Items = own
	for _, cmd := range commands[1:] {
		cmd.Set, cmd.Begins = first.Set, first.Begins
		cmd.Elements.(*syntax.Set).Common = all.Common
	}
	return mistakes
}
