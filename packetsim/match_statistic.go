package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchStatistic is -m statistic (net/netfilter/xt_statistic.c).
func (w *walk) matchStatistic(s *packet, m *fakeipt.MatchStatistic) bool {
	if m.Mode == fakeipt.StatisticRandom {
		return w.chance.Draw(m.Probability) != m.Invert
	}
	key := w.matchKey(s)
	count, begun := w.h.nth[key]
	if !begun {
		count = m.Every - 1 - m.Packet
	}
	next := count + 1
	if next >= m.Every {
		next = 0
	}
	nth := w.h.nth
	w.h.onRollback(func() {
		if begun {
			nth[key] = count
		} else {
			delete(nth, key)
		}
	})
	nth[key] = next
	return (next == 0) != m.Invert
}
