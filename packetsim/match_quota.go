package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchQuota is -m quota (net/netfilter/xt_quota.c). The first packet that is too big for what is left ends it.
func (mt *matcher) matchQuota(s *skb, m *match.Quota) bool {
	key, quotas := mt.matchKey(), &mt.memory.quotas
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
