package ruleset

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// hookCounts is a number for each hook.
type hookCounts [netfilter.NumHooks]int32

// mask is the set of hooks whose count is not zero.
func (c *hookCounts) mask() xtables.HookMask {
	var m xtables.HookMask
	for i, n := range c {
		if n > 0 {
			m |= 1 << i
		}
	}
	return m
}

// add adds n to the count of each hook in m.
func (c *hookCounts) add(m xtables.HookMask, n int32) {
	for i := range c {
		if m&(1<<i) != 0 {
			c[i] += n
		}
	}
}

// Kind is what the kernel says about one of its tables.
type Kind struct {
	Name  string
	hooks xtables.HookMask
	// nftRank is the place of the table in what the nft tools print.
	nftRank int
	// priority is that of the built-in chains, but for those of nat that translate the source.
	priority netfilter.Priority
}

// prioritySecurityNFT is that of the security table of the nft tools, which is not the legacy one's.
const prioritySecurityNFT netfilter.Priority = 150

// priorityAt is the priority of the built-in chain of a hook.
func (k *Kind) priorityAt(h netfilter.Hook, d netfilter.Dialect) netfilter.Priority {
	if d == netfilter.NFT && k.priority == netfilter.PrioritySecurity {
		return prioritySecurityNFT
	}
	if k.priority == netfilter.PriorityNATDst && (h == netfilter.Input || h == netfilter.PostRouting) {
		return netfilter.PriorityNATSrc
	}
	return k.priority
}

// tableKinds are the tables of both families.
var tableKinds = [...]Kind{
	{Name: "mangle", hooks: xtables.HooksAll, nftRank: 0, priority: netfilter.PriorityMangle},
	{Name: "security", hooks: xtables.HookInput | xtables.HookForward | xtables.HookOutput, nftRank: 1, priority: netfilter.PrioritySecurity},
	{Name: "raw", hooks: xtables.HookPrerouting | xtables.HookOutput, nftRank: 2, priority: netfilter.PriorityRaw},
	{Name: "filter", hooks: xtables.HookInput | xtables.HookForward | xtables.HookOutput, nftRank: 3, priority: netfilter.PriorityFilter},
	{Name: "nat", hooks: xtables.HookPrerouting | xtables.HookInput | xtables.HookOutput | xtables.HookPostrouting, nftRank: 4,
		priority: netfilter.PriorityNATDst},
}

// FindKind returns the table of that name, nil if there is none.
func FindKind(name string) *Kind {
	for i := range tableKinds {
		if tableKinds[i].Name == name {
			return &tableKinds[i]
		}
	}
	return nil
}

// builtins are the names of the table's built-in chains in hook order.
func (k *Kind) builtins() []string {
	var names []string
	for h := range netfilter.Hook(netfilter.NumHooks) {
		if k.hooks&(1<<h) != 0 {
			names = append(names, h.String())
		}
	}
	return names
}

// hookOf is the hook of the built-in chain of that name in the table, 0 if it is none.
func (k *Kind) hookOf(chain string) xtables.HookMask {
	if h, is := netfilter.HookOf(chain); is {
		return k.hooks & (1 << h)
	}
	return 0
}
