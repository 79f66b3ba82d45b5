package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errNoMAC = errors.New(`packet: a rule asks for the link-layer address that it came from: add "mac ADDRESS"`)

// matchMAC is -m mac (net/netfilter/xt_mac.c). Without Ethernet it does not hold, negated or not.
func (mt *matcher) matchMAC(s *skb, m *match.MAC) bool {
	switch {
	case s.in == nil, s.in.Name == loopbackName, s.looped:
		return false
	case s.MAC == inet.MAC{}:
		mt.fail(errNoMAC)
		return false
	}
	return (s.MAC == inet.MAC(m.Source)) != m.Invert
}
