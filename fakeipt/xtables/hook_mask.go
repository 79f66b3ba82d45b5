package xtables

import "github.com/chainwalk/chainwalk/netfilter"

// HookMask is a set of netfilter hooks, one bit for each.
type HookMask uint8

// The hooks, in the kernel's order.
const (
	HookPrerouting  HookMask = 1 << netfilter.PreRouting
	HookInput       HookMask = 1 << netfilter.Input
	HookForward     HookMask = 1 << netfilter.Forward
	HookOutput      HookMask = 1 << netfilter.Output
	HookPostrouting HookMask = 1 << netfilter.PostRouting

	HooksAll = HookPrerouting | HookInput | HookForward | HookOutput | HookPostrouting
)
