package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// targetSet is -j SET. Rules after it see the set as it is then.
func (tg *targets) targetSet(s *skb, t *target.Set) fate {
	tg.memory.sets.now().Apply(&t.Change, tg.match.setPacket(s, &t.Add, &t.Del))
	return goOn
}
