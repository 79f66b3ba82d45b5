package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchPolicy is -m policy (net/netfilter/xt_policy.c). No packet here is one that IPsec has handled or will handle.
func matchPolicy(m *fakeipt.MatchPolicy) bool { return m.None }
