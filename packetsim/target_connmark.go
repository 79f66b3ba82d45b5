package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// connmark is -j CONNMARK (net/netfilter/xt_connmark.c).
func (tg *targets) connmark(s *skb, t *target.Connmark) {
	c := s.conn
	if c == nil {
		return
	}
	before := c.mark
	switch t.Mode {
	case target.ConnmarkSet:
		tg.conns.change(c)
		c.mark = c.mark&^t.CTMask ^ t.Value
	case target.ConnmarkSave:
		tg.conns.change(c)
		c.mark = c.mark&^t.CTMask ^ s.Mark&t.NFMask
	case target.ConnmarkRestore:
		s.Mark = s.Mark&^t.NFMask ^ c.mark&t.CTMask
	}
	if tg.tells() && c.mark != before {
		tg.tell(Event{Kind: EventConnmark, Entry: tg.conns.entryOf(c)})
	}
}
