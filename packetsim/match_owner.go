package packetsim

import (
	"errors"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errNoSocket = errors.New(`packet: a rule asks for its socket: add "socket none", "socket kernel" or "socket uid=N,gid=N"`)

// matchOwner is -m owner (net/netfilter/xt_owner.c). A packet that the host only forwards has no socket.
func (mt *matcher) matchOwner(s *skb, m *match.Owner) bool {
	socket := s.Socket
	switch {
	case !s.local, socket != nil && socket.None:
		return noOwner(m) && !m.SocketExists
	case socket == nil:
		mt.fail(errNoSocket)
		return false
	case m.InvSocketExists:
		return false
	case socket.Kernel:
		return noOwner(m)
	}
	if m.UID != nil && inIDs(m.UID, socket.UID) == m.UID.Invert {
		return false
	}
	if m.GID == nil {
		return true
	}
	member := inIDs(m.GID, socket.GID)
	if m.SupplGroups {
		member = member || slices.ContainsFunc(socket.Groups, func(g uint32) bool { return inIDs(m.GID, g) })
	}
	return member != m.GID.Invert
}

// noOwner says whether the match holds where there is no owner: all of its conditions are negated.
func noOwner(m *match.Owner) bool {
	return (m.UID == nil || m.UID.Invert) && (m.GID == nil || m.GID.Invert) && !m.SupplGroups
}

func inIDs(r *match.IDRange, id uint32) bool { return r.Min <= id && id <= r.Max }
