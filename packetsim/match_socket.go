package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchSocket is -m socket (net/netfilter/xt_socket.c): a socket that would take the packet, and that is not bound to every address.
func (mt *matcher) matchSocket(s *skb, m *match.Socket) bool {
	socket := s.Socket
	if socket == nil {
		mt.fail(errNoSocket)
		return false
	}
	if socket.None || socket.Wildcard && !m.NoWildcard || m.Transparent && !socket.Transparent {
		return false
	}
	if m.RestoreMark {
		s.Mark = socket.Mark
	}
	return true
}
