package conntrack

import "net/netip"

// ForgetMasquerades removes the connections that were masqueraded by the device with an address that is lost.
func (k *Tracker) ForgetMasquerades(dev string, lost func(netip.Addr) bool) {
	for c := range k.tracked.all() {
		if c.MasqueradeDev == dev && lost(c.Tuples[Reply].Dst) {
			k.Remove(c)
		}
	}
}
