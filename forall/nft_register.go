package forall

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// loadKind is what is known of a value in a register.
type loadKind uint8

const (
	loadConst   loadKind = iota
	loadField            // a variable, as bytes in the network's order
	loadDst              // the destination, which is one of a view's
	loadGiven            // a function whose atoms are values
	loadOpaque           // a value that only conditions with names can be about
	loadUnknown          // bytes that first packets do not say
)

// load is a value that registers have bytes of.
type load struct {
	kind  loadKind
	v     diagram.Var
	bytes []byte     // loadConst
	f     diagram.ID // loadGiven
	size  int
	view  int32 // loadDst
	// mask is what Bitwise has left of a field or of the destination: (value & mask) ^ xor; nil: all of it.
	mask, xor []byte
	name      string // loadOpaque
}

func constant(b []byte) *load { return &load{kind: loadConst, bytes: b, size: len(b)} }

// byteOf is a byte of a value.
type byteOf struct {
	of *load // nil: nothing was loaded
	at uint8
}

// registers are the registers but for the verdict, byte by byte.
type registers [expr.RegisterBytes]byteOf

// put fills registers with a value, and what is left of the last one with zeros.
func (r *registers) put(to expr.Register, l *load) { r.putAt(to.Offset(), l) }

func (r *registers) putAt(at int, l *load) {
	for i := range (l.size + 3) &^ 3 {
		switch {
		case at+i < 0 || at+i >= len(r): // the value may be shorter than it is taken for
		case i < l.size:
			r[at+i] = byteOf{l, uint8(i)}
		default:
			r[at+i] = byteOf{zero, 0}
		}
	}
}

var zero = constant([]byte{0})

// run is bytes of a register that are of one value and lie together there.
type run struct {
	of       *load
	from, n  int // bytes of the value
	at       int // where they are in what was asked for
	constant []byte
}

// runs are so many bytes from a register on. They are not to be used once the rule is done.
func (x *nftRun) runs(at, n int) []run {
	room := &x.b.runs.runs
	first := len(*room)
	*room = x.regs.addRuns(*room, at, n)
	return (*room)[first:len(*room):len(*room)]
}

func (r *registers) runs(at, n int) []run { return r.addRuns(nil, at, n) }

// addRuns adds the runs of so many bytes from a register on.
func (r *registers) addRuns(out []run, at, n int) []run {
	first := len(out)
	for i := range n {
		b := r[at+i]
		if b.of == nil {
			b.of = zero
		}
		last := len(out) - 1
		switch {
		case last < first:
			out = append(out, b.run(i))
		case b.of.kind == loadConst && out[last].of == b.of && r[at+i-1].at+1 == b.at:
			out[last].n++
			out[last].constant = b.of.bytes[int(b.at)+1-out[last].n : b.at+1 : b.at+1]
		case b.of.kind == loadConst && out[last].of.kind == loadConst:
			out[last].of = zero // bytes of several
			out[last].constant = append(out[last].constant, b.of.bytes[b.at])
			out[last].n++
		case b.of.kind != loadConst && out[last].of == b.of && out[last].from+out[last].n == int(b.at):
			out[last].n++
		default:
			out = append(out, b.run(i))
		}
	}
	return out
}

// run is a byte of a value that is at a place.
func (b byteOf) run(at int) run {
	if b.of.kind == loadConst {
		return run{of: b.of, n: 1, at: at, constant: b.of.bytes[b.at : b.at+1 : b.at+1]}
	}
	return run{of: b.of, from: int(b.at), n: 1, at: at}
}

// numberOf is bytes in the network's order as a value of a variable.
func numberOf(b []byte) diagram.Value {
	var raw [16]byte
	copy(raw[16-len(b):], b)
	return diagram.Value{High: binary.BigEndian.Uint64(raw[:8]), Low: binary.BigEndian.Uint64(raw[8:])}
}

// bytesOf is a value of so many bytes.
func bytesOf(v diagram.Value, size int) []byte {
	raw := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, v.High), v.Low)
	return raw[16-size:]
}

// spread is the values whose first bytes are between two.
func spread(first, last []byte, size int) diagram.Interval {
	low, high := make([]byte, size), bytes.Repeat([]byte{0xff}, size)
	copy(low, first)
	copy(high, last)
	return diagram.Interval{First: numberOf(low), Last: numberOf(high)}
}

// values are those of a run whose bytes compare so with data. It is false where they are no intervals.
func (r *run) values(op expr.CmpOp, data []byte) (diagram.Set, bool) {
	size := r.of.size
	limit := spread(nil, nil, size).Last
	if r.of.mask != nil {
		return r.masked(op, data)
	}
	if r.from != 0 {
		return nil, false
	}
	same := spread(data, data, size)
	below, above := diagram.Set{}, diagram.Set{}
	if same.First != (diagram.Value{}) {
		below = diagram.Set{{Last: same.First.Prev()}}
	}
	if same.Last != limit {
		above = diagram.Set{{First: same.Last.Next(), Last: limit}}
	}
	switch op {
	case expr.Eq:
		return diagram.Set{same}, true
	case expr.Neq:
		return diagram.Set{same}.Not(limit), true
	case expr.Lt:
		return below, true
	case expr.Lte:
		return above.Not(limit), true
	case expr.Gt:
		return above, true
	}
	return below.Not(limit), true
}

// masked is values of a run of which a mask leaves the first bits.
func (r *run) masked(op expr.CmpOp, data []byte) (diagram.Set, bool) {
	isPrefix := isPrefixMask(r.of.mask)
	if r.from != 0 || r.n != r.of.size || !isPrefix || op > expr.Neq || len(data) != r.of.size {
		return nil, false
	}
	limit := spread(nil, nil, r.of.size).Last
	low, high := make([]byte, r.of.size), make([]byte, r.of.size)
	fits := true
	for i := range low {
		low[i] = data[i] ^ r.of.xor[i]
		fits = fits && low[i]&^r.of.mask[i] == 0
		high[i] = low[i] | ^r.of.mask[i]
	}
	set := diagram.Set{}
	if fits {
		set = diagram.Set{{First: numberOf(low), Last: numberOf(high)}}
	}
	if op == expr.Neq {
		set = set.Not(limit)
	}
	return set, true
}

// isPrefixMask says whether the bits that a mask leaves are the first.
func isPrefixMask(mask []byte) bool {
	addr, ok := netip.AddrFromSlice(append(bytes.Clone(mask), make([]byte, max(0, 4-len(mask)))...))
	if !ok {
		return false
	}
	_, is := prefixBits(addr)
	return is
}

// compares says whether bytes compare so with data.
func compares(have []byte, op expr.CmpOp, data []byte) bool {
	switch order := bytes.Compare(have, data); op {
	case expr.Eq:
		return order == 0
	case expr.Neq:
		return order != 0
	case expr.Lt:
		return order < 0
	case expr.Lte:
		return order <= 0
	case expr.Gt:
		return order > 0
	default:
		return order >= 0
	}
}

// saysPorted says whether what a comparison holds of is of a protocol that has ports.
func (x *nftRun) saysPorted(e *expr.Cmp) bool {
	runs := x.runs(e.Sreg.Offset(), len(e.Data))
	return e.Op == expr.Eq && len(runs) == 1 && runs[0].of == protocol && portedProtos.Has(diagram.Number(uint64(e.Data[0])))
}

// compare is the condition of a comparison. Of several values in a row only whether they are equal is asked.
func (x *nftRun) compare(e *expr.Cmp) diagram.ID {
	runs := x.runs(e.Sreg.Offset(), len(e.Data))
	if len(runs) == 1 {
		if runs[0].of.kind == loadOpaque {
			return x.opaqueIs(&runs[0], e)
		}
		return x.compareRun(&runs[0], e.Op, e.Data)
	}
	if e.Op > expr.Neq {
		return x.b.unmodelled("a comparison of several values in a row")
	}
	all := x.b.s.One(yes)
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		all = x.b.then(x.compareRun(r, expr.Eq, e.Data[r.at:r.at+r.n]), all, x.b.s.One(no))
	}
	if e.Op == expr.Neq {
		all = x.b.then(all, x.b.s.One(no), x.b.s.One(yes))
	}
	return all
}

func (x *nftRun) answer(holds bool) diagram.ID {
	if holds {
		return x.b.s.One(yes)
	}
	return x.b.s.One(no)
}

func (x *nftRun) compareRun(r *run, op expr.CmpOp, data []byte) diagram.ID {
	s := x.b.s
	switch r.of.kind {
	case loadConst:
		return x.answer(compares(r.constant, op, data))
	case loadGiven:
		return s.Replace(r.of.f, func(a diagram.Atom) diagram.ID {
			return x.answer(compares(x.b.valueBytes(a)[r.from:r.from+r.n], op, data))
		})
	case loadOpaque:
		return x.named(r.of.name+" "+expr.Text(&expr.Cmp{Op: op, Data: data}), nil)
	case loadUnknown:
		return x.b.unmodelled(behindIP)
	}
	set, known := r.values(op, data)
	if !known {
		return x.b.unmodelled("a comparison of some bits of an address or a port")
	}
	return x.within(r, set)
}

// within is the condition that a field, or the destination, is in a set.
func (x *nftRun) within(r *run, set diagram.Set) diagram.ID {
	if r.of.kind == loadDst {
		return x.answer(set.Has(x.b.views[r.of.view].value))
	}
	return x.b.s.Choose(r.of.v, set, x.b.s.One(yes), x.b.s.One(no))
}

// inRange is the condition of a range.
func (x *nftRun) inRange(e *expr.Range) diagram.ID {
	if runs := x.runs(e.Sreg.Offset(), len(e.From)); len(runs) == 1 && runs[0].of.kind == loadOpaque {
		return x.opaqueIn(&runs[0], e)
	}
	low := x.compare(&expr.Cmp{Sreg: e.Sreg, Op: expr.Gte, Data: e.From})
	high := x.compare(&expr.Cmp{Sreg: e.Sreg, Op: expr.Lte, Data: e.To})
	in := x.b.then(low, high, x.b.s.One(no))
	if e.Op == expr.Neq {
		in = x.b.then(in, x.b.s.One(no), x.b.s.One(yes))
	}
	return in
}

// valueAtom is the atom of a value.
func (b *builder) valueAtom(value []byte) diagram.Atom {
	return diagram.Atom(b.values.number(string(value)))*kinds + isValue
}

// valueBytes is the value of an atom.
func (b *builder) valueBytes(a diagram.Atom) []byte { return []byte(b.values.all[a/kinds]) }

// bitwise computes of a value what it puts into a register.
func (x *nftRun) bitwise(e *expr.Bitwise, i int) diagram.ID {
	runs := x.runs(e.Sreg.Offset(), e.Len)
	if len(runs) > 1 {
		if joined := x.joined(runs, e.Len); joined != nil {
			runs = []run{*joined}
		}
	}
	if len(runs) != 1 {
		return x.b.unmodelled("a computation with several values in a row")
	}
	r := &runs[0]
	x = x.fork()
	switch {
	case r.of.kind == loadConst:
		x.regs.put(e.Dreg, constant(bitwise(e, r.constant)))
	default:
		made := x.computed(r, e)
		if made == nil {
			return x.b.unmodelled("a computation with an address or a port")
		}
		x.regs.put(e.Dreg, made)
	}
	return x.from(i + 1)
}

// joined is a value with the zeros behind it as one, where a computation is about whole registers.
func (x *nftRun) joined(runs []run, size int) *run {
	if len(runs) != 2 || runs[0].of.kind != loadGiven || runs[1].of.kind != loadConst || runs[0].from != 0 || runs[0].n != runs[0].of.size {
		return nil
	}
	f := x.b.s.Replace(runs[0].of.f, func(a diagram.Atom) diagram.ID {
		return x.b.s.One(x.b.valueAtom(append(x.b.valueBytes(a), runs[1].constant...)))
	})
	return &run{of: &load{kind: loadGiven, f: f, size: size}, n: size}
}

// computed is what Bitwise makes of a value; nil: that is not modelled.
func (x *nftRun) computed(r *run, e *expr.Bitwise) *load {
	if r.from != 0 || r.n != r.of.size {
		return nil
	}
	switch r.of.kind {
	case loadGiven:
		f := x.b.s.Replace(r.of.f, func(a diagram.Atom) diagram.ID { return x.b.s.One(x.b.valueAtom(bitwise(e, x.b.valueBytes(a)))) })
		return &load{kind: loadGiven, f: f, size: e.Len}
	case loadOpaque:
		return &load{kind: loadOpaque, size: e.Len, name: r.of.name + " " + expr.Text(e)}
	}
	if r.of.kind == loadUnknown {
		return r.of
	}
	if e.Op != expr.Bool || r.of.mask != nil {
		return nil
	}
	masked := *r.of
	masked.mask, masked.xor = make([]byte, e.Len), make([]byte, e.Len)
	copy(masked.mask, e.Mask)
	copy(masked.xor, e.Xor)
	return &masked
}

// bitwise is what Bitwise makes of bytes. Shifts are those of words in the host's order, the first of which weighs most.
func bitwise(e *expr.Bitwise, of []byte) []byte {
	out := make([]byte, len(of))
	if e.Op == expr.Bool {
		for i := range of {
			var mask, xor byte
			if i < len(e.Mask) {
				mask = e.Mask[i]
			}
			if i < len(e.Xor) {
				xor = e.Xor[i]
			}
			out[i] = of[i]&mask ^ xor
		}
		return out
	}
	padded := append(bytes.Clone(of), make([]byte, (4-len(of)%4)%4)...)
	made := make([]byte, len(padded))
	carry, words := uint32(0), len(padded)/4
	for i := range words {
		at := i
		if e.Op == expr.LeftShift {
			at = words - 1 - i
		}
		word := binary.LittleEndian.Uint32(padded[4*at:])
		if e.Op == expr.LeftShift {
			binary.LittleEndian.PutUint32(made[4*at:], word<<e.Shift|carry)
			carry = word >> (32 - e.Shift)
		} else {
			binary.LittleEndian.PutUint32(made[4*at:], word>>e.Shift|carry)
			carry = word << (32 - e.Shift)
		}
	}
	return made[:len(of)]
}

// byteorder turns bytes round.
func (x *nftRun) byteorder(e *expr.Byteorder, i int) diagram.ID {
	turn := func(of []byte) []byte {
		out, size := bytes.Clone(of), e.Size
		if size == 0 {
			size = e.Len
		}
		for at := 0; at+size <= len(of); at += size {
			for k := range size {
				out[at+k] = of[at+size-1-k]
			}
		}
		return out
	}
	runs := x.runs(e.Sreg.Offset(), e.Len)
	if len(runs) != 1 || runs[0].from != 0 {
		return x.b.unmodelled("a change of the order of bytes")
	}
	b, r := x.b, &runs[0]
	x = x.fork()
	switch {
	case r.of.kind == loadConst:
		x.regs.put(e.Dreg, constant(turn(r.constant)))
	case r.of.kind == loadGiven && r.n == r.of.size:
		f := b.s.Replace(r.of.f, func(a diagram.Atom) diagram.ID { return b.s.One(b.valueAtom(turn(b.valueBytes(a)))) })
		x.regs.put(e.Dreg, &load{kind: loadGiven, f: f, size: e.Len})
	case r.of.kind == loadOpaque:
		x.regs.put(e.Dreg, &load{kind: loadOpaque, size: e.Len, name: r.of.name + " " + expr.Text(e)})
	case r.of.kind == loadUnknown:
		x.regs.put(e.Dreg, r.of)
	default:
		return b.unmodelled("a change of the order of bytes")
	}
	return x.from(i + 1)
}

// behindIP is what is not known of packets of protocols without ports.
const behindIP = "bytes behind the IP header of a protocol without ports"
