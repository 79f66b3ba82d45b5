package packetsim

import "net/netip"

// forgetMasquerades removes the connections that were masqueraded by a device that is not up any more, or with an
// address that the device has lost (net/netfilter/nf_nat_masquerade.c).
func (h *Host) forgetMasquerades(before map[string]*device) {
	for name, old := range before {
		now := h.byName[name]
		if old.Up && (now == nil || !now.Up) {
			h.forgetMasqueradesBy(name, func(netip.Addr) bool { return true })
			continue
		}
		h.forgetMasqueradesBy(name, func(addr netip.Addr) bool { return old.Has(addr) && !now.Has(addr) })
	}
}

func (h *Host) forgetMasqueradesBy(dev string, lost func(netip.Addr) bool) {
	h.checkpoint()
	defer h.keep()
	for c := range h.tracked.all() {
		if c.masqueradeDev == dev && lost(c.tuples[reply].Dst) {
			h.remove(c)
		}
	}
}
