package certificate

import (
	"bytes"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// native reads a rule of nf_tables, which the packet that was walked met or missed.
func (r *reader) native(family, table, chain string, handle uint64, met bool) error {
	rule, t, err := r.host.nftRule(family, table, chain, handle)
	if err != nil {
		return err
	}
	q := nftReading{reader: r, table: t}
	for _, e := range rule.Exprs {
		if q.failed || q.unread != "" {
			break
		}
		if q.unsaid != "" && hasEffect(e) {
			q.cannot(q.unsaid)
			break
		}
		q.expr(e)
	}
	return r.judge(q.failed, q.unread, met)
}

// octet is what is known of a byte of a register: that it is a byte of a field, or which it is. Otherwise it is the same for all packets.
type octet struct {
	kind  octetKind
	value byte
	field field
	at    uint8 // of the field's bytes
	mask  byte  // what is left of it
	came  bool  // of the packet as it came
}

type octetKind uint8

const (
	same octetKind = iota
	known
	ofField
	ofRoute // it may differ by routes, and nothing that depends on it can be checked
)

// nftReading is what was read of a rule.
type nftReading struct {
	*reader
	table  *nftables.Table
	regs   [expr.RegisterBytes]octet
	failed bool
	unread string
	unsaid string // what the class does not say; a rule without an effect may ask for it
}

// hasEffect says whether an expression makes a difference to a packet's fate, beside whether the rule goes on.
func hasEffect(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Immediate:
		return e.Data.Verdict != nil
	case *expr.Payload:
		return e.Writes
	case *expr.Meta:
		return e.Writes
	case *expr.CT:
		return e.Writes
	case *expr.Cmp, *expr.Range, *expr.Bitwise, *expr.Byteorder, *expr.Lookup, *expr.Fib, *expr.Counter, *expr.Log, *expr.Last, *expr.Limit:
		return false
	}
	return true
}

// says notes that the class does not say something.
func (q *nftReading) says(nothingOf string) {
	if q.unsaid == "" {
		q.unsaid = q.class.unsaid(nothingOf)
	}
}

func (q *nftReading) take(a answer) { q.failed = q.failed || a == fails }

func (q *nftReading) cannot(what string) {
	if q.unread == "" {
		q.unread = what
	}
}

// expr reads an expression. Those of which nothing is said are the same for all packets of a class.
func (q *nftReading) expr(e expr.Expr) {
	switch e := e.(type) {
	case *expr.Immediate:
		if e.Data.Verdict == nil {
			q.put(e.Dreg, len(e.Data.Bytes), func(i int) octet { return octet{kind: known, value: e.Data.Bytes[i]} })
		}
	case *expr.Payload:
		if e.Writes {
			q.takes(e.Sreg)
			q.writes(e)
		} else {
			q.payload(e)
		}
	case *expr.Meta:
		if e.Writes {
			q.takes(e.Sreg)
		} else {
			q.meta(e)
		}
	case *expr.CT:
		if e.Writes {
			q.takes(e.Sreg)
		} else {
			q.ct(e)
		}
	case *expr.Cmp:
		q.cmp(e)
	case *expr.Range:
		in := q.runs(e.Sreg.Offset(), len(e.From))
		q.compare(in, span{valueOfBytes(e.From), valueOfBytes(e.To)}, len(e.From), e.Op == expr.Neq)
	case *expr.Bitwise:
		q.bitwise(e)
	case *expr.Byteorder:
		q.turn(e)
	case *expr.Lookup:
		if q.lookup(e); q.unsaid != "" && e.Dreg == expr.RegVerdict && e.Map {
			q.cannot(q.unsaid)
		}
	default:
		q.exprMore(e)
	}
}

func (q *nftReading) exprMore(e expr.Expr) {
	switch e := e.(type) {
	case *expr.Fib:
		q.fib(e)
	case *expr.Numgen:
		q.put(e.Dreg, 4, func(int) octet { return octet{} })
	case *expr.Reject:
		if e.Kind == expr.RejectTCPReset {
			_ = q.oneProto()
		}
	case *expr.NAT:
		q.nat(e.AddrMin, e.AddrMax, e.ProtoMin, e.ProtoMax)
		if e.Flags&(expr.NATProtoOffset|expr.NATNetmap) != 0 || e.AddrMax != 0 && e.AddrMax != e.AddrMin {
			q.cannot("it chooses from a range")
		}
	case *expr.Masq:
		q.nat(e.ProtoMin, e.ProtoMax)
		q.masquerade()
	case *expr.Redir:
		q.nat(e.ProtoMin, e.ProtoMax)
		_ = q.oneDevice()
	case *expr.Objref:
		if e.Set != "" {
			q.cannot("a map of objects says")
		}
	case *expr.Notrack:
		q.state = "" // it may be another one now
	case *expr.RT:
		q.route(e)
	case *expr.Exthdr:
		q.exthdr(e)
	case *expr.Counter, *expr.Log, *expr.Last, *expr.Limit, *expr.Quota, *expr.Dynset:
	case *expr.Connlimit:
		if q.mayHaveConn() {
			q.says(expr.Text(e) + " says")
		}
	default:
		q.cannot("the expression " + expr.Text(e) + " says")
	}
}

// nat asks what NAT asks.
func (q *nftReading) nat(from ...expr.Register) {
	for _, reg := range from {
		q.takes(reg)
		if reg != 0 && q.regs[reg.Offset()].kind == ofField {
			q.cannot("it takes from an address or a port")
		}
	}
	_ = q.oneProto()
}

// put fills registers, and what is left of the last one with zeros.
func (q *nftReading) put(to expr.Register, n int, of func(i int) octet) {
	if to == expr.RegVerdict {
		return
	}
	at := to.Offset()
	for i := 0; i < (n+3)&^3 && at+i < len(q.regs); i++ {
		q.regs[at+i] = octet{kind: known}
		if i < n {
			q.regs[at+i] = of(i)
		}
	}
}

// run is bytes of registers that belong together.
type run struct {
	octet      // the first
	at, n  int // where they are in what was asked for
	values []byte
	masks  []byte
}

// runs are so many bytes of registers.
func (q *nftReading) runs(at, n int) []run {
	var out []run
	for i := range n {
		o := q.regs[at+i]
		if o.kind == ofRoute {
			q.cannot(segments)
		}
		if last := len(out) - 1; last >= 0 && out[last].kind == o.kind && (o.kind != ofField || out[last].field == o.field &&
			out[last].came == o.came && int(out[last].octet.at)+out[last].n == int(o.at)) {
			out[last].n++
			out[last].values, out[last].masks = append(out[last].values, o.value), append(out[last].masks, o.mask)
			continue
		}
		out = append(out, run{octet: o, at: i, n: 1, values: []byte{o.value}, masks: []byte{o.mask}})
	}
	return out
}

// size is how many bytes the field of a run has.
func (q *nftReading) size(r *run) int {
	switch r.field {
	case dst, src:
		return addrSize(q.six)
	case proto:
		return 1
	}
	return 2
}

// fieldIs says whether the value of a field's run is between two, as bytes of the run. It is false if that cannot be read.
func (q *nftReading) fieldIs(r *run, first, last []byte) (answer, bool) {
	size := q.size(r)
	if r.octet.at != 0 {
		return q.pointIs(r, first, last)
	}
	low, high := make([]byte, size), bytes.Repeat([]byte{0xff}, size)
	copy(low, first)
	copy(high, last)
	ended := false
	for i, m := range r.masks {
		if ended && m != 0 || m != 0xff && !isPrefixOctet(m) {
			return q.pointIs(r, first, last)
		}
		if ended = ended || m != 0xff; m != 0xff && !bytes.Equal(first, last) {
			return q.pointIs(r, first, last)
		}
		if low[i]&^m != 0 {
			return fails, true // bits that the mask hides are asked for
		}
		high[i] |= ^m
	}
	now := q.moved
	if r.came {
		q.moved = [fields]bool{}
	}
	a := q.test(r.field, []span{{valueOfBytes(low), valueOfBytes(high)}}, false)
	q.moved = now
	return a, true
}

func isPrefixOctet(m byte) bool { return ^m&(^m+1) == 0 }

// pointIs is fieldIs for a cell that has one value of the field.
func (q *nftReading) pointIs(r *run, first, last []byte) (answer, bool) {
	s := q.cell.spans[r.field]
	if !s.isOne() {
		return fixed, false
	}
	have := bytes.Clone(s.first.bytes(q.size(r))[r.octet.at : int(r.octet.at)+r.n])
	for i := range have {
		have[i] &= r.masks[i]
	}
	if bytes.Compare(have, first) >= 0 && bytes.Compare(have, last) <= 0 {
		return holds, true
	}
	return fails, true
}

// cmp reads a comparison.
func (q *nftReading) cmp(e *expr.Cmp) {
	in, n := q.runs(e.Sreg.Offset(), len(e.Data)), len(e.Data)
	least, most := make([]byte, n), bytes.Repeat([]byte{0xff}, n)
	switch e.Op {
	case expr.Eq, expr.Neq:
		q.equal(in, e.Data, e.Op == expr.Neq)
	case expr.Lt:
		q.compare(in, span{valueOfBytes(e.Data), valueOfBytes(most)}, n, true)
	case expr.Lte:
		q.compare(in, span{valueOfBytes(least), valueOfBytes(e.Data)}, n, false)
	case expr.Gt:
		q.compare(in, span{valueOfBytes(least), valueOfBytes(e.Data)}, n, true)
	case expr.Gte:
		q.compare(in, span{valueOfBytes(e.Data), valueOfBytes(most)}, n, false)
	}
}

// equal says whether all runs are as data.
func (q *nftReading) equal(in []run, data []byte, invert bool) {
	all := holds
	for i := range in {
		a := q.runIs(&in[i], data[in[i].at:in[i].at+in[i].n], data[in[i].at:in[i].at+in[i].n])
		if a == fails || all == holds {
			all = a
		}
		if a == fails {
			break
		}
	}
	if invert && all == holds {
		all = fails
	} else if invert && all == fails {
		all = holds
	}
	q.take(all)
}

// runIs says whether a run is between two values.
func (q *nftReading) runIs(r *run, first, last []byte) answer {
	switch r.kind {
	case same, ofRoute:
		return fixed
	case known:
		if bytes.Compare(r.values, first) >= 0 && bytes.Compare(r.values, last) <= 0 {
			return holds
		}
		return fails
	}
	a, read := q.fieldIs(r, first, last)
	if !read {
		q.cannot("it asks of some bits of an address or a port")
	}
	return a
}

// compare says whether a single run is in a span.
func (q *nftReading) compare(in []run, s span, n int, invert bool) {
	if len(in) != 1 {
		q.cannot("it compares several parts of a packet with one number")
		return
	}
	a := q.runIs(&in[0], s.first.bytes(n), s.last.bytes(n))
	if invert && (a == holds || a == fails) {
		a = holds + fails - a
	}
	q.take(a)
}

// bitwise reads a mask. What else is computed is known only of what is the same for all packets.
func (q *nftReading) bitwise(e *expr.Bitwise) {
	var out [expr.RegisterBytes]octet
	from := e.Sreg.Offset()
	for i := range e.Len {
		o := q.regs[from+i]
		var mask, xor byte
		if i < len(e.Mask) {
			mask = e.Mask[i]
		}
		if i < len(e.Xor) {
			xor = e.Xor[i]
		}
		switch {
		case e.Op != expr.Bool && o.kind == ofField:
			q.cannot("it shifts an address or a port")
		case e.Op != expr.Bool:
			o = octet{}
		case o.kind == ofField && xor != 0:
			q.cannot("it computes with an address or a port")
		case o.kind == known:
			o.value = o.value&mask ^ xor
		case o.kind == ofField && o.mask&mask == 0:
			o = octet{kind: known}
		default:
			o.mask &= mask
		}
		out[i] = o
	}
	q.put(e.Dreg, e.Len, func(i int) octet { return out[i] })
}

func (q *nftReading) turn(e *expr.Byteorder) {
	if q.regs[e.Sreg.Offset()].kind == ofRoute {
		q.put(e.Dreg, e.Len, func(int) octet { return octet{kind: ofRoute} })
		return
	}
	for _, r := range q.runs(e.Sreg.Offset(), e.Len) {
		if r.kind == ofField {
			q.cannot("it turns the bytes of an address or a port")
		}
	}
	q.put(e.Dreg, e.Len, func(int) octet { return octet{} })
}

// fib asks the routing tables.
func (q *nftReading) fib(e *expr.Fib) {
	size := 4
	if e.Result == expr.FibOifname && e.Flags&expr.FibPresent == 0 {
		size = 16
	}
	t, mark, hook, out := q.host.terrain, q.mark, q.hookNow(), q.out
	local := q.fromHost()
	type fib struct {
		result expr.FibResult
		flags  expr.FibFlags
		hook   netfilter.Hook
		out    string
	}
	what := fib{e.Result, e.Flags, hook, out}
	_ = q.fixedBy(&asked{what: what, mark: mark, in: true, src: true, of: func(dst, src netip.Addr, in string) any {
		if in == Host && !local {
			return nil // nobody asks of packets of the host here
		}
		p := packetsim.Place{Hook: hook, In: in, Out: out, Local: local}
		p.Packet = inet.Packet{Proto: inet.TCP, Dst: dst, Src: src, Mark: mark}
		data, ok, err := t.Load(e, e.Dreg, size, &p)
		return [3]any{string(data), ok, fmt.Sprint(err)}
	}})
	q.put(e.Dreg, size, func(int) octet { return octet{} })
}

func (r *reader) hookNow() netfilter.Hook {
	for h := range netfilter.NumHooks {
		if netfilter.Hook(h).String() == r.hook {
			return netfilter.Hook(h)
		}
	}
	return netfilter.PreRouting
}
