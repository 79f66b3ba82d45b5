package compile

import (
	"bytes"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// openInterval is NFTNL_SET_ELEM_F_INTERVAL_OPEN: an interval that ends with the last key there is.
const openInterval = 1

// item is an element of a set as it was written.
type item struct {
	element *syntax.Element // nil if it has nothing but a key
	key     syntax.Expr
	data    syntax.Expr
	place   syntax.Loc // of the key; with its options if there is data
}

func itemOf(e syntax.Expr) (it item) {
	it.key = e
	m, isMapping := e.(*syntax.Mapping)
	if isMapping {
		it.data, it.key = m.Data, m.Key
	}
	if element, isElement := it.key.(*syntax.Element); isElement {
		it.element, it.key = element, element.Key
	}
	if it.place = e.Info().Loc; !isMapping || !it.place.Written() {
		it.place = it.key.Info().Loc
	}
	return it
}

// itemsOf are the elements that an expression is.
func itemsOf(e syntax.Expr) []syntax.Expr {
	switch e := e.(type) {
	case *syntax.Set:
		return e.Items
	case *syntax.List:
		return e.Items
	case *syntax.SetRef:
		if e.Set != nil && e.Set.Elements != nil {
			return itemsOf(e.Set.Elements)
		}
	case *syntax.Variable:
		return itemsOf(e.To)
	}
	return nil
}

// elements are the kernel's elements of those that are written. add says that they are added, and not deleted or looked for; places, if it
// is not nil, gets the place of each.
func (g *generator) elements(s *syntax.SetDecl, written syntax.Expr, add, first bool, places *[]syntax.Loc) []nftables.ElementSpec {
	list := itemsOf(written)
	if s.Flags&nftables.SetInterval != 0 && !isConcat(s.Key) {
		return g.intervals(s, list, add, add && first, places)
	}
	specs := make([]nftables.ElementSpec, len(list))
	size := int(keyBytes(s.Key))
	withEnds := s.Flags&nftables.SetInterval != 0
	room := make([]byte, 0, len(list)*size)
	g.mapped.left = len(list)
	for i, e := range list {
		it := itemOf(e)
		spec := &specs[i]
		if add {
			g.describe(s, &it, spec)
		}
		if places != nil {
			*places = append(*places, it.place)
		}
		switch {
		case isCatchall(it.key):
			spec.Flags |= nftables.ElementCatchall
		case withEnds:
			spec.Key = g.appendKey(nil, it.key, lowerEnd, size)
			spec.KeyEnd = g.appendKey(nil, it.key, upperEnd, size)
		default:
			start := len(room)
			room = g.appendKey(room, it.key, exact, size)
			spec.Key = room[start:len(room):len(room)]
		}
	}
	return specs
}

func isCatchall(e syntax.Expr) bool {
	_, is := e.(*syntax.Catchall)
	return is
}

// describe fills in all of an element but its key.
func (g *generator) describe(s *syntax.SetDecl, it *item, spec *nftables.ElementSpec) {
	if e := it.element; e != nil {
		if e.HasTimeout {
			spec.Timeout, spec.HasTimeout = milliseconds(e.Timeout), true
		}
		if e.HasExpires {
			spec.Expires = milliseconds(e.Expires)
		}
		if e.HasComment {
			spec.UserData = nftables.AppendTLV(nil, 0, append([]byte(e.Comment), 0))
		}
		spec.Exprs = g.statefuls(e.Stmts)
	}
	if it.data == nil {
		return
	}
	data := it.data
	if element, isElement := data.(*syntax.Element); isElement {
		data = element.Key
	}
	switch {
	case s.Object != 0:
		spec.Object = nameOf(data)
	default:
		spec.Data = g.datum(s, data)
	}
}

func (g *generator) datum(s *syntax.SetDecl, data syntax.Expr) *expr.Data {
	to := g.mapped.datum()
	if v, isVerdict := data.(*syntax.Verdict); isVerdict {
		to.Verdict = &expr.Verdict{Code: v.Code}
		if v.Chain != nil {
			to.Verdict.Chain = nameOf(v.Chain)
		}
		return to
	}
	size := 0
	if s.Data != nil {
		size = int(keyBytes(s.Data))
	}
	if hasIntervals(s) && isInterval(data) {
		b := g.appendKey(nil, data, lowerEnd, size)
		to.Bytes = g.appendKey(b, data, upperEnd, size)
		return to
	}
	room := g.mapped.room(size)
	start := len(room)
	room = g.appendKey(room, data, exact, size)
	to.Bytes, g.mapped.bytes = room[start:len(room):len(room)], room
	return to
}

// dataRoom is room for what the elements of one change map to: it is kept together, as the elements are.
type dataRoom struct {
	data  []expr.Data
	bytes []byte
	left  int // elements that may still want some
}

// datum is what an element maps to.
func (r *dataRoom) datum() *expr.Data {
	if len(r.data) == 0 {
		r.data = make([]expr.Data, max(r.left, 1))
	}
	d := &r.data[0]
	r.data = r.data[1:]
	r.left--
	return d
}

// room is where so many bytes can be appended.
func (r *dataRoom) room(size int) []byte {
	if cap(r.bytes)-len(r.bytes) < size {
		r.bytes = make([]byte, 0, size*max(r.left+1, 1))
	}
	return r.bytes
}

// end says which end of an interval is meant.
type end uint8

const (
	exact end = iota
	lowerEnd
	upperEnd
)

// appendKey appends the bytes of a key or of data, each part of a concatenation filled up. Ends of intervals are in the network's order.
func (g *generator) appendKey(dst []byte, key syntax.Expr, which end, size int) []byte {
	switch key := key.(type) {
	case *syntax.Concat:
		for _, part := range key.Parts {
			start := len(dst)
			dst = pad(g.appendKey(dst, part, which, partBytes(part)), start)
		}
		return dst
	case *syntax.Value:
		if key.Bits == 0 || isText(key) {
			return g.appendSized(dst, key, which, size)
		}
		if which != exact {
			return appendValue(dst, key, syntax.BigEndian)
		}
		return appendValue(dst, key, key.Order)
	case *syntax.Range:
		if which == upperEnd {
			return g.appendKey(dst, key.Max, which, size)
		}
		return g.appendKey(dst, key.Min, which, size)
	case *syntax.Prefix:
		if bits := bitsOf(key.Of); bits > 0 {
			size = syntax.Bytes(bits)
		}
		from, to := ends(key, size)
		if which == upperEnd {
			return append(dst, to...)
		}
		return append(dst, from...)
	case *syntax.Variable:
		return g.appendKey(dst, key.To, which, size)
	default:
		n, _ := g.constant(key)
		order := key.Info().Order
		if which != exact {
			order = syntax.BigEndian
		}
		if bits := bitsOf(key); bits > 0 {
			size = syntax.Bytes(bits)
		}
		return appendNum(dst, n, size, order)
	}
}

// partBytes is how many bytes a part of a concatenation has. A text with an asterisk is shorter than its type.
func partBytes(part syntax.Expr) int {
	bits := bitsOf(part)
	if v, isValue := part.(*syntax.Value); isValue && isText(v) && v.Type != nil {
		bits = max(bits, v.Type.Bits)
	}
	return syntax.Bytes(bits)
}

// appendSized appends a value without a size of its own, or a text. A text that is shorter than its key was written with a '*'.
func (g *generator) appendSized(dst []byte, v *syntax.Value, which end, size int) []byte {
	if !isText(v) {
		order := v.Order
		if which != exact {
			order = syntax.BigEndian
		}
		return appendNum(dst, v.Num, size, order)
	}
	size = max(size, syntax.Bytes(v.Bits))
	start := len(dst)
	dst = appendText(dst, v.Text, size)
	if which == upperEnd && v.Bits > 0 && v.Bits < size*8 {
		for i := start + v.Bits/8; i < len(dst); i++ {
			dst[i] = 0xff
		}
	}
	return dst
}

// ends are the first and the last value with a prefix, in the network's order.
func ends(p *syntax.Prefix, size int) (from, to []byte) {
	of, isValue := p.Of.(*syntax.Value)
	if !isValue {
		return make([]byte, size), make([]byte, size)
	}
	if isText(of) {
		from, to = appendText(nil, of.Text, size), appendText(nil, of.Text, size)
	} else {
		from, to = appendNum(nil, of.Num, size, syntax.BigEndian), appendNum(nil, of.Num, size, syntax.BigEndian)
	}
	for i := range size {
		bits := min(max(p.Len-8*i, 0), 8)
		mask := byte(0xff) << (8 - bits)
		from[i] &= mask
		to[i] |= ^mask
	}
	return from, to
}

// interval is an element with its two ends.
type interval struct {
	item
	from, to []byte
}

// unwritten is where nft places the ends of intervals, which nobody writes (internal_location in nft's src/utils.c).
var unwritten = syntax.Loc{In: &syntax.Input{Name: "internal", NoText: true}}

// intervals are the elements of a set of intervals: each begins one, and others, marked as ends, say where nothing is. first: the set has
// no elements yet, so that what is before the first interval is said as well (set_to_intervals in nft's src/intervals.c).
func (g *generator) intervals(s *syntax.SetDecl, list []syntax.Expr, add, first bool, places *[]syntax.Loc) []nftables.ElementSpec {
	size := int(keyBytes(s.Key))
	sorted := make([]interval, 0, len(list))
	specs := make([]nftables.ElementSpec, 0, 2*len(list)+1)
	put := func(at syntax.Loc, spec nftables.ElementSpec) {
		specs = append(specs, spec)
		if places != nil {
			*places = append(*places, at)
		}
	}
	var others []item
	for _, e := range list {
		it := itemOf(e)
		if isCatchall(it.key) {
			others = append(others, it)
			continue
		}
		sorted = append(sorted, interval{it, g.appendKey(nil, it.key, lowerEnd, size), g.appendKey(nil, it.key, upperEnd, size)})
	}
	slices.SortStableFunc(sorted, func(a, b interval) int { return bytes.Compare(a.from, b.from) })
	var end []byte
	for i := range sorted {
		it := &sorted[i]
		if i == 0 && first && !isZero(it.from) {
			put(syntax.Loc{}, nftables.ElementSpec{Key: make([]byte, size), Flags: nftables.ElementIntervalEnd})
		}
		if end != nil && (!isAnonymous(s) || !bytes.Equal(end, it.from)) {
			put(unwritten, nftables.ElementSpec{Key: end, Flags: nftables.ElementIntervalEnd})
		}
		spec := nftables.ElementSpec{Key: it.from}
		if add {
			g.describe(s, &it.item, &spec)
		}
		if end = after(it.to); end == nil && add {
			spec.UserData = nftables.AppendTLVNumber(spec.UserData, 1, openInterval)
		}
		put(it.place, spec)
	}
	if end != nil {
		put(unwritten, nftables.ElementSpec{Key: end, Flags: nftables.ElementIntervalEnd})
	}
	for i := range others {
		spec := nftables.ElementSpec{Flags: nftables.ElementCatchall}
		if add {
			g.describe(s, &others[i], &spec)
		}
		put(others[i].place, spec)
	}
	return specs
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// after is the key behind another one; nil if that is the last there is.
func after(b []byte) []byte {
	next := slices.Clone(b)
	for i := len(next) - 1; i >= 0; i-- {
		next[i]++
		if next[i] != 0 {
			return next
		}
	}
	return nil
}
