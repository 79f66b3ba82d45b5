package packetsim

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// ipv6NoNextHeader is the protocol number of a packet with nothing behind its headers.
const ipv6NoNextHeader = 59

// The fields that -m mh and -m dccp look at are not in a Packet.
var (
	errNoMHType = fmt.Errorf("%w: match mh: a packet here says no type of its mobility header", errNoWalk)
	errNoDCCP   = fmt.Errorf("%w: match dccp: a packet here says no ports, type and options of DCCP", errNoWalk)
)

// matchIPv6Header is -m ipv6header (net/ipv6/netfilter/ip6t_ipv6header.c) for packets that have the header of their protocol only.
func matchIPv6Header(s *skb, m *match.IPv6Header) bool {
	has := match.IPv6Protocol
	switch s.Proto {
	case inet.ESP:
		has = match.IPv6ESP
	case ipv6NoNextHeader:
		has = match.IPv6NoNextHeader
	}
	if !m.Soft {
		return (has == m.Headers) != m.Invert
	}
	if m.Invert {
		return has&m.Headers == 0
	}
	return has&m.Headers == m.Headers
}

var errExtensionHeader = errors.New("not supported: a match of extension headers, of a packet whose protocol is one")

// lacksHeaders says whether the packet has no extension headers, which -m frag, hbh, dst, rt and srh look for.
func (mt *matcher) lacksHeaders(s *skb) bool {
	switch s.Proto {
	case 0, 43, 44, inet.AH, 60:
		mt.fail(errExtensionHeader)
		return false
	}
	return true
}

// matchEUI64 is -m eui64 (net/ipv6/netfilter/ip6t_eui64.c): the address is made of the sender's as RFC 4291 says, appendix A. It drops a
// packet without a link-layer header, such as the host's own copy of what it sends to many (measured on Linux 6.18.44).
func (mt *matcher) matchEUI64(s *skb) bool {
	switch {
	case s.looped:
		mt.hotdrop = true
		return false
	case s.MAC == (inet.MAC{}) && s.in.Name != loopbackName:
		mt.fail(errNoMAC)
		return false
	}
	m, host := s.MAC, s.Src.As16()
	return [8]byte(host[8:]) == [8]byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}
}
