package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// connmark is -j CONNMARK (net/netfilter/xt_connmark.c).
func (tg *targets) connmark(s *skb, t *target.Connmark) {
	c := s.conn
	if c == nil {
		return
	}
	before := c.Mark
	switch t.Mode {
	case target.ConnmarkSet:
		tg.conns.Change(c)
		c.Mark = c.Mark&^t.CTMask ^ t.Value
	case target.ConnmarkSave:
		tg.conns.Change(c)
		c.Mark = c.Mark&^t.CTMask ^ s.Mark&t.NFMask
	case target.ConnmarkRestore:
		s.Mark = s.Mark&^t.NFMask ^ c.Mark&t.CTMask
	}
	if tg.tellsEvents() && c.Mark != before {
		tg.tell(Event{Kind: EventConnmark, Entry: tg.conns.EntryOf(c)})
	}
}
