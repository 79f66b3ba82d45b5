package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchNFAcct is -m nfacct: it counts, even where a later match of the rule does not hold. It holds itself unless the object has a quota
// that is not used up.
func (w *walk) matchNFAcct(s *skb, m *match.NFAcct) bool {
	if w.h.probes == 0 {
		j := &w.h.journal
		j.pending = append(j.pending, pendingCount{object: m.Object, bytes: uint64(s.Size())})
	}
	return w.h.netfilter.Accounts().Matches(m.Object, uint64(s.Size()))
}
