package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchNFAcct is -m nfacct: it counts, even where a later match of the rule does not hold. It holds itself unless the object has a quota
// that is not used up.
func (mt *matcher) matchNFAcct(s *skb, m *match.NFAcct) bool {
	mt.tally.countObject(m.Object, s)
	return mt.tally.namespace.Accounts().Matches(m.Object, uint64(s.Size()))
}
