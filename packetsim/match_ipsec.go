package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var (
	errNoSPI      = errors.New(`packet: a rule with -m ah, esp or ipcomp asks for its SPI: add "spi N"`)
	errNoSPIPorts = errors.New(`packet: a rule with -m hashlimit takes its ports from the SPI: add "spi N"`)
	errNoAH       = errors.New(`packet: a rule with -m ah --ahlen or --ahres asks for its authentication header: add "ah LENGTH"`)
)

// matchSPI compares the packet's SPI.
func (mt *matcher) matchSPI(s *skb, r xtables.NumberRange) bool {
	if s.SPI == nil {
		mt.fail(errNoSPI)
		return false
	}
	return r.Contains(*s.SPI)
}

// matchAH is -m ah of IPv4 (net/ipv4/netfilter/ipt_ah.c), and of IPv6 (net/ipv6/netfilter/ip6t_ah.c). The header
// may stand before other ones there: of a packet here it is the last.
func (mt *matcher) matchAH(s *skb, m *match.AH) bool {
	if s.Proto != inet.AH {
		return false
	}
	if !mt.matchSPI(s, m.SPI) {
		return false
	}
	if !s.Is6() || m.Length.Value == 0 && !m.Reserved {
		return true
	}
	if s.AH == nil {
		mt.fail(errNoAH)
		return false
	}
	return (m.Length.Value == 0 || (m.Length.Value == uint32(s.AH.Length)) != m.Length.Invert) && (!m.Reserved || s.AH.Reserved == 0)
}
