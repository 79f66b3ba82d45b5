package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// The numbers of the TCP options that a Packet can have.
const (
	tcpOptionMSS           = 2
	tcpOptionScale         = 3
	tcpOptionSACKPermitted = 4
	tcpOptionSACK          = 5
)

// stripOptions is -j TCPOPTSTRIP (net/netfilter/xt_TCPOPTSTRIP.c): options are written over, so that the packet's length stays.
func stripOptions(s *skb, t *target.TCPOptStrip) {
	s.Length = s.Size()
	before := s.headerSize()
	defer func() { s.padding += before - s.headerSize() }()
	if t.Strips(tcpOptionMSS) {
		s.MSS, s.noMSS = 0, true
	}
	if s.Numbers == nil {
		return
	}
	n := *s.Numbers
	if t.Strips(tcpOptionScale) {
		n.HasScale, n.Scale = false, 0
	}
	if t.Strips(tcpOptionSACKPermitted) {
		n.SACKPermitted = false
	}
	if t.Strips(tcpOptionSACK) {
		n.SACK = nil
	}
	s.Numbers = &n
}

// headerSize is the length of the packet without the padding of its options.
func (s *skb) headerSize() int {
	headers := s.Packet
	headers.Length = 0
	return headers.Size()
}

// hasTCPOption says whether the packet has the option; known is false if it cannot be told.
func (s *skb) hasTCPOption(number uint8) (has, known bool) {
	if number == tcpOptionMSS && s.MSS != 0 {
		return true, true
	}
	n := s.Numbers
	if n == nil || number < tcpOptionMSS {
		return false, false
	}
	switch number {
	case tcpOptionScale:
		return n.HasScale, true
	case tcpOptionSACKPermitted:
		return n.SACKPermitted, true
	case tcpOptionSACK:
		return len(n.SACK) > 0, true
	}
	return false, true
}
