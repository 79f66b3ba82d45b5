package forall

import (
	"encoding/binary"
	"net/netip"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The families of packets (NFPROTO_*), and their protocols of Ethernet.
const (
	nfproto4 = 2
	nfproto6 = 10
)

// put is the run behind an expression that loads a value.
func (x *nftRun) put(to expr.Register, l *load, i int) diagram.ID {
	x = x.fork()
	x.regs.put(to, l)
	return x.from(i + 1)
}

// opaque is a value that only conditions with names can be about.
func opaque(e expr.Expr, size int) *load {
	return &load{kind: loadOpaque, size: size, name: expr.Text(e)}
}

// addrSize is the length of an address.
func (b *builder) addrSize() int {
	if b.six {
		return 16
	}
	return 4
}

// source is the source as it is now.
func (x *nftRun) source() *load {
	if x.st.home {
		return &load{kind: loadOpaque, size: x.b.addrSize(), name: ofHome}
	}
	if x.st.src != 0 {
		return constant(x.b.sources.at(x.st.src).AsSlice())
	}
	return x.b.loads.field(vSrc, x.b.addrSize())
}

// loads are values that are loaded again and again.
type loads struct {
	fields [vNames]*load
	dst    *load
}

// field is a variable.
func (l *loads) field(v diagram.Var, size int) *load {
	if l.fields[v] == nil {
		l.fields[v] = &load{kind: loadField, v: v, size: size}
	}
	return l.fields[v]
}

// destination is the destination of a view.
func (x *nftRun) destination(view int32) *load {
	l := &x.b.loads
	if l.dst == nil || l.dst.view != view {
		l.dst = &load{kind: loadDst, v: vDst, size: x.b.addrSize(), view: view}
	}
	return l.dst
}

func (x *nftRun) dstPort() *load {
	if x.st.port == chosen {
		return &load{kind: loadOpaque, size: 2, name: "the destination port that the kernel chose"}
	}
	if x.st.port != asIs {
		return constant(binary.BigEndian.AppendUint16(nil, uint16(x.st.port)))
	}
	return x.b.loads.field(vDstPort, 2)
}

func (x *nftRun) srcPort() *load {
	if x.st.anyPort {
		return &load{kind: loadOpaque, size: 2, name: "the source port that the kernel chose"}
	}
	if x.st.home {
		return &load{kind: loadOpaque, size: 2, name: ofHome}
	}
	return x.b.loads.field(vSrcPort, 2)
}

// unknown is bytes that first packets do not say.
var unknown = &load{kind: loadUnknown, size: 64}

var protocol = &load{kind: loadField, v: vProto, size: 1}

// field is a value and where it is in a header.
type field struct {
	at int
	*load
}

// payload loads bytes of a header.
func (x *nftRun) payload(e *expr.Payload, i int) diagram.ID {
	switch {
	case e.Base == expr.TransportHeader:
		return x.transport(e, i)
	case e.Base != expr.NetworkHeader:
		return x.put(e.Dreg, opaque(e, int(e.Len)), i)
	case x.b.six:
		return x.taken(e, i, field{6, protocol}, field{8, x.source()}, field{24, x.destination(x.st.view)})
	}
	return x.taken(e, i, field{9, protocol}, field{12, x.source()}, field{16, x.destination(x.st.view)})
}

// taken loads bytes of a header that has these fields, and others that no variable is about.
func (x *nftRun) taken(e *expr.Payload, i int, fields ...field) diagram.ID {
	return x.takenOf(nil, e, i, fields...)
}

// takenOf is taken with what the other bytes are; nil: they are opaque.
func (x *nftRun) takenOf(other *load, e *expr.Payload, i int, fields ...field) diagram.ID {
	x = x.fork()
	at := e.Dreg.Offset()
	for k := range int(e.Len) {
		x.regs[at+k] = byteOf{}
		for _, f := range fields {
			if off := int(e.Offset) + k - f.at; off >= 0 && off < f.size {
				x.regs[at+k] = byteOf{f.load, uint8(off)}
			}
		}
		if x.regs[at+k].of != nil {
			continue
		}
		if other == nil {
			other = opaque(e, int(e.Len))
		}
		x.regs[at+k] = byteOf{other, uint8(k)}
	}
	for k := int(e.Len); k%4 != 0; k++ {
		x.regs[at+k] = byteOf{zero, 0}
	}
	return x.from(i + 1)
}

// transport loads bytes of the header behind IP, which differs by protocols.
func (x *nftRun) transport(e *expr.Payload, i int) diagram.ID {
	const withPorts, tcp, pings, others = 0, 1, 2, 3
	s := x.b.s
	ping, echo := inet.ICMP, byte(inet.ICMPEcho)
	if x.b.six {
		ping, echo = inet.ICMPv6, inet.ICMPv6Echo
	}
	const ports, code = 4, 2 // the first bytes, which all that have ports have alike, and of ICMP those that are known
	kinds := s.One(others)
	if e.Offset < code {
		kinds = s.Choose(vProto, protoSet(ping), s.One(pings), kinds)
	}
	for _, of := range []struct {
		kind   diagram.Atom
		protos diagram.Set
	}{{withPorts, portedProtos}, {tcp, protoSet(inet.TCP)}} {
		if of.kind == withPorts || e.Offset+e.Len > ports {
			kinds = x.b.then(s.Choose(vProto, of.protos, s.One(yes), s.One(no)), s.One(of.kind), kinds)
		}
	}
	return s.Replace(kinds, func(a diagram.Atom) diagram.ID {
		switch a {
		case withPorts:
			return x.taken(e, i, field{0, x.srcPort()}, field{2, x.dstPort()})
		case tcp:
			fields := []field{{0, x.srcPort()}, {2, x.dstPort()}}
			if flags, known := x.b.flags(); known {
				fields = append(fields, field{13, constant([]byte{flags})})
			}
			return x.taken(e, i, fields...)
		case pings:
			if x.b.ends == asReplies {
				return x.takenOf(unknown, e, i, field{0, constant([]byte{x.b.pong(), 0})})
			}
			if x.b.class == New || x.b.class == Established {
				return x.takenOf(unknown, e, i, field{0, constant([]byte{echo, 0})})
			}
		}
		return x.takenOf(unknown, e, i)
	})
}

// meta loads what the kernel knows beside the packet's bytes.
func (x *nftRun) meta(e *expr.Meta, i int) diagram.ID {
	b := x.b
	switch e.Key {
	case expr.MetaProtocol:
		if b.six {
			return x.put(e.Dreg, constant([]byte{0x86, 0xdd}), i)
		}
		return x.put(e.Dreg, constant([]byte{0x08, 0x00}), i)
	case expr.MetaNfproto:
		if b.six {
			return x.put(e.Dreg, constant([]byte{nfproto6}), i)
		}
		return x.put(e.Dreg, constant([]byte{nfproto4}), i)
	case expr.MetaL4proto:
		if !b.six {
			return x.put(e.Dreg, protocol, i)
		}
		q := b.newCond(&x.st) // headers of IPv6 behind which another one comes
		q.protos(false, extensionHeaders...)
		return b.then(q.id(), b.unmodelled(extended), x.put(e.Dreg, protocol, i))
	case expr.MetaMark:
		return x.put(e.Dreg, constant(binary.LittleEndian.AppendUint32(nil, x.st.mark)), i)
	case expr.MetaIif, expr.MetaIiftype, expr.MetaIifgroup, expr.MetaOif, expr.MetaOiftype, expr.MetaOifgroup:
		return x.device(e, 4, i)
	case expr.MetaIifname, expr.MetaOifname, expr.MetaIifkind, expr.MetaOifkind:
		return x.device(e, 16, i)
	case expr.MetaSkuid, expr.MetaSkgid:
		if x.st.origin == fromWire {
			return x.breaks()
		}
	case expr.MetaSecpath, expr.MetaSdif:
		return x.put(e.Dreg, constant(make([]byte, 4)), i)
	case expr.MetaPRandom:
		return b.unmodelled("meta random")
	case expr.MetaTimeNS:
		return x.put(e.Dreg, opaque(e, 8), i)
	}
	return x.put(e.Dreg, opaque(e, 4), i)
}

// given loads a function whose atoms are values; where it breaks the rule, its atom is no.
func (x *nftRun) given(f diagram.ID, to expr.Register, size, i int) diagram.ID {
	broken := false
	for _, a := range x.b.s.Open(f) {
		broken = broken || a == no
	}
	if !broken {
		return x.put(to, &load{kind: loadGiven, f: f, size: size}, i)
	}
	s := x.b.s
	holds := s.Replace(f, func(a diagram.Atom) diagram.ID {
		if a == no {
			return s.One(no)
		}
		return s.One(yes)
	})
	some := x.b.valueAtom(make([]byte, size)) // never met: those that break are gone
	whole := s.Replace(f, func(a diagram.Atom) diagram.ID {
		if a == no {
			a = some
		}
		return s.One(a)
	})
	return x.b.then(holds, x.put(to, &load{kind: loadGiven, f: whole, size: size}, i), x.breaks())
}

// asked is what a walk loads, as a leaf.
func (x *nftRun) asked(e expr.Expr, to expr.Register, size int, p *packetsim.Place) diagram.ID {
	switch data, ok, err := x.b.t.Load(e, to, size, p); {
	case err != nil:
		return x.b.unmodelled(err.Error())
	case !ok:
		return x.b.s.One(no)
	default:
		return x.b.s.One(x.b.valueAtom(data))
	}
}

// device loads something of a device.
func (x *nftRun) device(e *expr.Meta, size, i int) diagram.ID {
	f := x.b.eachIn(&x.st, func(in *packetsim.Device) diagram.ID { return x.asked(e, e.Dreg, size, x.b.placeOf(&x.st, in)) })
	return x.given(f, e.Dreg, size, i)
}

// fibKey is what a look-up of the routing tables depends on, beside the source and the device by which the packet came.
type fibKey struct {
	e    expr.Fib // without its register
	st   state
	part int32
}

// fib loads what the routing tables say of an address.
func (x *nftRun) fib(e *expr.Fib, i int) diagram.ID {
	b, st := x.b, x.st
	if st.home {
		return b.unmodelled(ofHome)
	}
	size := 4
	if e.Result == expr.FibOifname && e.Flags&expr.FibPresent == 0 {
		size = 16
	}
	view := &b.views[st.view]
	key := fibKey{*e, state{hook: st.hook, origin: st.origin, out: st.out, src: st.src}, view.place}
	if key.e.Dreg = 0; e.Flags&expr.FibMark != 0 {
		key.st.mark = st.mark
	}
	f, known := b.looked.get(key)
	if !known {
		f = x.routed(e, size, inet.TCP)
		if b.six && e.Result != expr.FibType { // the kernel takes some ICMPv6 from no address for that of neighbours
			f = b.s.Choose(vProto, protoSet(inet.ICMPv6), x.routed(e, size, inet.ICMPv6), f)
		}
		b.looked.put(key, f)
	}
	return x.given(f, e.Dreg, size, i)
}

// routed is what fib says of packets of a protocol.
func (x *nftRun) routed(e *expr.Fib, size int, proto inet.Proto) diagram.ID {
	b, st := x.b, x.st
	of := func(src netip.Addr) diagram.ID {
		ask := func(in *packetsim.Device) diagram.ID {
			p := b.placeOf(&st, in)
			p.Packet.Src, p.Packet.Proto = src, proto
			return x.asked(e, e.Dreg, size, p)
		}
		if e.Result == expr.FibType && e.Flags&expr.FibIif == 0 && !b.six {
			return ask(nil)
		}
		return b.eachIn(&st, ask)
	}
	if st.src != 0 {
		return of(b.sources.at(st.src))
	}
	return b.bySource(of)
}

// mostDrawn is up to how many numbers a drawn one may be of.
const mostDrawn = 1 << 12

// numgen loads a number that is drawn.
func (x *nftRun) numgen(e *expr.Numgen, i int) diagram.ID {
	if !e.Random || e.Modulus > mostDrawn || e.Modulus == 0 {
		return x.b.unmodelled(expr.Text(e))
	}
	shares := make([]diagram.Share, e.Modulus)
	for n := range shares {
		value := binary.LittleEndian.AppendUint32(nil, uint32(n)+e.Offset)
		shares[n] = diagram.Share{Atom: x.b.valueAtom(value), Weight: diagram.Fraction(1, uint64(e.Modulus))}
	}
	// One draw may be asked for several times: all that comes behind it is for one number at a time.
	return x.b.s.Replace(x.b.s.Leaf(shares), func(a diagram.Atom) diagram.ID { return x.put(e.Dreg, constant(x.b.valueBytes(a)), i) })
}

// known is a register's value, if it is one that is the same for all packets.
func (x *nftRun) known(from expr.Register, size int) ([]byte, bool) {
	runs := x.runs(from.Offset(), size)
	if len(runs) != 1 || runs[0].of.kind != loadConst {
		return nil, false
	}
	return runs[0].constant, true
}

// valued calls of with each value that a register may have, where these are few.
func (x *nftRun) valued(from expr.Register, size int, of func(x *nftRun, value []byte) diagram.ID) diagram.ID {
	if value, is := x.known(from, size); is {
		return of(x, value)
	}
	runs := x.runs(from.Offset(), size)
	for k := range runs {
		r := &runs[k]
		if r.of.kind != loadGiven {
			continue
		}
		return x.b.s.Replace(r.of.f, func(a diagram.Atom) diagram.ID {
			other := x.fork()
			other.regs.fix(r.of, constant(x.b.valueBytes(a)))
			return other.valued(from, size, of)
		})
	}
	return x.b.unmodelled("a value that is taken from an address or a port")
}

// fix puts a value in the place of another one.
func (r *registers) fix(was, is *load) {
	for i := range r {
		if r[i].of == was {
			r[i].of = is
		}
	}
}

// setMeta writes what the kernel keeps beside the packet.
func (x *nftRun) setMeta(e *expr.Meta, i int) diagram.ID {
	switch e.Key {
	case expr.MetaMark:
		return x.valued(e.Sreg, 4, func(x *nftRun, value []byte) diagram.ID {
			x = x.fork()
			x.st.mark = binary.LittleEndian.Uint32(value)
			return x.from(i + 1)
		})
	case expr.MetaPriority, expr.MetaNftrace, expr.MetaSecmark:
		return x.from(i + 1)
	}
	return x.b.unmodelled(expr.Text(e))
}

// setCT writes something of the connection.
func (x *nftRun) setCT(e *expr.CT, i int) diagram.ID {
	switch e.Key {
	case expr.CTMark:
		if !x.st.rel.tracked() { // a template keeps its own
			return x.from(i + 1)
		}
		return x.valued(e.Sreg, 4, func(x *nftRun, value []byte) diagram.ID {
			x = x.fork()
			x.st.ctmark = binary.LittleEndian.Uint32(value)
			return x.from(i + 1)
		})
	case expr.CTEventmask, expr.CTLabels:
		return x.from(i + 1)
	}
	return x.b.unmodelled(expr.Text(e))
}

// writes changes bytes of the packet.
func (x *nftRun) writes(e *expr.Payload, i int) diagram.ID {
	addresses, proto := uint32(12), uint32(9)
	if x.b.six {
		addresses, proto = 8, 6
	}
	hitsProto := e.Offset <= proto && proto < e.Offset+e.Len
	if e.Base == expr.NetworkHeader && e.Offset+e.Len <= addresses && !hitsProto {
		x = x.fork()
		x.st.altered = true
		return x.from(i + 1)
	}
	return x.b.unmodelled("a write of addresses or ports")
}
