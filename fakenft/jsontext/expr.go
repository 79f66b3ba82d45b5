package jsontext

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// context is where expressions stand, which says what kinds of them may stand there.
type context uint32

const (
	onRight context = 1 << iota // on the right of a comparison, and in sets
	inStatement
	asPrimary
	asType
	setRight
	mangled
	setEntry
	ofMap
	inConcat
)

// contextNames are the contexts that messages name.
var contextNames = [...]string{"RHS", "STMT", "PRIMARY", "DTYPE", "SET_RHS"}

func (c context) String() string {
	var names []string
	for i, name := range contextNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// kindOfExpr is a kind of expression, by the property that it has.
type kindOfExpr struct {
	read func(*exprReader, string, *value) syntax.Expr
	in   context
}

var kinds map[string]kindOfExpr

func init() {
	const (
		everywhere = inStatement | asPrimary | setRight | setEntry | ofMap | inConcat
	)
	kinds = map[string]kindOfExpr{
		"concat":     {(*exprReader).concat, onRight | inStatement | asType | setRight | setEntry | ofMap},
		"set":        {(*exprReader).anonymousSet, onRight | inStatement},
		"map":        {(*exprReader).mapping, inStatement | asPrimary | setRight},
		"prefix":     {(*exprReader).prefix, onRight | setRight | inStatement | inConcat},
		"range":      {(*exprReader).rangeOf, onRight | setRight | inStatement | inConcat},
		"payload":    {(*exprReader).payload, everywhere | mangled},
		"exthdr":     {(*exprReader).exthdr, asPrimary | setRight | setEntry | ofMap | inConcat},
		"tcp option": {(*exprReader).tcpOption, asPrimary | setRight | mangled | setEntry | inConcat},
		"ip option":  {(*exprReader).ipOption, asPrimary | setRight | mangled | setEntry | inConcat},
		"sctp chunk": {(*exprReader).sctpChunk, asPrimary | setRight | mangled | setEntry | inConcat},
		"meta":       {(*exprReader).meta, everywhere | mangled},
		"osf":        {(*exprReader).osf, inStatement | asPrimary | ofMap | inConcat},
		"ipsec":      {(*exprReader).xfrm, asPrimary | ofMap | inConcat},
		"socket":     {(*exprReader).socket, asPrimary | inConcat},
		"rt":         {(*exprReader).rt, everywhere},
		"ct":         {(*exprReader).ct, everywhere | mangled},
		"numgen":     {(*exprReader).numgen, everywhere},
		"jhash":      {(*exprReader).hash, everywhere},
		"symhash":    {(*exprReader).hash, everywhere},
		"fib":        {(*exprReader).fib, everywhere &^ inStatement},
		"elem":       {(*exprReader).elem, onRight | inStatement | asPrimary | setEntry},
	}
	for sign := range binaryOps {
		kinds[sign] = kindOfExpr{(*exprReader).binop, onRight | inStatement | asPrimary | setRight | setEntry | ofMap | inConcat}
	}
	for word := range verdicts {
		kinds[word] = kindOfExpr{(*exprReader).verdict, onRight | setRight}
	}
}

// exprReader reads expressions.
type exprReader struct {
	*report
	// context is what kinds of expressions may stand where one is being read.
	context context
}

// within reads an expression in a context, beside those around it.
func (r *exprReader) within(c context, v *value) syntax.Expr {
	saved := r.context
	r.context |= c
	e := r.expr(v)
	r.context = saved
	return e
}

func (r *exprReader) rhs(v *value) syntax.Expr      { return r.within(onRight, v) }
func (r *exprReader) primary(v *value) syntax.Expr  { return r.within(asPrimary, v) }
func (r *exprReader) stmtExpr(v *value) syntax.Expr { return r.within(inStatement, v) }
func (r *exprReader) mapKey(v *value) syntax.Expr   { return r.within(ofMap, v) }
func (r *exprReader) setData(v *value) syntax.Expr  { return r.within(setRight, v) }

// expr reads an expression; nil if it notes an error.
func (r *exprReader) expr(v *value) syntax.Expr {
	switch v.kind {
	case object:
	case array:
		return r.listOf(v)
	case text, integer, yes, no:
		return r.immediate(v)
	}
	of, ok := r.only(v)
	if !ok {
		return nil
	}
	k, known := kinds[of.key]
	if !known {
		return r.none("Unknown expression type '%s'.", of.key)
	}
	if k.in&r.context != r.context {
		return r.none("Expression type %s not allowed in context (%s).", of.key, r.context)
	}
	return k.read(r, of.key, of)
}

// protocols are the words that nft's language has for protocols. On the right they are these protocols whatever is on the left, and
// whatever the machine calls them: most machines call ICMPv6 ipv6-icmp. Other names are looked up.
var protocols = map[string]uint64{
	"icmp": 1, "tcp": 6, "udp": 17, "dccp": 33, "esp": 50, "ah": 51, "icmpv6": 58, "comp": 108, "sctp": 132, "udplite": 136,
}

// immediate reads a constant: a word or a number is a symbol, "@name" a set, "*" any element.
func (r *exprReader) immediate(v *value) syntax.Expr {
	switch v.kind {
	case text:
		switch {
		case strings.HasPrefix(v.text, "@"):
			return &syntax.SetRef{Common: here(), Name: v.text[1:]}
		case v.text == "*" && r.context&onRight != 0:
			return &syntax.Catchall{Common: here()}
		}
		if n, is := protocols[v.text]; is && r.context&(onRight|setRight) != 0 {
			e := typed(syntax.TypeInetProto)
			e.Num.Lo = n
			return e
		}
		return symbol(v.text)
	case integer:
		return numeral(v.num)
	case yes, no:
	default:
		return r.none("Unexpected JSON type %s for immediate value.", v.kind)
	}
	if r.context&(onRight|setRight|asPrimary) == 0 {
		return r.none("Boolean values not allowed in this context.")
	}
	e := typed(syntax.TypeBoolean)
	e.Bits = 8
	if v.kind == yes {
		e.Num.Lo = 1
	}
	return e
}

func (r *exprReader) listOf(v *value) syntax.Expr {
	switch {
	case r.context&(onRight|inStatement) == 0:
		return r.none("List expression only allowed on RHS or in statement expression.")
	case r.context&asPrimary != 0:
		return r.none("List expression not allowed as primary expression.")
	}
	list := &syntax.List{Common: here(), Items: make([]syntax.Expr, 0, len(v.items))}
	for i := range v.items {
		item := r.expr(&v.items[i])
		if item == nil {
			return r.none("Parsing list expression item at index %d failed.", i)
		}
		list.Items = append(list.Items, item)
	}
	return list
}

func (r *exprReader) concat(_ string, v *value) syntax.Expr {
	if v.kind != array {
		return r.none("Unexpected concat object type %s.", v.kind)
	}
	if len(v.items) == 0 {
		return nil
	}
	c := &syntax.Concat{Common: here(), Parts: make([]syntax.Expr, 0, len(v.items))}
	for i := range v.items {
		part := r.within(inConcat, &v.items[i])
		if part == nil {
			return r.none("Parsing expr at index %d failed.", i)
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}

func (r *exprReader) mapping(_ string, v *value) syntax.Expr {
	var key, data *value
	if !r.unpack(v, "{s:o, s:o}", "key", &key, "data", &data) {
		return nil
	}
	m := &syntax.Map{Common: here()}
	if m.Key = r.mapKey(key); m.Key == nil {
		return r.none("Illegal map expression key.")
	}
	if m.Mappings = r.rhs(data); m.Mappings == nil {
		return r.none("Illegal map expression data.")
	}
	return m
}

func (r *exprReader) prefix(_ string, v *value) syntax.Expr {
	var addr *value
	var length int64
	if !r.unpack(v, "{s:o, s:i}", "addr", &addr, "len", &length) {
		return nil
	}
	of := r.primary(addr)
	if of == nil {
		return r.none("Invalid address in prefix expr.")
	}
	return &syntax.Prefix{Common: here(), Of: of, Len: int(length)}
}

func (r *exprReader) rangeOf(_ string, v *value) syntax.Expr {
	var low, high *value
	if !r.unpack(v, "[o, o]", &low, &high) {
		return nil
	}
	e := &syntax.Range{Common: here()}
	if e.Min = r.primary(low); e.Min == nil {
		return r.none("Invalid low value in range expression.")
	}
	if e.Max = r.primary(high); e.Max == nil {
		return r.none("Invalid high value in range expression.")
	}
	return e
}

var binaryOps = map[string]syntax.BinaryOp{
	"|": syntax.OpOr, "^": syntax.OpXor, "&": syntax.OpAnd, ">>": syntax.OpRight, "<<": syntax.OpLeft,
}

func (r *exprReader) binop(sign string, v *value) syntax.Expr {
	var left, right *value
	if !r.unpack(v, "[o, o]", &left, &right) {
		return nil
	}
	e := &syntax.Binop{Common: here(), Op: binaryOps[sign]}
	if e.Left = r.primary(left); e.Left == nil {
		return r.none("Failed to parse LHS of binop expression.")
	}
	if e.Right = r.rhs(right); e.Right == nil {
		return r.none("Failed to parse RHS of binop expression.")
	}
	return e
}

var verdicts = map[string]expr.Code{
	"accept": expr.Accept, "drop": expr.Drop, "continue": expr.Continue, "jump": expr.Jump, "goto": expr.Goto, "return": expr.Return,
}

func (r *exprReader) verdict(word string, v *value) syntax.Expr {
	e := &syntax.Verdict{Common: here(), Code: verdicts[word]}
	if e.Code == expr.Jump || e.Code == expr.Goto {
		var target string
		if !r.unpack(v, "{s:s}", "target", &target) {
			return nil
		}
		e.Chain = symbol(target)
	}
	return e
}

func (r *exprReader) elem(_ string, v *value) syntax.Expr {
	var key *value
	if !r.unpack(v, "{s:o}", "val", &key) {
		return nil
	}
	inner := r.expr(key)
	if inner == nil {
		return nil
	}
	e, ok := wrapped(inner).(*syntax.Element)
	if !ok {
		return nil
	}
	var n int64
	if is(v, "{s:i}", "timeout", &n) {
		e.HasTimeout, e.Timeout = true, uint64(uint32(n))*1000
	}
	if is(v, "{s:i}", "expires", &n) {
		e.HasExpires, e.Expires = true, uint64(uint32(n))*1000
	}
	if is(v, "{s:s}", "comment", &e.Comment) {
		e.HasComment = true
	}
	return e // 1.0.6 reads no counter and its like
}
