package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchHelper is -m helper (net/netfilter/xt_helper.c): it asks for the helper of the connection that has announced this
// one. Helpers look at what packets carry, of which there is nothing here: no connection was announced.
func matchHelper(m *match.Helper) bool { return m.Invert }
