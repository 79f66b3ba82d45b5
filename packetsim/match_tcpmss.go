package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errNoMSS = errors.New(`packet: a rule with -m tcpmss asks for its MSS: add "mss N"`)

// matchTCPMSS is -m tcpmss (net/netfilter/xt_tcpmss.c).
func (mt *matcher) matchTCPMSS(s *skb, m *match.TCPMSS) bool {
	switch {
	case s.MSS != 0:
		return (m.Min <= s.MSS && s.MSS <= m.Max) != m.Invert
	case s.Numbers == nil:
		mt.fail(errNoMSS)
		return false
	}
	return m.Invert
}
