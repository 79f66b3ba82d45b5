package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// hookMask is a set of netfilter hooks, one bit for each.
type hookMask uint8

// The hooks, in the kernel's order.
const (
	hookPrerouting  hookMask = 1 << netfilter.PreRouting
	hookInput       hookMask = 1 << netfilter.Input
	hookForward     hookMask = 1 << netfilter.Forward
	hookOutput      hookMask = 1 << netfilter.Output
	hookPostrouting hookMask = 1 << netfilter.PostRouting

	hooksAll = hookPrerouting | hookInput | hookForward | hookOutput | hookPostrouting
)

// hookCounts is a number for each hook.
type hookCounts [netfilter.NumHooks]int32

// mask is the set of hooks whose count is not zero.
func (c *hookCounts) mask() hookMask {
	var m hookMask
	for i, n := range c {
		if n > 0 {
			m |= 1 << i
		}
	}
	return m
}

// add adds n to the count of each hook in m.
func (c *hookCounts) add(m hookMask, n int32) {
	for i := range c {
		if m&(1<<i) != 0 {
			c[i] += n
		}
	}
}

// tableKind is what the kernel says about one of its tables.
type tableKind struct {
	name  string
	hooks hookMask
	// nftRank is the place of the table in what the nft tools print.
	nftRank int
	// priority is that of the built-in chains, but for those of nat that translate the source.
	priority netfilter.Priority
}

// priorityAt is the priority of the built-in chain of a hook.
func (k *tableKind) priorityAt(h netfilter.Hook) netfilter.Priority {
	if k.priority == netfilter.PriorityNATDst && (h == netfilter.Input || h == netfilter.PostRouting) {
		return netfilter.PriorityNATSrc
	}
	return k.priority
}

// tableKinds are the tables of both families.
var tableKinds = [...]tableKind{
	{name: "mangle", hooks: hooksAll, nftRank: 0, priority: netfilter.PriorityMangle},
	{name: "security", hooks: hookInput | hookForward | hookOutput, nftRank: 1, priority: netfilter.PrioritySecurity},
	{name: "raw", hooks: hookPrerouting | hookOutput, nftRank: 2, priority: netfilter.PriorityRaw},
	{name: "filter", hooks: hookInput | hookForward | hookOutput, nftRank: 3, priority: netfilter.PriorityFilter},
	{name: "nat", hooks: hookPrerouting | hookInput | hookOutput | hookPostrouting, nftRank: 4, priority: netfilter.PriorityNATDst},
}

// findTableKind returns the table of that name, nil if there is none.
func findTableKind(name string) *tableKind {
	for i := range tableKinds {
		if tableKinds[i].name == name {
			return &tableKinds[i]
		}
	}
	return nil
}

// builtins are the names of the table's built-in chains in hook order.
func (k *tableKind) builtins() []string {
	var names []string
	for h := range netfilter.Hook(netfilter.NumHooks) {
		if k.hooks&(1<<h) != 0 {
			names = append(names, h.String())
		}
	}
	return names
}

// hookOf is the hook of the built-in chain of that name in the table, 0 if it is none.
func (k *tableKind) hookOf(chain string) hookMask {
	if h, is := netfilter.HookOf(chain); is {
		return k.hooks & (1 << h)
	}
	return 0
}
