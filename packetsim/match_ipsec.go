package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt"
)

var (
	errNoSPI      = errors.New("packet: SPI is not set: a rule with -m ah, esp or ipcomp cannot be evaluated")
	errNoSPIPorts = errors.New("packet: SPI is not set: a rule with -m hashlimit asks for the ports, and takes them from it")
	errAH6        = errors.New("not supported: -m ah --ahlen or --ahres: a packet here does not say the length and the reserved field of the header")
)

// matchSPI compares the packet's SPI.
func (w *walk) matchSPI(s *skb, r fakeipt.NumberRange) bool {
	if s.SPI == nil {
		w.fail(errNoSPI)
		return false
	}
	return r.Contains(*s.SPI)
}

// matchAH is -m ah of IPv4 (net/ipv4/netfilter/ipt_ah.c), and of IPv6 (net/ipv6/netfilter/ip6t_ah.c). The header
// may stand before other ones there: of a packet here it is the last.
func (w *walk) matchAH(s *skb, m *fakeipt.MatchAH) bool {
	if s.Proto != AH {
		return false
	}
	if !w.matchSPI(s, m.SPI) {
		return false
	}
	if s.Is6() && (m.Length != fakeipt.HeaderLength{} || m.Reserved) {
		w.fail(errAH6)
		return false
	}
	return true
}
