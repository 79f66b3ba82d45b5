package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

var errNoLabels = errors.New("conntrack: the labels of the entry are not known: a rule asks for them")

// matchConnlabel is -m connlabel (net/netfilter/xt_connlabel.c).
func (mt *matcher) matchConnlabel(s *skb, m *match.Connlabel) bool {
	c := s.conn
	if c == nil || c.Template != nil {
		return m.Invert
	}
	word, bit := m.Label/64, uint64(1)<<(m.Label%64)
	var labels conntrack.Labels
	switch {
	case c.Labels != nil:
		labels = *c.Labels
	case c.Given:
		mt.fail(errNoLabels)
		return false
	}
	if labels[word]&bit != 0 {
		return !m.Invert
	}
	if !m.Set {
		return m.Invert
	}
	mt.conns.Change(c)
	labels[word] |= bit
	c.Labels = &labels
	return !m.Invert
}
