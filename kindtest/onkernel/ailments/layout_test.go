package ailments

// Layout is how a network plugin joins pods to their node, and nodes to each other's pods.
type Layout string

// The layouts.
const (
	// PTP gives each pod a veth with a route of its own; nodes reach other nodes' pods by routes via these nodes (kindnet, Calico).
	PTP Layout = "ptp"
	// Bridge has all pods of a node on the bridge cni0; nodes reach other nodes' pods by routes via these nodes (the bridge plugin, kubenet).
	Bridge Layout = "bridge"
	// Overlay has pods on cni0 and the nodes joined by VXLAN (flannel).
	Overlay Layout = "vxlan"
)

// Layouts are all of them. This kernel has no device of the kinds ipip and wireguard, of which there is therefore none.
var Layouts = []Layout{PTP, Bridge, Overlay}

// onBridge reports whether pods are ports of cni0.
func (l Layout) onBridge() bool { return l != PTP }

// mtu is that of pods' devices.
func (l Layout) mtu() int {
	if l == Overlay {
		return 1430 // 70 bytes less, for VXLAN over IPv6
	}
	return 1500
}
