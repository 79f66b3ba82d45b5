package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchQuota is -m quota (net/netfilter/xt_quota.c). The first packet that is too big for what is left ends it.
func (w *walk) matchQuota(s *skb, m *match.Quota) bool {
	key, quotas := w.matchKey(), &w.h.memory.quotas
	left, begun := quotas.get(key)
	if !begun {
		left = m.Quota
	}
	size := uint64(s.Size())
	fits := left >= size
	if fits {
		left -= size
	} else {
		left = 0
	}
	quotas.put(key, left)
	return fits != m.Invert
}
