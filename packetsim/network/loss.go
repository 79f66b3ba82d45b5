package network

import (
	"fmt"
	"net/netip"
)

// Loss is the place where a packet left the network: a host sent it by a device, and nobody took it up.
type Loss struct {
	// Host sent the packet by Device: a port of a bridge, where the host knows by which one it goes.
	Host, Device string
	// NextHop is the neighbour that the packet was for: the gateway of the route, or the destination itself.
	NextHop netip.Addr
	// Wire is what is plugged in the device, such as "underlay": no host on it has the address NextHop. Empty if nothing is plugged in.
	Wire string
}

// String says what lacks.
func (l *Loss) String() string {
	if l.Wire == "" {
		return fmt.Sprintf("no host is known behind %s, by which it goes to %s", Port{l.Host, l.Device}, l.NextHop)
	}
	return fmt.Sprintf("no host on %s has the address %s", l.Wire, l.NextHop)
}

// lost is the place where a packet that nobody takes up was last.
func (h *Host) lost(device string, nextHop netip.Addr) *Loss {
	l := &Loss{Host: h.Name(), Device: device, NextHop: nextHop}
	if w := h.wires[device]; w != nil {
		l.Wire = w.name
	}
	return l
}
