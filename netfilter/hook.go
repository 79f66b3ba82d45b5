package netfilter

// Hook is a place in a packet's way at which netfilter looks at it. Its value is the kernel's number (enum nf_inet_hooks in
// include/uapi/linux/netfilter.h).
type Hook uint8

// The hooks of IPv4 and IPv6.
const (
	PreRouting Hook = iota
	Input
	Forward
	Output
	PostRouting
)

// NumHooks is the number of hooks.
const NumHooks = 5

var hookNames = [NumHooks]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// String is the name of the hook's built-in chains in the tables of iptables.
func (h Hook) String() string { return hookNames[h] }

// HookNames are the names of all hooks by their numbers.
func HookNames() [NumHooks]string { return hookNames }

// HookOf is the hook that a built-in chain of iptables is named after; false if there is none.
func HookOf(chain string) (Hook, bool) {
	for h, name := range hookNames {
		if name == chain {
			return Hook(h), true
		}
	}
	return 0, false
}

// Priority says when a hook's entry is run: those of lower numbers come first.
type Priority int32

// Priorities that the kernel gives its own entries and the chains of iptables (enum nf_ip_hook_priorities in
// include/uapi/linux/netfilter_ipv4.h). Chains of nftables may have any.
const (
	PriorityRaw       Priority = -300
	PriorityConntrack Priority = -200
	PriorityMangle    Priority = -150
	PriorityNATDst    Priority = -100
	PriorityFilter    Priority = 0
	PrioritySecurity  Priority = 50
	PriorityNATSrc    Priority = 100
	PriorityConfirm   Priority = 1<<31 - 1
)

// BaseChain is a chain that packets meet because it is registered at a hook.
type BaseChain struct {
	Dialect  Dialect
	Table    string
	Chain    string
	Hook     Hook
	Priority Priority
	// Turn is when it was registered, counted over the whole namespace (Namespace.NextTurn). Of two chains of the same hook and priority
	// packets meet the one first that was registered last (nf_hook_entries_grow in net/netfilter/core.c).
	Turn uint64
}
