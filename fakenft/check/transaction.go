package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/misspell"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// transaction is what the commands so far have added and deleted, beside what the world has.
type transaction struct {
	*notes
	*state
	cache cache
	ids   uint32
	// placesRules: a rule of the transaction is placed by another one, so that nft follows what becomes of the rules of all chains.
	placesRules bool
}

// known is the set of that name as it was declared first; nil if there is none.
func (c *transaction) known(set *syntax.SetDecl) *syntax.SetDecl {
	if t := c.cache.table(tableOf(&set.Handle)); t != nil && !isAnonymous(set) {
		return t.set(set.Handle.Name)
	}
	return nil
}

// existing are the elements that the kernel has of a set, with those that the transaction has added; nil for a set without a name.
func (c *transaction) existing(set *syntax.SetDecl) *members {
	if isAnonymous(set) {
		return nil
	}
	t := c.cache.table(tableOf(&set.Handle))
	if t == nil {
		return nil
	}
	return t.membersOf(set.Handle.Name)
}

const notFound = "No such file or directory"

// noTable notes that the table of the command is not there.
func (c *transaction) noTable() bool {
	h := &c.cmd.Handle
	near := misspell.Search{Want: h.Table}
	var found *table
	for _, t := range c.cache.ordered {
		if near.Try(t.name.Name) {
			found = t
		}
	}
	text := notFound
	if found != nil {
		text = fmt.Sprintf("%s; did you mean table ‘%s’ in family %s?", notFound, found.name.Name, found.name.Family)
	}
	return c.wrong(text, h.TableLoc)
}

// noChain notes that the chain of the command is not there.
func (c *transaction) noChain() bool {
	h := &c.cmd.Handle
	return c.missing(h.Chain, h.ChainLoc, func(t *table) []string { return t.chainNames() }, func(*table, string) string { return "chain" })
}

func (c *transaction) noSet(at syntax.Loc, name string) bool {
	return c.missing(name, at, func(t *table) []string { return t.setNames() }, func(t *table, name string) string {
		return setWord(t.set(name).Flags)
	})
}

func (c *transaction) noObject(at syntax.Loc, name string) bool {
	return c.missing(name, at, func(t *table) []string {
		var names []string
		if t.kernel {
			for _, o := range t.world.Objects(t.name) {
				names = append(names, o.Name)
			}
		}
		return names
	}, func(*table, string) string { return "obj" })
}

func (c *transaction) noFlowtable(at syntax.Loc, name string) bool {
	return c.missing(name, at, func(t *table) []string {
		if t.kernel {
			return t.world.Flowtables(t.name)
		}
		return nil
	}, func(*table, string) string { return "flowtable" })
}

// missing notes that something is not there, with the nearest name of all tables.
func (c *transaction) missing(name string, at syntax.Loc, names func(*table) []string, word func(*table, string) string) bool {
	near := misspell.Search{Want: name}
	var in *table
	found := ""
	for _, t := range c.cache.ordered {
		for _, have := range names(t) {
			if near.Try(have) {
				in, found = t, have
			}
		}
	}
	if in == nil {
		return c.wrong(notFound, at)
	}
	return c.wrong(fmt.Sprintf("%s; did you mean %s ‘%s’ in table %s ‘%s’?",
		notFound, word(in, found), found, in.name.Family, in.name.Name), at)
}

// nextID is the number of a set in the transaction.
func (c *transaction) nextID() uint32 {
	c.ids++
	return c.ids
}

// namedSet finds the set, or with isMap the map, of a command; there are no others.
func (c *transaction) namedSet(cmd *syntax.Command, fits func(nftables.SetFlags) bool) (*table, *syntax.SetDecl) {
	t := c.cache.table(tableOf(&cmd.Handle))
	if t == nil {
		c.noTable()
		return nil, nil
	}
	set := t.set(cmd.Handle.Name)
	switch {
	case set == nil:
		c.noSet(cmd.Handle.NameLoc, cmd.Handle.Name)
		return nil, nil
	case !fits(set.Flags):
		c.wrong(notFound, cmd.Handle.NameLoc)
		return nil, nil
	}
	return t, set
}
