package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// connmark is -j CONNMARK (net/netfilter/xt_connmark.c).
func (w *walk) connmark(s *skb, t *target.Connmark) {
	c := s.conn
	if c == nil {
		return
	}
	before := c.mark
	switch t.Mode {
	case target.ConnmarkSet:
		w.h.change(c)
		c.mark = c.mark&^t.CTMask ^ t.Value
	case target.ConnmarkSave:
		w.h.change(c)
		c.mark = c.mark&^t.CTMask ^ s.Mark&t.NFMask
	case target.ConnmarkRestore:
		s.Mark = s.Mark&^t.NFMask ^ c.mark&t.CTMask
	}
	if w.tells() && c.mark != before {
		w.tell(Event{Kind: EventConnmark, Entry: w.entryOf(c)})
	}
}
