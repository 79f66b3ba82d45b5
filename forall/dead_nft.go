package forall

import (
	"fmt"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftDeadTables is a table of nftables, once for each family whose packets it sees.
func nftDeadTables(builders map[netfilter.Family]*builder, speller nftables.Speller, table *nftables.Table) []*deadTable {
	like := DeadRule{Table: table.Family.String() + " " + table.Name}
	switch table.Family {
	case nftables.IPv4:
		like.Family = netfilter.IPv4
		return []*deadTable{nftDeadTable(builders[netfilter.IPv4], speller, table, like)}
	case nftables.IPv6:
		like.Family = netfilter.IPv6
		return []*deadTable{nftDeadTable(builders[netfilter.IPv6], speller, table, like)}
	case nftables.Inet:
		return []*deadTable{
			nftDeadTable(builders[netfilter.IPv4], speller, table, like),
			nftDeadTable(builders[netfilter.IPv6], speller, table, like),
		}
	}
	return []*deadTable{{notJudged: fmt.Sprintf("table %s: only tables of ip, ip6 and inet are looked at", like.Table)}}
}

func nftDeadTable(b *builder, speller nftables.Speller, table *nftables.Table, like DeadRule) *deadTable {
	t := &deadTable{b: b, like: like}
	for _, c := range table.Chains() {
		made := &deadChain{name: c.Name, base: c.Hooking != nil, rules: make([]boundedRule, len(c.Rules))}
		for i, r := range c.Rules {
			bounded := &made.rules[i]
			bounded.handle = r.Handle
			bounded.text = func() string {
				if speller != nil {
					return speller.Rule(table, c, r)
				}
				return fmt.Sprintf("handle %d", r.Handle)
			}
			q := nftBounds{bounds: b.newBounds(), table: table, rule: bounded}
			for _, e := range r.Exprs {
				q.take(e)
			}
			bounded.most, bounded.exact = q.id(), q.exact
			if q.rewrites {
				t.notJudged = fmt.Sprintf("table %s: the rule %q of chain %s changes the packet, so that rules behind it meet another one",
					like.Table, bounded.text(), c.Name)
			}
		}
		t.addChain(made)
	}
	return t
}

// nftBounds reads a rule of nftables for the packets that it may match. What it does not understand makes the rule match no less.
type nftBounds struct {
	*bounds
	table    *nftables.Table
	rule     *boundedRule
	regs     registers
	rewrites bool // addresses or ports
}

// unknown puts a value into registers that nothing is known of. To load it may also break the rule.
func (q *nftBounds) unknown(to expr.Register, size int) {
	q.exact = false
	q.regs.put(to, &load{kind: loadOpaque, size: min(size, expr.RegisterBytes)})
}

func (q *nftBounds) take(e expr.Expr) {
	switch e := e.(type) {
	case *expr.Immediate:
		if v := e.Data.Verdict; v != nil {
			q.verdict(v)
			return
		}
		q.regs.put(e.Dreg, constant(e.Data.Bytes))
	case *expr.Payload:
		q.payload(e)
	case *expr.Meta:
		q.meta(e)
	case *expr.Cmp:
		q.compare(e.Sreg, e.Op, e.Data)
	case *expr.Range:
		q.inRange(e)
	case *expr.Bitwise:
		q.bitwise(e)
	case *expr.Lookup:
		q.lookup(e)
	case *expr.Counter, *expr.Log, *expr.Last:
	case *expr.Reject, *expr.NAT, *expr.Masq, *expr.Redir:
		q.rule.takes = true
	default: // it may break the rule, and may fill any register
		q.exact = false
		q.regs.putAt(0, &load{kind: loadOpaque, size: len(q.regs)})
	}
}

func (q *nftBounds) verdict(v *expr.Verdict) {
	switch v.Code {
	case expr.Jump, expr.Goto:
		q.rule.leads = append(q.rule.leads, v.Chain)
		q.rule.takes = v.Code == expr.Goto
	case expr.Continue:
	default:
		q.rule.takes = true
	}
}

// payload loads bytes of headers, or writes them.
func (q *nftBounds) payload(e *expr.Payload) {
	if e.Writes {
		q.exact, q.rewrites = false, q.rewrites || q.changes(e)
		return
	}
	var fields []field
	switch six := q.b.six; {
	case e.Base == expr.TransportHeader:
		fields = []field{{0, &load{kind: loadField, v: vSrcPort, size: 2}}, {2, &load{kind: loadField, v: vDstPort, size: 2}}}
	case e.Base == expr.NetworkHeader && six:
		fields = []field{{8, &load{kind: loadField, v: vSrc, size: 16}}, {24, &load{kind: loadField, v: vDst, size: 16}}}
	case e.Base == expr.NetworkHeader:
		fields = []field{{9, protocol}, {12, &load{kind: loadField, v: vSrc, size: 4}}, {16, &load{kind: loadField, v: vDst, size: 4}}}
	}
	at := e.Dreg.Offset()
	filled := registers{}
	for k := range min(int(e.Len), len(q.regs)-at) {
		for _, f := range fields {
			if off := int(e.Offset) + k - f.at; off >= 0 && off < f.size {
				filled[at+k] = byteOf{f.load, uint8(off)}
			}
		}
		if filled[at+k].of == nil {
			q.unknown(e.Dreg, int(e.Len))
			return
		}
	}
	for k := int(e.Len); k%4 != 0 && at+k < len(q.regs); k++ {
		filled[at+k] = byteOf{zero, 0}
	}
	copy(q.regs[at:], filled[at:min(len(q.regs), at+(int(e.Len)+3)&^3)])
	if e.Base == expr.TransportHeader {
		q.whole()
	}
}

// changes says whether a write changes addresses, ports or the protocol.
func (q *nftBounds) changes(e *expr.Payload) bool {
	end := e.Offset + e.Len
	switch {
	case e.Base == expr.TransportHeader:
		return e.Offset < 4
	case e.Base != expr.NetworkHeader:
		return true
	case q.b.six:
		return end > 8 || e.Offset <= 6 && 6 < end
	}
	return end > 12 || e.Offset <= 9 && 9 < end
}

// meta loads what the kernel knows of a packet, or sets it.
func (q *nftBounds) meta(e *expr.Meta) {
	six := q.b.six
	switch {
	case e.Writes:
	case e.Key == expr.MetaNfproto && six:
		q.regs.put(e.Dreg, constant([]byte{nfproto6}))
	case e.Key == expr.MetaNfproto:
		q.regs.put(e.Dreg, constant([]byte{nfproto4}))
	case e.Key == expr.MetaL4proto:
		q.regs.put(e.Dreg, protocol)
		if six {
			q.whole()
		}
	default:
		q.unknown(e.Dreg, 16)
	}
}

// compare adds what a comparison says of fields.
func (q *nftBounds) compare(from expr.Register, op expr.CmpOp, data []byte) {
	runs := q.regs.runs(from.Offset(), len(data))
	if len(runs) > 1 && op != expr.Eq {
		q.exact = false
		return
	}
	for i := range runs {
		r := &runs[i]
		part := data[r.at : r.at+r.n]
		switch r.of.kind {
		case loadConst:
			q.holds(compares(r.constant, op, part))
		case loadField:
			if set, known := r.values(op, part); known {
				q.need(r.of.v, set, false)
				continue
			}
			q.exact = false
		default:
			q.exact = false
		}
	}
}

// inRange adds what a range says of a field.
func (q *nftBounds) inRange(e *expr.Range) {
	runs := q.regs.runs(e.Sreg.Offset(), len(e.From))
	if len(runs) != 1 || runs[0].of.kind != loadField || len(e.To) != len(e.From) {
		q.exact = false
		return
	}
	low, known := runs[0].values(expr.Gte, e.From)
	high, also := runs[0].values(expr.Lte, e.To)
	if !known || !also {
		q.exact = false
		return
	}
	q.need(runs[0].of.v, low.And(high), e.Op == expr.Neq)
}

// bitwise keeps a masked field, and what it makes of a constant.
func (q *nftBounds) bitwise(e *expr.Bitwise) {
	runs := q.regs.runs(e.Sreg.Offset(), e.Len)
	if len(runs) == 1 && runs[0].of.kind == loadConst {
		q.regs.put(e.Dreg, constant(bitwise(e, runs[0].constant)))
		return
	}
	if len(runs) == 1 && runs[0].of.kind == loadField && runs[0].n == runs[0].of.size {
		if made := (&nftRun{b: q.b}).computed(&runs[0], e); made != nil {
			q.regs.put(e.Dreg, made)
			return
		}
	}
	q.unknown(e.Dreg, e.Len)
}

// mostElements is up to how many elements with several fields are looked at one by one.
const mostElements = 256

// lookup adds the keys of a set, and notes where the elements of a map lead.
func (q *nftBounds) lookup(e *expr.Lookup) {
	set := q.table.Set(e.Set)
	if set == nil || setChanges(set) {
		q.unknown(e.Dreg, 64)
		return
	}
	boxes := q.b.boxesOf(set)
	if e.Map {
		q.elements(boxes)
		if e.Dreg != expr.RegVerdict {
			q.unknown(e.Dreg, int(set.DataLen))
		}
	}
	switch keys, known := q.keys(boxes, q.regs.runs(e.Sreg.Offset(), int(set.KeyLen))); {
	case boxes.catchall != nil:
		q.exact = false
	case !known && e.Invert:
		q.exact = false
	default:
		q.exact = q.exact && known
		q.also(keys, e.Invert)
	}
}

// elements notes the chains that verdicts of elements lead to, and elements that may not be met.
func (q *nftBounds) elements(of *boxes) {
	q.exact = false // other elements do other things
	note := func(e *nftables.Element) {
		if e.Data != nil && e.Data.Verdict != nil && (e.Data.Verdict.Code == expr.Jump || e.Data.Verdict.Code == expr.Goto) {
			q.rule.leads = append(q.rule.leads, e.Data.Verdict.Chain)
		}
	}
	for i := range of.all {
		note(of.all[i].element)
	}
	if of.catchall != nil {
		note(of.catchall)
	}
}

// keys is the packets whose key is in a set. It is more than these, and false, where that is not known.
func (q *nftBounds) keys(of *boxes, runs []run) (diagram.ID, bool) {
	s, known := q.b.s, len(of.parts) < 2 || len(of.all) <= mostElements
	for i := range runs {
		r := &runs[i]
		isField := r.of.kind == loadField && r.of.mask == nil && r.from == 0 && r.n == r.of.size
		known = known && (isField || r.of.kind == loadConst)
	}
	for i := range of.all {
		known = known && len(of.all[i].element.Exprs) == 0
	}
	switch {
	case !known || len(runs) > 1 && len(of.parts) < 2 && len(of.all) > mostElements:
		return s.One(yes), false
	case len(runs) == 1 && runs[0].of.kind == loadField:
		var in []diagram.Interval
		for i := range of.all {
			in = append(in, spread(of.all[i].first, of.all[i].last, runs[0].of.size))
		}
		return s.Choose(runs[0].of.v, diagram.SetOf(in...), s.One(yes), s.One(no)), true
	}
	all := s.One(no)
	for i := range of.all {
		key := q.b.newBounds()
		for k := range runs {
			r := &runs[k]
			first, last := of.all[i].first[r.at:r.at+r.n], of.all[i].last[r.at:r.at+r.n]
			if r.of.kind == loadConst {
				key.holds(compares(r.constant, expr.Gte, first) && compares(r.constant, expr.Lte, last))
				continue
			}
			key.need(r.of.v, diagram.SetOf(spread(first, last, r.of.size)), false)
		}
		all = q.b.then(all, s.One(yes), key.id())
	}
	return all, true
}
