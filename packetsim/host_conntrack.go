package packetsim

import "net/netip"

// Conntrack lists the connections that have not expired, sorted by their tuples and zones.
func (h *Host) Conntrack() []ConntrackEntry {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.conns.entries()
}

// DeleteConntrack removes the entries for which drop is true, as "conntrack -D" does, and says how many they were.
// ConntrackFilter.Matches is such a function.
func (h *Host) DeleteConntrack(drop func(ConntrackEntry) bool) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.checkpoint()
	defer h.keep()
	return h.conns.delete(drop)
}

// forgetMasquerades removes the connections that were masqueraded by a device that is not up any more, or with an
// address that the device has lost (net/netfilter/nf_nat_masquerade.c).
func (h *Host) forgetMasquerades(before map[string]*device) {
	h.checkpoint()
	defer h.keep()
	for name, old := range before {
		now := h.byName[name]
		if old.Up && (now == nil || !now.Up) {
			h.conns.forgetMasquerades(name, func(netip.Addr) bool { return true })
			continue
		}
		h.conns.forgetMasquerades(name, func(addr netip.Addr) bool { return old.Has(addr) && !now.Has(addr) })
	}
}
