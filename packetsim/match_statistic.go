package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchStatistic is -m statistic (net/netfilter/xt_statistic.c).
func (w *walk) matchStatistic(s *skb, m *match.Statistic) bool {
	if m.Mode == match.StatisticRandom {
		return w.chance.Draw(m.Probability) != m.Invert
	}
	key, nth := w.matchKey(), &w.h.memory.nth
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
