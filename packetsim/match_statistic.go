package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchStatistic is -m statistic (net/netfilter/xt_statistic.c).
func (mt *matcher) matchStatistic(s *skb, m *match.Statistic) bool {
	if m.Mode == match.StatisticRandom {
		return mt.chance.Draw(m.Probability) != m.Invert
	}
	key, nth := mt.matchKey(), &mt.memory.nth
	count, begun := nth.get(key)
	if !begun {
		count = m.Every - 1 - m.Packet
	}
	next := count + 1
	if next >= m.Every {
		next = 0
	}
	nth.put(key, next)
	return (next == 0) != m.Invert
}
