package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errNoTCPOptions = errors.New("packet: TCP options are not known: a rule with --tcp-option cannot be evaluated")

// matchTCP is -m tcp (net/netfilter/xt_tcpudp.c).
func (mt *matcher) matchTCP(s *skb, m *match.TCP) bool {
	if !matchPorts(s, inet.TCP, m.SrcPorts, m.InvSrc, m.DstPorts, m.InvDst) {
		return false
	}
	if (uint8(s.TCPFlags)&m.FlagMask == m.FlagComp) == m.InvFlags {
		return false
	}
	if m.Option == 0 {
		return true
	}
	has, known := s.hasTCPOption(m.Option)
	if !known {
		mt.fail(errNoTCPOptions)
		return false
	}
	return has != m.InvOption
}

// matchPorts compares the ports of a packet of the protocol.
func matchPorts(s *skb, proto inet.Proto, src xtables.PortRange, invSrc bool, dst xtables.PortRange, invDst bool) bool {
	return s.Proto == proto && src.Contains(s.SrcPort) != invSrc && dst.Contains(s.DstPort) != invDst
}
