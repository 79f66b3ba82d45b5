package forall

import (
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftAsks is what a rule asks for of destinations, and what else of the state. It notes with the rule where it leads, and to which
// destinations it may
// apply.
func (b *builder) nftAsks(c *chain, r *nftRule) ([]asked, reads) {
	room := len(b.runs.runs)
	a := nftAsking{b: b, r: r, led: map[string]bool{}, run: nftRun{b: b, c: c, r: r, st: state{port: asIs}}, filters: true}
	for _, x := range r.Exprs {
		if a.take(x); a.ended {
			break
		}
	}
	b.runs.runs = b.runs.runs[:room]
	return a.asks, a.read
}

// nftAsking reads a rule without running it. Of the registers it follows where bytes of the destination are.
type nftAsking struct {
	b       *builder
	r       *nftRule
	run     nftRun
	led     map[string]bool // chains that are noted
	asks    []asked
	read    reads
	filters bool // what does not match has no effect so far
	ended   bool // what comes behind is not modelled
}

// needOf is a condition of the destination that must hold.
func (a *nftAsking) needOf(set diagram.Set) {
	a.asks = alone(a.asks, set...)
	if !a.filters {
		return
	}
	if a.r.any {
		a.r.any, a.r.dst = false, set
	} else {
		a.r.dst = a.r.dst.And(set)
	}
	if a.r.dst == nil {
		a.r.dst = diagram.Set{}
	}
}

// ofDst are the runs of the destination among bytes of a register.
func (a *nftAsking) ofDst(from expr.Register, n int) []run {
	var out []run
	for _, r := range a.run.regs.runs(from.Offset(), n) {
		if r.of.kind == loadDst {
			out = append(out, r)
		}
	}
	return out
}

func (a *nftAsking) take(x expr.Expr) {
	a.read |= a.b.stateOfReading(x.Reads())
	switch x := x.(type) {
	case *expr.Immediate:
		if v := x.Data.Verdict; v != nil {
			a.leads(v)
			return
		}
		a.run.regs.put(x.Dreg, constant(x.Data.Bytes))
	case *expr.Payload:
		a.payload(x)
	case *expr.Meta:
		a.meta(x)
	case *expr.CT:
		a.ct(x)
	case *expr.Cmp:
		for _, r := range a.ofDst(x.Sreg, len(x.Data)) {
			a.compare(r, x.Op, x.Data[r.at:r.at+r.n], x.Op == expr.Eq || len(x.Data) == r.n)
		}
	case *expr.Range:
		for _, r := range a.ofDst(x.Sreg, len(x.From)) {
			a.compare(r, expr.Gte, x.From[r.at:r.at+r.n], false)
			a.compare(r, expr.Lte, x.To[r.at:r.at+r.n], false)
		}
	case *expr.Bitwise:
		a.bitwise(x)
	case *expr.Lookup:
		a.lookup(x)
	default:
		a.takeMore(x)
	}
}

func (a *nftAsking) takeMore(x expr.Expr) {
	other := &load{kind: loadOpaque, size: 16}
	switch x := x.(type) {
	case *expr.Byteorder:
		a.run.regs.put(x.Dreg, &load{kind: loadOpaque, size: x.Len})
	case *expr.Fib:
		a.run.regs.put(x.Dreg, other)
	case *expr.Numgen:
		a.run.regs.put(x.Dreg, &load{kind: loadOpaque, size: 4})
	case *expr.NAT:
		if !x.Source {
			if to, is := a.run.known(x.AddrMin, a.b.addrSize()); is && x.AddrMin != 0 {
				a.b.goals = append(a.b.goals, diagram.Point(numberOf(to)))
			}
		}
		a.filters = false
	case *expr.RT:
		a.run.regs.put(x.Dreg, other)
	case *expr.Exthdr:
		if x.Writes {
			a.filters = false
		} else {
			a.run.regs.put(x.Dreg, other)
		}
	case *expr.Notrack, *expr.Dynset:
		a.filters = false
	case *expr.Masq, *expr.Redir, *expr.Reject, *expr.Limit, *expr.Quota, *expr.Connlimit, *expr.Objref, *expr.Counter, *expr.Log, *expr.Last:
	default:
		a.ended = true // it may fill a register, of which the rest would be read wrongly
	}
}

// leads notes a chain.
func (a *nftAsking) leads(v *expr.Verdict) {
	if v.Code == expr.Jump || v.Code == expr.Goto {
		if !a.led[v.Chain] {
			a.led[v.Chain] = true
			a.r.leads = append(a.r.leads, v.Chain)
		}
	}
}

// payload follows the destination into registers.
func (a *nftAsking) payload(x *expr.Payload) {
	if x.Writes {
		a.filters = false
		return
	}
	at, dst, src := 16, a.run.destination(1), a.run.source()
	if a.b.six {
		at = 24
	}
	other := &load{kind: loadOpaque, size: int(x.Len)}
	to := x.Dreg.Offset()
	for k := range int(x.Len) {
		a.run.regs[to+k] = byteOf{other, uint8(k)}
		if off := int(x.Offset) + k - 2; x.Base == expr.TransportHeader && (off == 0 || off == 1) {
			a.run.regs[to+k] = byteOf{a.b.loads.field(vDstPort, 2), uint8(off)} // of protocols that have ports
		}
		if off := int(x.Offset) + k - at; x.Base == expr.NetworkHeader && off >= 0 && off < dst.size {
			a.run.regs[to+k] = byteOf{dst, uint8(off)}
		} else if off += src.size; x.Base == expr.NetworkHeader && off >= 0 && off < src.size {
			a.run.regs[to+k] = byteOf{src, uint8(off)}
		}
	}
}

func (a *nftAsking) meta(x *expr.Meta) {
	if x.Writes {
		a.filters = false
		return
	}
	size := 4
	switch x.Key {
	case expr.MetaL4proto:
		a.run.regs.put(x.Dreg, protocol)
		return
	case expr.MetaIifname, expr.MetaOifname, expr.MetaIifkind, expr.MetaOifkind:
		size = 16
	}
	a.run.regs.put(x.Dreg, &load{kind: loadOpaque, size: size})
}

// ct follows the destination of the connection.
func (a *nftAsking) ct(x *expr.CT) {
	if x.Writes {
		a.filters = false
		return
	}
	answer := x.Dir != nil && *x.Dir == 1
	l := &load{kind: loadOpaque, size: 16}
	switch x.Key {
	case expr.CTDst, expr.CTDstIP, expr.CTDstIP6:
		if !answer {
			l = a.run.destination(2)
		}
	case expr.CTSrc, expr.CTSrcIP, expr.CTSrcIP6:
		if answer {
			l = a.run.destination(1)
		}
	}
	a.run.regs.put(x.Dreg, l)
}

// compare adds what a comparison asks for. It must hold if it is all of the expression, and of the destination as it is now.
func (a *nftAsking) compare(r run, op expr.CmpOp, data []byte, must bool) {
	set, known := r.values(op, data)
	if !known {
		return
	}
	if set == nil {
		set = diagram.Set{}
	}
	if must && r.of.view == 1 {
		a.needOf(set)
	} else {
		a.asks = alone(a.asks, set...)
	}
}

func (a *nftAsking) bitwise(x *expr.Bitwise) {
	runs := a.run.regs.runs(x.Sreg.Offset(), x.Len)
	if len(runs) == 1 && runs[0].of.kind == loadDst && x.Op == expr.Bool && runs[0].of.mask == nil && runs[0].n == runs[0].of.size {
		if l := a.run.computed(&runs[0], x); l != nil {
			a.run.regs.put(x.Dreg, l)
			return
		}
	}
	a.run.regs.put(x.Dreg, &load{kind: loadOpaque, size: x.Len})
}

// lookup adds the destinations of a set's elements.
func (a *nftAsking) lookup(x *expr.Lookup) {
	set := a.r.table.Set(x.Set)
	if set == nil {
		return
	}
	runs := a.run.regs.runs(x.Sreg.Offset(), int(set.KeyLen))
	boxes := boxesFor(a.b, x, set, runs)
	if set.Flags&nftables.SetMap != 0 {
		for i := range boxes.all {
			if d := boxes.all[i].element.Data; d != nil && d.Verdict != nil {
				a.leads(d.Verdict)
			}
		}
		if e := boxes.catchall; e != nil && e.Data != nil && e.Data.Verdict != nil {
			a.leads(e.Data.Verdict)
		}
	}
	for _, r := range a.ofDst(x.Sreg, int(set.KeyLen)) {
		if r.from != 0 || r.of.mask != nil {
			continue
		}
		var in []diagram.Interval
		for i := range boxes.all {
			in = append(in, spread(boxes.all[i].first[r.at:r.at+r.n], boxes.all[i].last[r.at:r.at+r.n], r.of.size))
		}
		if !x.Invert && boxes.catchall == nil && !setChanges(set) && r.of.view == 1 {
			a.needOf(diagram.SetOf(in...))
		}
		groups := a.run.groupsOf(x, boxes, runs)
		switch {
		case len(in) == 0: // the destination is looked up though nothing is there
			a.asks = alone(a.asks, diagram.Interval{Last: a.b.s.Limit(vDst)})
		case groups != nil && r.of.view == 1:
			a.asks = append(a.asks, groups...)
		case a.b.selves.on && len(runs) == 1 && boxes.alike(x):
			a.asks = inGroup(a.asks, a.b.selves.groups.number(groupKey{set: boxes}), diagram.SetOf(in...)...)
		default:
			a.asks = alone(a.asks, in...) // each for itself: elements side by side may lead to different chains
		}
	}
	isVerdict := x.Dreg == expr.RegVerdict
	if size := a.b.addrSize(); x.Map && !isVerdict && int(set.DataLen) >= size {
		for i := range boxes.all {
			if d := boxes.all[i].element.Data; d != nil && len(d.Bytes) >= size {
				a.b.goals = append(a.b.goals, diagram.Point(numberOf(d.Bytes[:size])))
			}
		}
	}
	if x.Map && !isVerdict && set.DataLen <= 64 {
		a.run.regs.put(x.Dreg, &load{kind: loadOpaque, size: int(set.DataLen)})
	}
}
