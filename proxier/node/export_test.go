package node

import (
	"net/netip"
	"slices"
)

// NodeIPs returns the addresses that Start found: one, one of each family with
// the main one first, or none.
func (m *Manager) NodeIPs() []netip.Addr { return slices.Clone(m.nodeIPs) }
