package forall

import (
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

const loopback = "lo"

// walk is the fates of packets in a state, from the hook's entry at which they are on.
func (b *builder) walk(st state) diagram.ID {
	if st.to < someTarget {
		return b.walkTarget(st)
	}
	return recall(&b.names, &b.walks, st, st.isHere(), func() diagram.ID { return b.step(st) })
}

// walkTarget walks one target of each class of those that rules cannot tell apart, and puts the others in its place.
func (b *builder) walkTarget(st state) diagram.ID {
	to := st.to
	st.to = someTarget
	key := targetKey{walk: b.walk(st), to: to}
	if target := b.names.targetOf(to); b.selves.some() && target.addr.IsValid() {
		key.who = b.names.source(valueOf(target.addr))
	}
	if known, is := b.targeted.get(key); is {
		return known
	}
	made := bySelf(b, &key, func(a diagram.Atom) diagram.Atom {
		if a >= 0 {
			k, end := b.stateOf(a)
			if end.to == someTarget {
				end.to = to
			}
			return b.atom(k, end)
		}
		end := b.w.ends.all[-a]
		if end.dst != someAddr {
			return a
		}
		end.port = uint32(to)
		return b.w.end(end)
	})
	b.targeted.put(key, made)
	return made
}

// step does what the entry says at which the packet is.
func (b *builder) step(st state) diagram.ID {
	entries := b.entries[st.hook]
	if int(st.at) == len(entries) {
		return b.behind(st)
	}
	e := &entries[st.at]
	switch e.Kind {
	case packetsim.EntryConntrack:
		if st.rel == unseen || st.rel == templated {
			st.rel, st.reply = b.relationOf()
		}
		return b.next(st)
	case packetsim.EntryNAT:
		return b.nat(st, e)
	case packetsim.EntryChain:
		c := &e.Chains[0]
		return b.s.Replace(b.run(c, st), func(a diagram.Atom) diagram.ID {
			_, after := b.stateOf(a)
			if c.Reroutes && st.hook == netfilter.Output && after.mark != st.mark {
				after.at++
				return b.onward(b.routeOut(after, true))
			}
			return b.next(after)
		})
	}
	return b.next(st)
}

func (b *builder) next(st state) diagram.ID {
	st.at, st.sub = st.at+1, 0
	return b.walk(st)
}

// relationOf is what conntrack says of packets of the class.
func (b *builder) relationOf() (r relation, reply bool) {
	switch b.class {
	case New:
		return fresh, false
	case Established:
		return established, false
	case Replying:
		return established, true
	case Related:
		return related, false
	case Untracked:
		return untracked, false
	}
	return unseen, false
}

// nat is NAT at a hook: of a new connection its chains decide the side.
func (b *builder) nat(st state, e *packetsim.HookEntry) diagram.ID {
	if b.ends == asReplies {
		return b.natBack(st, e.Side)
	}
	if st.rel != fresh || st.bound[e.Side] {
		return b.next(st)
	}
	if int(st.sub) == len(e.Chains) {
		st.bound[e.Side] = true
		return b.next(b.behindNAT(st))
	}
	return b.s.Replace(b.run(&e.Chains[st.sub], st), func(a diagram.Atom) diagram.ID {
		_, after := b.stateOf(a)
		if !after.bound[e.Side] {
			after.sub++
			return b.walk(after)
		}
		if after.hook == netfilter.Output && e.Side == conntrack.Destination && after.to != 0 {
			after.at, after.sub = after.at+1, 0
			return b.onward(b.routeOut(after, true))
		}
		return b.next(b.behindNAT(after))
	})
}

// run takes packets through a base chain. Its atoms are the states of those that go on.
func (b *builder) run(c *packetsim.HookChain, st state) diagram.ID {
	base := b.baseOf(c)
	return b.chain(base, st, leaving{accepted: fell, others: fell, drops: base.drops})
}

// behind is what comes after a hook.
func (b *builder) behind(st state) diagram.ID {
	st.at, st.sub = 0, 0
	switch st.hook {
	case netfilter.PreRouting:
		if st.routed {
			return b.routed(st)
		}
		return b.routeIn(st)
	case netfilter.Input:
		return b.arrived(&st, "")
	case netfilter.Forward:
		st.hook = netfilter.PostRouting
		return b.walk(st)
	case netfilter.Output:
		if b.way(&st).ToMany && b.way(&st).Out != loopback {
			return b.unmodelled(toEverybody)
		}
		st.hook, st.out = netfilter.PostRouting, b.outOf(&st)
		return b.walk(st)
	}
	return b.leave(st)
}

// leave is behind POSTROUTING: out of the device, or by lo in again.
func (b *builder) leave(st state) diagram.ID {
	out := b.way(&st).Out
	switch {
	case b.t.Tunnels(out):
		return b.unmodelled("a packet that leaves by the tunnel " + out)
	case out != loopback || st.origin != fromHost:
		return b.arrived(&st, out)
	}
	lo := b.number[loopback]
	if lo == 0 || !b.device(loopback).Up {
		return b.dropped()
	}
	st.origin, st.hook, st.out = fromLo, netfilter.PreRouting, 0
	return b.walk(st)
}

// routed is a packet behind PREROUTING that has its route.
func (b *builder) routed(st state) diagram.ID {
	way := b.way(&st)
	switch {
	case way.Local:
		st.hook, st.out = netfilter.Input, 0
	case way.NotKnown != "":
		return b.unmodelled(way.NotKnown)
	default:
		st.hook, st.out = netfilter.Forward, b.outOf(&st)
	}
	return b.walk(st)
}

// way is the route of a state.
func (l *links) way(st *state) *packetsim.Way {
	if st.way == 0 {
		return &packetsim.Way{}
	}
	return &l.ways.all[st.way]
}

// outOf is the device by which the route leads.
func (l *links) outOf(st *state) int16 { return int16(l.number[l.way(st).Out]) }

func (l *links) device(name string) *packetsim.Device {
	for i := range l.devices {
		if l.devices[i].Name == name {
			return &l.devices[i]
		}
	}
	return nil
}
