package forall

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// origin is how a packet came to the hook where it is.
type origin uint8

const (
	fromWire origin = iota // by the device of vIn
	fromHost               // the host has made it, and it has not been on a device
	fromLo                 // the host has made it, and it has come in by lo
)

// relation is what a packet is to its connection.
type relation uint16

const (
	unseen relation = iota // by conntrack, which tells nobody from an invalid one
	untracked
	templated // -j CT has said how conntrack is to take it
	fresh
	established
	related
)

// tracked says whether the packet has a connection.
func (r relation) tracked() bool { return r >= fresh }

// state is what a packet's way has made of it, beside what it was when it came: constants of a path through the host. Atoms have them.
// It has no gaps between its fields, so that it is hashed in one piece.
type state struct {
	way    int32 // of ways; 0: none
	mark   uint32
	ctmark uint32
	view   int32 // of views: the destination, as far as rules can tell
	orig   int32 // of views: that when it came, if rules ask for it behind a translation; otherwise 0
	port   int32 // the destination port; asIs: as in the packet
	to     int32 // what the destination is translated to: of targets, or below someTarget of the view's own; 0: nothing
	src    int32 // of sources: what the source is translated to; 0: nothing
	back   int32 // of views, of a reply: the destination that NAT gives it back; 0: it has it

	at, sub int16 // the entry of the hook, and of NAT the chain in it
	out     int16 // the device that the hook sees, from 1 on; 0: none
	rel     relation

	hook    netfilter.Hook
	origin  origin
	moved   moved // whether the translation of the destination makes it another one; of a reply that of the packet that it answers
	sent    moved // of a reply: whether the source of that packet was made another one
	reply   bool  // it is of the direction of answers
	routed  bool
	bound   [2]bool // the sides of its connection that NAT has decided
	altered bool    // something of the header that no variable is about
	wrote   bool    // a rule has put something into a set or list
	anyPort bool    // the source port may be another one now
	home    bool    // of a reply: NAT has given it its source back, which is none that a variable is about
}

// isHere says whether the state is one of the view that is walked.
func (st *state) isHere() bool { return st.view == hereView || st.orig == hereView }

// afterWrite is what conditions are called otherwise that ask for what rules have remembered, since the packet itself may be in it now.
func (st *state) afterWrite() string {
	if st.wrote {
		return " (after a rule has remembered something)"
	}
	return ""
}

// moved says whether a translation makes a destination another one.
type moved uint8

const (
	unmoved  moved = iota
	isMoved        // it does
	mayBeOne       // the destination may be the target itself
)

// What a port is that is no number: the packet's own, or one that the kernel chose.
const (
	asIs   = -1
	chosen = -2
)

// someTarget is a translation whose target is put in later: all that rules can tell of it is known. The numbers below are those of a view's
// own targets.
const someTarget = -1

// anyView is the view in states from which the destination was taken out, since nothing asks for it.
const anyView = -1

// kind is what an atom says of the way to its state.
type kind uint8

const (
	fell     kind = iota // behind the last rule
	returned             // RETURN
	accepted             // ACCEPT, of the whole base chain
	kinds    = 4
)

// The atoms of conditions.
const (
	yes diagram.Atom = 0
	no  diagram.Atom = 1
)

// isValue is what atoms that are values in registers have in the place of a kind.
const isValue = 3

// destination is what a destination is translated to.
type destination struct {
	addr    netip.Addr // invalid: as in the packet
	port    uint16
	hasPort bool
}

// numbered gives values numbers, from 1 on.
type numbered[T comparable] struct {
	all   []T
	known map[T]int32
	last  int32 // the number that was asked for last, which often is asked for again
}

func (n *numbered[T]) number(value T) int32 {
	if n.last != 0 && n.all[n.last] == value {
		return n.last
	}
	id, is := n.known[value]
	if !is {
		if n.known == nil {
			n.known = map[T]int32{}
			n.all = make([]T, 1)
		}
		id = int32(len(n.all))
		n.all = append(n.all, value)
		n.known[value] = id
	}
	n.last = id
	return id
}

// outcomes are the states and fates that packets come to, and the leaves that they are.
type outcomes struct {
	w       *world
	s       *diagram.Store
	ignore  Part
	ends    ends
	states  numbered[state]
	targets numbered[destination]
	names   names
	sources numbered[netip.Addr]
}

// ends says what leaves are of the packets that get somewhere.
type ends uint8

const (
	asFates   ends = iota // what becomes of them
	asStates              // open atoms of states, for what comes behind
	asReplies             // what becomes of replies
)

// atom is the atom of a state.
func (o *outcomes) atom(k kind, st state) diagram.Atom {
	return diagram.Atom(o.states.number(st))*kinds + diagram.Atom(k)
}

// is is the leaf of a state.
func (o *outcomes) is(k kind, st state) diagram.ID { return o.s.One(o.atom(k, st)) }

// stateOf is the state of an atom.
func (o *outcomes) stateOf(a diagram.Atom) (kind, state) {
	return kind(a % kinds), o.states.all[a/kinds]
}

// end is the leaf of a fate.
func (o *outcomes) end(f Fate) diagram.ID { return o.s.One(o.w.fate(f.without(o.ignore))) }

// unmodelled is the leaf of a fate that is not known.
func (o *outcomes) unmodelled(why string) diagram.ID { return o.end(Fate{Unmodelled: why}) }

// dropped is the leaf of the packets that are dropped.
func (o *outcomes) dropped() diagram.ID {
	return o.end(droppedFate)
}

var droppedFate = Fate{Verdict: packetsim.Drop, To: packetsim.ToNone}

func (o *outcomes) rejected(with string) diagram.ID {
	return o.end(Fate{Verdict: packetsim.Reject, To: packetsim.ToNone, RejectWith: with})
}

// arrived is the leaf of the packets that get somewhere: out of a device, or with none to the host.
func (o *outcomes) arrived(st *state, out string) diagram.ID {
	switch o.ends {
	case asStates:
		return o.is(fell, endOf(st, out))
	case asReplies:
		return o.s.One(o.w.fate(replyFate(st, out)))
	}
	return o.end(o.fateAt(st, out))
}

// fateAt is the fate of a packet that gets somewhere.
func (o *outcomes) fateAt(st *state, out string) Fate {
	f := Fate{Verdict: packetsim.Accept, To: packetsim.ToForward, Out: out, Mark: st.mark, Src: o.sources.at(st.src)}
	if out == "" {
		f.To = packetsim.ToLocal
	}
	switch {
	case st.to == someTarget:
		f.Dst = someAddr
	case st.to > 0:
		to := o.targets.all[st.to]
		f.Dst, f.DstPort = to.addr, to.port
	}
	return f
}

// someAddr stands in fates for the target of someTarget, and of a view's own.
var someAddr = netip.AddrFrom16([16]byte{0: 1, 15: 1}).WithZone("some")

// at is the value of a number; of 0 the zero value.
func (n *numbered[T]) at(id int32) T {
	if id == 0 {
		var zero T
		return zero
	}
	return n.all[id]
}
