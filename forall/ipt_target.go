package forall

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// iptAction is what a target does.
func (b *builder) iptAction(r *iptRule, c *chain, st state) diagram.ID {
	switch t := r.Target.(type) {
	case nil:
		return b.is(fell, st)
	case *xtables.TargetVerdict:
		switch t.Kind {
		case xtables.VerdictAccept:
			return b.is(accepted, st)
		case xtables.VerdictDrop:
			return b.dropped()
		}
		return b.is(returned, st)
	case *xtables.Jump:
		return jumpInto(b, b.ledTo(c, r, t.Chain), t.Chain, t.Goto, st)
	case *target.Mark:
		st.mark = st.mark&^t.Mask ^ t.Value
		return b.is(fell, st)
	case *target.Connmark:
		return b.connmark(t, st)
	case *target.Reject:
		return b.rejected(t.With)
	case *target.Notrack:
		return b.is(fell, untrackedState(st))
	case *target.CT:
		return b.ctTarget(t, st)
	case *target.DNAT:
		if t.BasePort != 0 {
			return b.unmodelled("DNAT with shifted ports")
		}
		return b.dnat(&t.Range, st, r.hasPorts())
	case *target.Redirect:
		return b.redirect(&t.Range, st, r.hasPorts())
	case *target.SNAT:
		return b.snat(&t.Range, st)
	case *target.Masquerade:
		return b.masquerade(&t.Range, st)
	}
	return b.iptActionMore(r.Target, st)
}

// iptActionMore is iptAction for what tells others of the packet, and for what changes headers.
func (b *builder) iptActionMore(t xtables.Target, st state) diagram.ID {
	switch t := t.(type) {
	case *target.Log, *target.Trace, *target.NFLOG, *target.Checksum, *target.Audit, *target.Idletimer, *target.Rateest, *target.Classify,
		*target.Connsecmark, *target.Secmark, *target.TEE, *target.Set:
		return b.is(fell, st)
	case *target.TCPMSS, *target.TOS, *target.DSCP, *target.ECN, *target.TCPOptStrip:
		st.altered = true
		return b.is(fell, st)
	case *xtables.Queue:
		return b.dropped() // no program listens
	case *target.NFQUEUE:
		if !t.Bypass {
			return b.dropped()
		}
	case *xtables.OpaqueTarget:
		return b.unmodelled("the target " + t.Extension + ", which is not known")
	}
	return b.unmodelled("the target " + t.Name())
}

// untrackedState is the state of a packet that conntrack is to leave alone.
func untrackedState(st state) state {
	if st.rel == unseen {
		st.rel = untracked
	}
	return st
}

func (b *builder) ctTarget(t *target.CT, st state) diagram.ID {
	switch {
	case st.rel != unseen:
		return b.is(fell, st)
	case t.Notrack:
		st.rel = untracked
		return b.is(fell, st)
	case t.Timeout != "" || t.Zone != 0 || t.ZoneMark:
		return b.unmodelled("CT with a zone or a timeout policy")
	}
	st.rel = templated
	return b.is(fell, st)
}

func (b *builder) connmark(t *target.Connmark, st state) diagram.ID {
	switch {
	case st.rel == templated:
		return b.unmodelled(ofTemplate)
	case !st.rel.tracked():
		return b.is(fell, st)
	case t.Shift != 0:
		return b.unmodelled("CONNMARK that shifts")
	case t.Mode == target.ConnmarkRestore && !b.knowsEntry(&st):
		return b.unmodelled("the mark of a connection that is there")
	}
	switch t.Mode {
	case target.ConnmarkSet:
		st.ctmark = st.ctmark&^t.CTMask ^ t.Value
	case target.ConnmarkSave:
		st.ctmark = st.ctmark&^t.CTMask ^ st.mark&t.NFMask
	case target.ConnmarkRestore:
		st.mark = st.mark&^t.NFMask ^ st.ctmark&t.CTMask
	}
	return b.is(fell, st)
}

// dnat binds the destination. ported says that it is known that the packet's protocol has ports.
func (b *builder) dnat(r *netfilter.NATRange, st state, ported bool) diagram.ID {
	switch {
	case !st.rel.tracked():
		return b.dropped()
	case r.MinAddr != r.MaxAddr || r.MinPort != r.MaxPort || r.Random || r.RandomFully || r.Shifted:
		return b.unmodelled("DNAT to several addresses or ports")
	}
	to := destination{addr: r.MinAddr, port: r.MinPort, hasPort: r.HasPorts || r.MinPort != 0}
	return b.bindDst(to, st, ported)
}

// bindDst makes a target the destination. Of protocols without ports the port is left out.
func (b *builder) bindDst(to destination, st state, ported bool) diagram.ID {
	st.bound[conntrack.Destination] = true
	without := to
	without.port, without.hasPort = 0, false
	if !to.hasPort || ported {
		return b.moveTo(to, st)
	}
	q := b.newCond(&st)
	q.need(vProto, portedProtos, false)
	return b.then(q.id(), b.moveTo(to, st), b.moveTo(without, st))
}

// moveTo gives the packet a destination. What it has already stays as in the packet.
func (b *builder) moveTo(to destination, st state) diagram.ID {
	st.moved = b.movedBy(to, st.view)
	if st.moved != unmoved {
		return b.is(accepted, b.withTarget(to, st))
	}
	if !to.hasPort {
		return b.is(accepted, st)
	}
	same := st
	st.moved = isMoved
	other := b.is(accepted, b.withTarget(to, st))
	port := diagram.Set{diagram.Point(diagram.Number(uint64(to.port)))}
	return b.then(b.s.Choose(vDstPort, port, b.s.One(yes), b.s.One(no)), b.is(accepted, same), other)
}

// movedBy says whether the address of a target is another one than the destination of a view.
func (b *builder) movedBy(to destination, view int32) moved {
	if !to.addr.IsValid() {
		return unmoved
	}
	in := &b.slices[b.sliceOf(valueOf(to.addr))]
	switch {
	case in.view != b.numberOf(view):
		return isMoved
	case b.sight.known != nil: // slices are wider than with all that is asked for
		b.sight.strayed = true
	case in.First == in.Last && b.views[view].alone:
		return unmoved
	}
	b.selves.failed = b.selves.failed || len(b.selves.groups.all) > 0
	return mayBeOne
}

func (b *builder) withTarget(to destination, st state) state {
	if to.addr.IsValid() {
		st.view = b.viewOf(to.addr)
	}
	if to.hasPort {
		st.port = int32(to.port)
	}
	st.to = b.names.target(to)
	return st
}

// redirect is REDIRECT: to an address of the host.
func (b *builder) redirect(r *netfilter.NATRange, st state, ported bool) diagram.ID {
	return b.eachIn(&st, func(in *packetsim.Device) diagram.ID {
		name := ""
		if in != nil {
			name = in.Name
		}
		to := *r
		to.MinAddr = b.t.RedirectAddr(st.hook, name, b.views[st.view].addr)
		if to.MaxAddr = to.MinAddr; !to.MinAddr.IsValid() {
			return b.dropped()
		}
		return b.dnat(&to, st, ported)
	})
}

// snat binds the source.
func (b *builder) snat(r *netfilter.NATRange, st state) diagram.ID {
	switch {
	case !st.rel.tracked():
		return b.dropped()
	case r.MinAddr != r.MaxAddr:
		return b.unmodelled("SNAT to several addresses")
	}
	st.bound[conntrack.Source] = true
	if r.Random || r.RandomFully || r.HasPorts || r.MinPort != 0 {
		st.anyPort = true
	}
	if !r.MinAddr.IsValid() {
		return b.is(accepted, st)
	}
	same := st
	st.src = b.sources.number(r.MinAddr)
	return b.bySrc(r.MinAddr, b.is(accepted, same), b.is(accepted, st))
}

// masquerade is SNAT to an address of the device by which the packet leaves.
func (b *builder) masquerade(r *netfilter.NATRange, st state) diagram.ID {
	if !st.rel.tracked() {
		return b.dropped()
	}
	dst := b.views[st.view].addr
	hop := b.way(&st).NextHop
	if !hop.IsValid() {
		hop = dst
	}
	out := ""
	if dev := b.out(&st); dev != nil {
		out = dev.Name
	}
	to := *r
	to.MinAddr = b.t.MasqueradeAddr(out, hop, dst)
	to.MaxAddr = to.MinAddr
	translated := b.dropped()
	if to.MinAddr.IsValid() {
		translated = b.snat(&to, st)
	}
	nobody := netip.IPv4Unspecified()
	if b.six {
		nobody = netip.IPv6Unspecified()
	}
	return b.bySrc(nobody, b.is(accepted, st), translated)
}

// bySrc is what happens to packets of a source, and to the others.
func (b *builder) bySrc(src netip.Addr, to, others diagram.ID) diagram.ID {
	return b.then(b.s.Choose(vSrc, diagram.Set{diagram.Point(valueOf(src))}, b.s.One(yes), b.s.One(no)), to, others)
}
