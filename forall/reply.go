package forall

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The reply to a packet is the entry of its connection inverted. What a host does with replies is a function of the reply: of the
// destination that it has in the end, which is the source of the packet, and of the source with which it comes. A translated packet has
// got a source that is one of a few addresses, and this is what its reply is for until NAT gives it back its destination: a constant of
// the way, as all that the way has made of a packet is. Of a packet whose destination NAT has translated the reply's source is put into
// that function, and then the variables are swapped, so that it is a function of the packet.

// endOf is what of the state of a packet that gets somewhere matters to its reply and its fate.
func endOf(st *state, out string) state {
	end := state{hook: netfilter.Input, rel: st.rel, anyPort: st.anyPort, mark: st.mark, ctmark: st.ctmark, moved: st.moved, to: st.to,
		src: st.src}
	if out != "" {
		end.hook, end.out, end.way = netfilter.PostRouting, st.out, st.way
	}
	return end
}

// answering is what the function of replies depends on, beside the reply itself.
type answering struct {
	in     string // the device by which the reply comes; empty: the host sends it
	direct bool   // who answers is the next hop
	src    int32  // of sources: what the source of the packet was translated to
	port   bool   // its source port may be another one
	moved  moved
	ctmark uint32
}

// answeredKey is a function of replies from one source, with the fate of what is answered.
type answeredKey struct {
	from diagram.ID
	fate diagram.Atom
}

// replier puts replies behind the packets that they answer.
type replier struct {
	of        *builder
	by        *builder // of what becomes of replies
	functions map[answering]diagram.ID
	from      map[diagram.ID]map[destination]diagram.ID // functions with the source put in
	swapped   map[diagram.ID]diagram.ID
	answered  map[answeredKey]diagram.ID
}

// withReplies is the fates of packets with those of their replies, from the states in which packets get somewhere.
func (b *builder) withReplies(root diagram.ID, o *Options) diagram.ID {
	by := newBuilder(b.w, b.s, b.t, Replying, o)
	by.ends = asReplies
	by.scan()
	r := replier{of: b, by: by, functions: map[answering]diagram.ID{}, from: map[diagram.ID]map[destination]diagram.ID{},
		swapped: map[diagram.ID]diagram.ID{}, answered: map[answeredKey]diagram.ID{}}
	return b.s.Replace(root, func(a diagram.Atom) diagram.ID {
		_, end := b.stateOf(a)
		return r.reply(&end)
	})
}

// reply is the fate of packets that get somewhere in a state, with what becomes of the replies to those that are answered.
func (r *replier) reply(end *state) diagram.ID {
	b, out := r.of, ""
	if end.out != 0 {
		out = b.w.devices[end.out-1]
	}
	fate := b.fateAt(end, out).without(b.ignore)
	ping := inet.ICMP
	if b.six {
		ping = inet.ICMPv6
	}
	q := b.newCond(end)
	q.protos(false, inet.TCP, inet.UDP, inet.SCTP, ping)
	return b.then(q.id(), r.answer(end, out, fate), b.s.One(b.w.fate(fate)))
}

// answer is the fate of packets that are answered.
func (r *replier) answer(end *state, out string, fate Fate) diagram.ID {
	b := r.of
	if end.rel == untracked {
		fate.Back = Back{Unmodelled: "the reply to a packet that conntrack does not look at"}
		return b.s.One(b.w.fate(fate))
	}
	direct := !b.way(end).NextHop.IsValid()
	key := answering{in: out, direct: direct, src: end.src, port: end.anyPort, moved: end.moved, ctmark: end.ctmark}
	whole, known := r.functions[key]
	if !known {
		whole = r.by.replies(key, b.sources.at(end.src))
		r.functions[key] = whole
	}
	if end.to > 0 {
		whole = r.sentFrom(whole, b.targets.all[end.to])
	}
	plain := answeredKey{whole, b.w.fate(fate)}
	made, known := r.answered[plain]
	if !known {
		made = b.s.Rename(b.s.Swap(whole, inverted, r.swapped), func(a diagram.Atom) diagram.Atom {
			with := fate
			with.Back = backOf(b.w.fateOf(a))
			return b.w.fate(with)
		})
		r.answered[plain] = made
	}
	return made
}

// inverted is the variable of a packet that is one of its reply.
func inverted(v diagram.Var) diagram.Var {
	switch v {
	case vDst:
		return vSrc
	case vSrc:
		return vDst
	case vDstPort:
		return vSrcPort
	case vSrcPort:
		return vDstPort
	}
	return v
}

// sentFrom is a function of replies that come from a target of NAT. Only protocols that have ports ask for a port.
func (r *replier) sentFrom(whole diagram.ID, from destination) diagram.ID {
	if made, known := r.from[whole][from]; known {
		return made
	}
	made := r.of.s.Fix(whole, func(v diagram.Var) (diagram.Value, bool) {
		switch {
		case v == vSrc && from.addr.IsValid():
			return valueOf(from.addr), true
		case v == vSrcPort && from.hasPort:
			return diagram.Number(uint64(from.port)), true
		}
		return diagram.Value{}, false
	})
	if r.from[whole] == nil {
		r.from[whole] = map[destination]diagram.ID{}
	}
	r.from[whole][from] = made
	return made
}

// replies is what becomes of replies, of which src is what the source of their packets was translated to.
func (b *builder) replies(a answering, src netip.Addr) diagram.ID {
	var last []diagram.Value
	var kids []diagram.ID
	known := map[int32]diagram.ID{}
	for i := range b.slices {
		view := b.slices[i].view
		if _, is := known[view]; !is {
			known[view] = b.repliesTo(view, a, src)
		}
		last, kids = append(last, b.slices[i].Last), append(kids, known[view])
	}
	in := diagram.Number(uint64(b.number[a.in])) // 0 for the host itself
	return b.s.Fix(b.s.Node(vDst, last, kids), func(v diagram.Var) (diagram.Value, bool) { return in, v == vIn })
}

// repliesTo is what becomes of the replies to senders of a view.
func (b *builder) repliesTo(view int32, a answering, src netip.Addr) diagram.ID {
	st := state{view: view, port: asIs, moved: a.moved, ctmark: a.ctmark}
	if src.IsValid() || a.port {
		st.back, st.sent = view, mayBeOne
		if a.port {
			st.port = chosen
		}
		if src.IsValid() {
			st.view, st.sent = b.viewOf(src), isMoved
		}
	}
	to := b.views[st.view].addr
	switch {
	case b.views[view].addr.IsMulticast():
		return b.unmodelled(toGroup)
	case a.in == "":
		st.origin, st.hook = fromHost, netfilter.Output
		return b.onward(b.routeOut(st, false))
	case b.device(a.in).Kind == "bridge":
		return b.unmodelled("a reply from behind a bridge")
	case !b.t.Returns(a.in, a.direct, to):
		return b.s.One(b.w.fate(Fate{To: toElsewhere}))
	}
	return b.onward(b.entering(st, a.in))
}

// natBack gives a reply back what NAT has translated of the packet that it answers.
func (b *builder) natBack(st state, side conntrack.Side) diagram.ID {
	if st.rel != established {
		return b.next(st)
	}
	if side == conntrack.Source {
		st.home = st.home || st.moved != unmoved
		return b.next(st)
	}
	if st.back == 0 {
		return b.next(st)
	}
	st.view, st.back, st.port = st.back, 0, asIs
	if st.hook == netfilter.Output && st.sent == isMoved {
		st.at, st.sub = st.at+1, 0
		return b.onward(b.routeOut(st, true))
	}
	return b.next(st)
}

// ofHome is what is asked of a reply that NAT has given its source back.
const ofHome = "the source of a reply behind NAT"

// entryChanges says whether a translation of the connection that a reply is of made a side another one.
func (b *builder) entryChanges(st *state, side conntrack.Side) diagram.ID {
	is := st.moved
	if side == conntrack.Source {
		is = st.sent
	}
	switch is {
	case isMoved:
		return b.s.One(yes)
	case mayBeOne:
		return b.unmodelled("whether the connection is translated")
	}
	return b.s.One(no)
}

// knowsEntry says whether it is known what the entry of a packet's connection has.
func (b *builder) knowsEntry(st *state) bool {
	return st.rel == fresh || b.ends == asReplies && st.rel == established
}

// pong is the ICMP type of the answer to an echo request.
func (p *places) pong() uint8 {
	if p.six {
		return inet.ICMPv6EchoReply
	}
	return inet.ICMPEchoReply
}
