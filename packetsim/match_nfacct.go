package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchNFAcct is -m nfacct: it counts and holds, even where a later match of the rule does not.
func (w *walk) matchNFAcct(s *packet, m *fakeipt.MatchNFAcct) bool {
	j := &w.h.journal
	j.pending = append(j.pending, pendingCount{object: m.Object, bytes: uint64(s.size())})
	return true
}
