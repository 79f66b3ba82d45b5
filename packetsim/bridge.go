package packetsim

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// bridged is what br_netfilter keeps of a packet: that it came in by a bridge's port, and the port that it is bridged to.
type bridged struct {
	seen    bool
	in, out *device
}

// bridgeOf is the bridge that a device is a port of, or nil.
func (h *routing) bridgeOf(dev *device) *device {
	if dev.Master == "" {
		return nil
	}
	if bridge := h.byName[dev.Master]; bridge != nil && bridge.Kind == "bridge" {
		return bridge
	}
	return nil
}

// portTo is the bridge's port that an address is behind, or nil.
func (h *routing) portTo(bridge *device, addr netip.Addr) *device {
	if bridge.Kind != "bridge" {
		return nil
	}
	for _, dev := range h.devices {
		if dev.Master == bridge.Name && slices.Contains(dev.Neighbours, addr) {
			return dev
		}
	}
	return nil
}

// receiveFrame takes a packet that came in by a port of a bridge (net/bridge/br_input.c). The bridge takes it up as
// its own, or hands it to another port. Nobody answers a sender that asks for a neighbour whom no port leads to.
func (w *walk) receiveFrame(s *skb, bridge *device, nextHop netip.Addr) {
	port := s.in
	if !port.Up || !bridge.Up {
		w.drop(ReasonDeviceDown)
		return
	}
	given := nextHop.IsValid()
	if !given {
		nextHop = s.Dst
	}
	to := w.h.portTo(bridge, nextHop)
	s.in = bridge
	switch {
	case to == nil && given && !w.h.fib(nextHop).isLocal(nextHop):
		w.dropSaying(ReasonNoPort, fmt.Sprintf("no port of %s is known to lead to %s", bridge.Name, nextHop))
	case w.h.fib(s.Dst).isToMany(s.Dst) || s.cameToMany():
		w.fail(errors.New("not supported: a frame to many by a port of a bridge, which goes to the other ports as well"))
	case w.h.bridgeCalls(s):
		s.bridged = bridged{seen: true, in: port}
		w.filterFrame(s, bridge, to)
	case to == nil:
		w.receive(s)
	case w.maySendBack(port, to):
		s.path = path{out: bridge, nextHop: nextHop}
		if w.tells() {
			w.tellRoute(s.path, nil, Routing{Port: to.Name})
		}
		w.leaveBy(s, to)
	}
}

// bridgeCalls says whether br_netfilter shows the rules the frames that are bridged.
func (h *Host) bridgeCalls(s *skb) bool {
	return h.conf.bridgeCalls[familyIndex(&s.Packet)] && h.netfilter != nil
}

// filterFrame takes a bridged frame through PREROUTING and on: a changed destination decides anew where it goes
// (br_nf_pre_routing_finish in net/bridge/br_netfilter_hooks.c).
func (w *walk) filterFrame(s *skb, bridge, to *device) {
	dst := s.Dst
	if err := checkReceive(s, bridge); err != nil {
		w.refuse(err)
		return
	}
	if !w.pass(s, preRouting, bridge, nil) {
		return
	}
	if s.Dst == dst {
		if to == nil {
			w.route(s)
			return
		}
		s.path = path{out: bridge, nextHop: dst}
		w.bridge(s, bridge, to)
		return
	}
	way, err := w.h.routeInput(&s.Packet, bridge, w.chance)
	if err == ReasonForwardingOff {
		way, _, err = w.h.routeOutput(&flow{dst: s.Dst, in: loopbackName, chance: w.chance}, true)
		if err == nil && way.out != bridge {
			err = ReasonForwardingOff
		}
	}
	if w.tells() && (err != nil || way.local || way.out != bridge) {
		w.tellRoute(way, err, Routing{})
	}
	if err != nil {
		w.routeError(s, err)
		return
	}
	s.path, s.routed = way, true
	if way.local || way.out != bridge {
		w.route(s)
		return
	}
	if to = w.h.portTo(bridge, way.nextHop); to == nil {
		to = &device{}            // it is taken to be another one than that by which the frame came
		if way.nextHop == s.Src { // whom the bridge has learned from this frame
			to = s.bridged.in
		}
	}
	w.bridge(s, bridge, to)
}

// bridge hands a frame to another port, by FORWARD and POSTROUTING.
func (w *walk) bridge(s *skb, bridge, to *device) {
	if !w.maySendBack(s.bridged.in, to) {
		return
	}
	s.bridged.out = to
	if w.tells() {
		w.tellRoute(s.path, nil, Routing{Port: to.Name})
	}
	if w.pass(s, forward, bridge, bridge) && w.pass(s, postRouting, nil, bridge) {
		w.leaveBy(s, to)
	}
}

// maySendBack is false for a frame that would go back where it came from, unless the port allows it (should_deliver in
// net/bridge/br_forward.c).
func (w *walk) maySendBack(from, to *device) bool {
	if from == to && !to.Hairpin {
		w.dropSaying(ReasonNoHairpin, "port "+to.Name+" is not in hairpin mode")
		return false
	}
	return true
}

func (w *walk) leaveBy(s *skb, port *device) {
	o := w.outcome
	o.Verdict, o.To, o.Out, o.Port, o.NextHop = Accept, ToForward, s.path.out.Name, port.Name, s.path.nextHop
}

// BridgeCallSysctl is br_netfilter's switch for IPv4 or IPv6: unless it is 1, the rules do not see what a bridge carries from port to port.
// Without the module there is none.
func BridgeCallSysctl(v6 bool) string {
	if v6 {
		return "net.bridge.bridge-nf-call-ip6tables"
	}
	return "net.bridge.bridge-nf-call-iptables"
}
