package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchPolicy is -m policy (net/netfilter/xt_policy.c). No packet here is one that IPsec has handled or will handle.
func matchPolicy(m *match.Policy) bool { return m.None }
