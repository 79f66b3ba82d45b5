package packetsim

import "github.com/chainwalk/chainwalk/netfilter"

// hook is a place where netfilter looks at a packet.
type hook = netfilter.Hook

const (
	preRouting  = netfilter.PreRouting
	input       = netfilter.Input
	forward     = netfilter.Forward
	output      = netfilter.Output
	postRouting = netfilter.PostRouting
)

// Hooks is a set of hooks of both families.
type Hooks uint16

// Has says whether a hook, by the name of its built-in chains, is in the set.
func (s Hooks) Has(family netfilter.Family, name string) bool {
	h, is := netfilter.HookOf(name)
	return is && s&oneHook(h, family == netfilter.IPv6) != 0
}

// oneHook is the hook of one family as a set.
func oneHook(h hook, six bool) Hooks {
	if six {
		return 1 << (h + netfilter.NumHooks)
	}
	return 1 << h
}
