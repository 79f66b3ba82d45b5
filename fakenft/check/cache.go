package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// cache is the world with what the commands so far have added and deleted.
type cache struct {
	world   World
	loaded  bool
	tables  map[TableName]*table
	ordered []*table // those that are there
}

// table is a table of the cache. What is not in its maps is as the world says, if the kernel has the table.
type table struct {
	name   TableName
	kernel bool
	world  World
	chains map[string]*chain
	sets   map[string]*syntax.SetDecl // nil: there is none
	extra  []string                   // names of sets that were added
	added  []string                   // names of chains that were added
	// objects and flows are there, or not.
	objects map[Object]bool
	flows   map[string]bool
	members map[string]*members
}

// chain is a chain, with its rules if they were asked for; gone: it is not there.
type chain struct {
	gone   bool
	loaded bool
	rules  []ruleMark
}

// ruleMark is a rule of the kernel, by its handle, or of the transaction.
type ruleMark struct {
	handle uint64
	rule   *syntax.Rule
}

// members are the elements of a set with intervals, as nft keeps them while it evaluates.
type members struct {
	list []member
	// sent is the set itself if the transaction adds it: nft sends with it what the list has in the end.
	sent *syntax.SetDecl
	// made says that the transaction makes the set, and begun that the kernel is not told of what is before its first interval any more.
	made, begun bool
}

// member is an element of a set.
type member struct {
	item syntax.Expr
	// kernel: nft takes it for one that the kernel has; those that a set is declared with are not.
	kernel bool
	// missing: it was to be deleted and is not there. nft looks for it again with each deletion that follows.
	missing bool
}

// keep makes a list the elements that there are.
func (m *members) keep(list []member) {
	m.list = list
	if m.sent == nil {
		return
	}
	all := &syntax.Set{}
	if declared, is := m.sent.Elements.(*syntax.Set); is {
		*all = *declared
	}
	all.Items = nil
	for _, of := range list {
		all.Items = append(all.Items, of.item)
	}
	m.sent.Elements = all
}

func tableOf(h *syntax.Handle) TableName { return TableName{h.Family, h.Table} }

func (c *cache) load() {
	if c.loaded {
		return
	}
	c.loaded, c.tables = true, map[TableName]*table{}
	for _, name := range c.world.Tables() {
		c.put(&table{name: name, kernel: true})
	}
}

func (c *cache) put(t *table) {
	t.world = c.world
	t.chains, t.sets, t.members = map[string]*chain{}, map[string]*syntax.SetDecl{}, map[string]*members{}
	t.objects, t.flows = map[Object]bool{}, map[string]bool{}
	c.tables[t.name] = t
	c.ordered = append(c.ordered, t)
}

// table is the table of a name; nil if it is not there.
func (c *cache) table(name TableName) *table {
	c.load()
	return c.tables[name]
}

func (c *cache) add(name TableName) {
	if c.table(name) == nil {
		c.put(&table{name: name})
	}
}

func (c *cache) remove(name TableName) {
	t := c.table(name)
	if t == nil {
		return
	}
	delete(c.tables, name)
	c.ordered = slices.DeleteFunc(c.ordered, func(other *table) bool { return other == t })
}

func (t *table) hasChain(name string) bool {
	if ch, ok := t.chains[name]; ok {
		return !ch.gone
	}
	return t.kernel && t.world.HasChain(t.name, name)
}

func (t *table) addChain(name string) {
	if !t.hasChain(name) {
		t.chains[name] = &chain{loaded: true}
		t.added = append(t.added, name)
	}
}

func (t *table) chainNames() []string {
	var names []string
	if t.kernel {
		names = slices.Clone(t.world.Chains(t.name))
	}
	names = append(names, t.added...)
	return slices.DeleteFunc(names, func(name string) bool { return !t.hasChain(name) })
}

func (t *table) set(name string) *syntax.SetDecl {
	if set, ok := t.sets[name]; ok {
		return set
	}
	if !t.kernel {
		return nil
	}
	set := t.world.Set(t.name, name)
	if set != nil {
		set.Handle.Family, set.Handle.Table, set.Handle.Name = t.name.Family, t.name.Name, name
	}
	t.sets[name] = set
	return set
}

// addSet adds a set, which is sent with its elements or, if it is created, without.
func (t *table) addSet(set *syntax.SetDecl, sent bool) {
	t.sets[set.Handle.Name] = set
	m := &members{made: true, begun: true}
	if sent {
		m.sent = set
	}
	t.members[set.Handle.Name] = m
	t.extra = append(t.extra, set.Handle.Name)
}

func (t *table) setNames() []string {
	var names []string
	if t.kernel {
		names = slices.Clone(t.world.SetNames(t.name))
	}
	names = append(names, t.extra...)
	return slices.DeleteFunc(names, func(name string) bool { return t.set(name) == nil })
}

// membersOf are the elements of a set; they belong to the cache.
func (t *table) membersOf(name string) *members {
	m, ok := t.members[name]
	if !ok {
		m = &members{}
		if t.kernel {
			items := t.world.Elements(t.name, name)
			toRanges(items)
			sortRanges(items)
			shortenBeginnings(items)
			for _, item := range items {
				elementOf(item).Key.Info().Loc = syntax.Loc{In: syntax.Netlink}
				m.list = append(m.list, member{item: item, kernel: true})
			}
			m.begun = len(items) > 0
		}
		t.members[name] = m
	}
	return m
}

func (t *table) hasObject(o Object) bool {
	if there, ok := t.objects[o]; ok {
		return there
	}
	return t.kernel && slices.Contains(t.world.Objects(t.name), o)
}

func (t *table) hasFlow(name string) bool {
	if there, ok := t.flows[name]; ok {
		return there
	}
	return t.kernel && slices.Contains(t.world.Flowtables(t.name), name)
}

// rules are the rules of a chain.
func (t *table) rules(name string) *chain {
	ch := t.chains[name]
	if ch == nil {
		ch = &chain{}
		t.chains[name] = ch
	}
	if !ch.loaded && t.kernel {
		for _, handle := range t.world.Rules(t.name, name) {
			ch.rules = append(ch.rules, ruleMark{handle: handle})
		}
	}
	ch.loaded = true
	return ch
}
