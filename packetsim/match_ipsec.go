package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt"
)

var (
	errNoSPI = errors.New("packet: SPI is not set: a rule with -m ah, esp or ipcomp cannot be evaluated")
	errAH6   = errors.New("not supported: -m ah of an IPv6 packet, which has the header before its protocol's")
)

// matchSPI compares the packet's SPI.
func (w *walk) matchSPI(s *skb, r fakeipt.NumberRange) bool {
	if s.SPI == nil {
		w.fail(errNoSPI)
		return false
	}
	return r.Contains(*s.SPI)
}

// matchAH is -m ah of IPv4 (net/ipv4/netfilter/ipt_ah.c), and of IPv6 (net/ipv6/netfilter/ip6t_ah.c) for packets without the header.
func (w *walk) matchAH(s *skb, m *fakeipt.MatchAH) bool {
	if s.Proto != AH {
		return false
	}
	if s.Is6() {
		w.fail(errAH6)
		return false
	}
	return w.matchSPI(s, m.SPI)
}
