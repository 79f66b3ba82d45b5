package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// Conntrack lists the connections that have not expired, sorted by their tuples and zones.
func (h *Host) Conntrack() []conntrack.Entry {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.conns.Entries()
}

// DeleteConntrack removes the entries for which drop is true, as "conntrack -D" does, and says how many they were.
// ConntrackFilter.Matches is such a function.
func (h *Host) DeleteConntrack(drop func(conntrack.Entry) bool) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.checkpoint()
	defer h.keep()
	return h.conns.Delete(drop)
}

// forgetMasquerades removes the connections that were masqueraded by a device that is not up any more, or with an
// address that the device has lost (net/netfilter/nf_nat_masquerade.c).
func (h *Host) forgetMasquerades(before map[string]*device) {
	h.checkpoint()
	defer h.keep()
	for name, old := range before {
		now := h.byName[name]
		if old.Up && (now == nil || !now.Up) {
			h.conns.ForgetMasquerades(name, func(netip.Addr) bool { return true })
			continue
		}
		h.conns.ForgetMasquerades(name, func(addr netip.Addr) bool { return old.Has(addr) && !now.Has(addr) })
	}
}
