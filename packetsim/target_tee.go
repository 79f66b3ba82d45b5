package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errTEEToItself = errors.New("not supported: TEE to an address of the host itself")

// tee is -j TEE (net/netfilter/xt_TEE.c, net/ipv4/netfilter/nf_dup_ipv4.c and its IPv6 twin): a copy of the packet as it is now goes out to
// the gateway by way of OUTPUT and POSTROUTING. It belongs to no connection, no socket sent it, and it is not copied again, but for the
// host's own copy of it if it goes to many. Without a route to the gateway there is none.
func (a *answers) tee(s *skb, t *target.TEE) {
	if a.copied {
		return
	}
	to, ok := a.teePath(t)
	switch {
	case !ok:
		return
	case to.local:
		a.fail(errTEEToItself)
		return
	}
	p := &skb{Packet: s.Packet, relation: isUntracked, path: to, routed: true, came: s.came, held: s.holder(), isCopy: true, local: true,
		sums: s.sums, copyOf: s.frameType(), drawn: s.hasDrawnPort()}
	p.Socket = &inet.Socket{None: true}
	if s.hook == preRouting || s.hook == input {
		p.SetHopLimit(p.HopLimit() - 1) // of 0 it makes 255
	}
	a.emit(Reply{Packet: p.Packet, Copy: true}, p, func(sub *walk) { sub.sendRouted(p) })
}

// teePath is the way of a copy. A device that is not there does not bind it. By --oif IPv4 takes the gateway to be on the link where no
// route of the device says so (ip_route_output_key_hash_rcu).
func (a *answers) teePath(t *target.TEE) (to path, ok bool) {
	f := &flow{dst: t.Gateway, in: loopbackName, chance: a.chance}
	dev := a.host.byName[t.Oif]
	if dev != nil {
		f.out = t.Oif
	}
	to, _, err := a.host.routeOutput(f, true)
	if err != nil && t.Gateway.Is4() && dev != nil && dev.Up {
		return path{out: dev, nextHop: t.Gateway, typ: RouteUnicast}, true
	}
	return to, err == nil
}
