package check

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// state is what the evaluation of one command is about.
type state struct {
	cmd  *syntax.Command
	rule *syntax.Rule
	out  []syntax.Stmt // the statements of the rule so far, with those that were added
	set  *syntax.SetDecl
	want want
	protocols
}

// want is what the place of an expression expects (struct expr_ctx in nft).
type want struct {
	typ   *syntax.Datatype
	order syntax.ByteOrder
	bits  int
	max   uint64
	key   *syntax.Concat // a concatenation that gives the parts their types
}

// exceededBy says whether a number is greater than what is expected can be.
func (w *want) exceededBy(n syntax.Num) bool { return w.max > 0 && (n.Hi != 0 || n.Lo > w.max) }

func (st *state) expect(t *syntax.Datatype, order syntax.ByteOrder, bits int, max uint64) {
	st.want = want{typ: t, order: order, bits: bits, max: max}
}

// expectType expects a type as it is by itself.
func (st *state) expectType(t *syntax.Datatype, bits int) {
	order := syntax.NoOrder
	if t != nil {
		order = t.Order
	}
	st.expect(t, order, bits, 0)
}

// primary expects of what comes behind it to be as it is.
func (st *state) primary(e syntax.Expr) bool {
	k := e.Info()
	st.expect(k.Type, k.Order, k.Bits, 0)
	return true
}

// takeWanted gives numgen and hashes the type that a statement expects, if that is a number of the same size.
func (st *state) takeWanted(k *syntax.Common) {
	if t := st.want.typ; t != nil && t.Base == syntax.TypeInteger && st.want.bits == 32 {
		k.Type, k.Bits = t, st.want.bits
	}
}

func (st *state) wantedKey(at syntax.Loc) syntax.Expr {
	if st.want.key != nil {
		return keyLike(st.want.key)
	}
	return &syntax.Value{Common: syntax.Common{Loc: at, Type: st.want.typ, Order: st.want.order, Bits: st.want.bits}}
}

// before puts a match before the statement that needs it.
func (st *state) before(s syntax.Stmt) { st.out = append(st.out, s) }

// first puts a match at the beginning of the rule.
func (st *state) first(s syntax.Stmt) { st.out = append([]syntax.Stmt{s}, st.out...) }

// expectPart expects what a part of a concatenation is to be, and returns its size.
func (st *state) expectPart(wanted want, i int) int {
	switch {
	case wanted.key != nil:
		k := wanted.key.Parts[i].Info()
		st.expect(k.Type, k.Order, k.Bits, 0)
	case wanted.typ == nil || i >= len(wanted.typ.Parts):
		st.expect(syntax.TypeInvalid, syntax.NoOrder, 0, 0)
	default:
		t := wanted.typ.Parts[i]
		st.expect(t, t.Order, t.Bits, 0)
	}
	return st.want.bits
}
