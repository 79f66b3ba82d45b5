package packetsim

import "net/netip"

// forgetMasquerades removes the connections that were masqueraded by the device with an address that is lost.
func (h *tracker) forgetMasquerades(dev string, lost func(netip.Addr) bool) {
	for c := range h.tracked.all() {
		if c.masqueradeDev == dev && lost(c.tuples[reply].Dst) {
			h.remove(c)
		}
	}
}
