package check

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// stmtChecker evaluates rules and their statements.
type stmtChecker struct {
	*notes
	*state
	tx    *transaction
	exprs *exprChecker
	keys  *keyChecker
	sets  *setChecker
	spans *intervalChecker
}

// evalRule checks the statements of a rule, and puts the matches between them that they need.
func (c *stmtChecker) evalRule(r *syntax.Rule) bool {
	outer := *c.state
	defer func() { *c.state = outer }()
	c.rule, c.out = r, make([]syntax.Stmt, 0, len(r.Stmts)+2)
	c.begin(r.Handle.Family)
	var last syntax.Stmt
	for _, s := range r.Stmts {
		if last != nil {
			return c.wrong("Statement after terminal statement has no effect", s.Place(), last.Place())
		}
		c.want, c.set = want{}, nil
		if !c.evalStmt(s) {
			return false
		}
		if isTerminal(s) {
			last = s
		}
		c.out = append(c.out, s)
	}
	r.Stmts = withoutOwnFamily(r.Handle.Family, c.out)
	return true
}

// isTerminal says whether nothing behind a statement is reached.
func isTerminal(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.VerdictStmt:
		v, ok := s.Expr.(*syntax.Verdict)
		return ok && v.Code != expr.Continue
	case *syntax.Reject, *syntax.NAT, *syntax.FwdStmt, *syntax.QueueStmt:
		return true
	}
	return false
}

func isStateful(s syntax.Stmt) bool {
	switch s.(type) {
	case *syntax.Counter, *syntax.QuotaStmt, *syntax.LimitStmt, *syntax.ConnCount, *syntax.Last:
		return true
	}
	return false
}

// stmtName is the name of a kind of statement in messages.
func stmtName(s syntax.Stmt) string {
	switch s.(type) {
	case *syntax.Counter:
		return "counter"
	case *syntax.QuotaStmt:
		return "quota"
	case *syntax.LimitStmt:
		return "limit"
	case *syntax.ConnCount:
		return "connlimit"
	case *syntax.Last:
		return "last"
	}
	return "statement"
}

func (c *stmtChecker) evalStmt(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.Counter, *syntax.QuotaStmt, *syntax.LimitStmt, *syntax.ConnCount, *syntax.Last, *syntax.Notrack, *syntax.FlowStmt,
		*syntax.XtStmt:
		return true
	case *syntax.Match:
		return c.exprs.eval(&s.Expr)
	case *syntax.VerdictStmt:
		return c.evalArg(s, syntax.TypeVerdict, 0, syntax.NoOrder, &s.Expr)
	case *syntax.SetMeta:
		t, bits, order := syntax.MetaType(s.Key)
		return c.evalArg(s, t, bits, order, &s.Value)
	case *syntax.SetCT:
		return c.evalSetCT(s)
	case *syntax.SetPayload:
		return c.evalSetPayload(s)
	case *syntax.SetExthdr:
		return c.evalSetExthdr(s)
	case *syntax.OptStrip:
		return c.exprs.eval(&s.Option)
	case *syntax.Log:
		return c.evalLog(s)
	case *syntax.Reject:
		return c.evalReject(s)
	case *syntax.NAT:
		return c.evalNAT(s)
	case *syntax.SetUpdate:
		return c.evalSetUpdate(s)
	case *syntax.MapUpdate:
		return c.evalMapUpdate(s)
	case *syntax.ObjectStmt:
		return c.evalObjectStmt(s)
	}
	return c.evalRareStmt(s)
}

func (c *stmtChecker) evalRareStmt(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.QueueStmt:
		return c.evalQueue(s)
	case *syntax.DupStmt:
		return c.evalDup(s)
	case *syntax.FwdStmt:
		return c.evalFwd(s)
	case *syntax.TproxyStmt:
		return c.evalTproxy(s)
	case *syntax.SynproxyStmt:
		const known = 0x1 | 0x2 | 0x4 | 0x8
		if s.Flags != 0 && s.Flags&known == 0 {
			return c.wrong("This flags are not supported for SYNPROXY", s.Loc)
		}
		return true
	case *syntax.MeterStmt:
		return c.evalMeter(s)
	case *syntax.ChainStmt:
		return c.evalChainStmt(s)
	}
	return c.wrong("chainwalk does not support this statement", s.Place())
}

// evalArg evaluates a value that a statement takes.
func (c *stmtChecker) evalArg(s syntax.Stmt, t *syntax.Datatype, bits int, order syntax.ByteOrder, at *syntax.Expr) bool {
	c.expect(t, order, bits, 0)
	return c.exprs.eval(at) && c.fits(s, t, bits, order, at)
}

// fits compares the type of a value that was evaluated with the one that a statement takes.
func (c *stmtChecker) fits(s syntax.Stmt, t *syntax.Datatype, bits int, order syntax.ByteOrder, at *syntax.Expr) bool {
	k := (*at).Info()
	integer := k.Type.ID == syntax.TypeInteger.ID && len(k.Type.Parts) == 0
	if _, ok := (*at).(*syntax.Payload); ok && integer && (t.Basic().ID != syntax.TypeInteger.ID || k.Bits != bits) {
		return c.wrong(fmt.Sprintf("datatype mismatch: expected %s, expression has type %s with length %d", t.Desc, k.Type.Desc, k.Bits),
			k.Loc, s.Place())
	}
	if !integer && !sameType(k.Type, t) {
		return c.wrong(fmt.Sprintf("datatype mismatch: expected %s, expression has type %s", t.Desc, k.Type.Desc), k.Loc, s.Place())
	}
	switch e := (*at).(type) {
	case *syntax.Set:
		return c.wrong("you cannot use a set here, unknown value to use", k.Loc, s.Place())
	case *syntax.SetRef:
		return c.wrong("you cannot reference a set here, unknown value to use", k.Loc, s.Place())
	case *syntax.RT:
		return c.exprs.reorder(at, order)
	case *syntax.Prefix:
		return c.prefixToRange(at, e)
	case *syntax.Value:
		if isWildcard(e) {
			return c.wrong("Prefix expression expected integer value", e.Loc)
		}
	}
	return true
}

func (c *stmtChecker) prefixToRange(at *syntax.Expr, e *syntax.Prefix) bool {
	of, ok := e.Of.(*syntax.Value)
	if !ok {
		return c.wrong("you cannot specify a prefix here, unknown type "+e.Of.Info().Type.Name, e.Loc)
	}
	if of.Type.Basic() != syntax.TypeInteger {
		return c.wrong("Prefix expression expected integer value", e.Loc)
	}
	to := new(*of)
	to.Num = of.Num.Or(syntax.Ones(e.Bits - e.Len))
	*at = &syntax.Range{Common: e.Common, Min: of, Max: to}
	return true
}

func (c *stmtChecker) evalSetCT(s *syntax.SetCT) bool {
	t, bits, order := syntax.CTType(s.Key)
	if !c.evalArg(s, t, bits, order, &s.Value) {
		return false
	}
	if s.Key == expr.CTSecmark && isConstant(s.Value) {
		return c.wrong("ct secmark must not be set to constant value", s.Loc)
	}
	return true
}

func (c *stmtChecker) evalSetPayload(s *syntax.SetPayload) bool {
	field, ok := s.Field.(*syntax.Payload)
	if !ok {
		return c.wrong("chainwalk does not support setting this", s.Loc)
	}
	c.keys.typePayload(field)
	if !c.keys.headerFor(field) {
		return false
	}
	if !c.evalArg(s, field.Type, field.Bits, field.Order, &s.Value) {
		return false
	}
	_, mapped := s.Value.(*syntax.Map)
	if !isConstant(s.Value) && !c.exprs.reorder(&s.Value, field.Order) {
		return false
	}
	return isConstant(s.Value) && !mapped || c.writable(s, field)
}

func (c *stmtChecker) evalSetExthdr(s *syntax.SetExthdr) bool {
	field, ok := s.Field.(*syntax.Exthdr)
	if !ok {
		return c.wrong("chainwalk does not support setting this", s.Loc)
	}
	if !c.keys.typeExthdr(&s.Field, field) {
		return false
	}
	k := s.Field.Info()
	return c.evalArg(s, k.Type, k.Bits, syntax.BigEndian, &s.Value)
}

// The kernel's log level that stands for the audit subsystem.
const levelAudit = 8

// logPrefixSize is the room for a prefix, with a zero behind it.
const logPrefixSize = 128

func (c *stmtChecker) evalLog(s *syntax.Log) bool {
	if s.HasGroup || s.HasSnaplen || s.HasQueueThreshold {
		if s.HasLevel {
			return c.wrong("level and group are mutually exclusive", s.Loc)
		}
		if s.Flags != 0 {
			return c.wrong("flags and group are mutually exclusive", s.Loc)
		}
	}
	if s.HasLevel && s.Level == levelAudit && (s.HasGroup || s.HasSnaplen || s.HasQueueThreshold || s.Prefix != nil || s.Flags != 0) {
		return c.wrong("log level audit doesn't support any further options", s.Loc)
	}
	if s.Prefix == nil {
		return true
	}
	var text strings.Builder
	parts := []syntax.Expr{s.Prefix}
	if list, ok := s.Prefix.(*syntax.List); ok {
		parts = list.Items
	}
	for _, part := range parts {
		text.WriteString(plainText(part))
	}
	all := text.String()
	if len(parts) > 1 && len(all) >= logPrefixSize {
		all = all[:logPrefixSize-1]
	}
	s.Prefix = &syntax.Value{
		Common: syntax.Common{Loc: loc(s.Prefix), Type: syntax.TypeString, Order: syntax.HostOrder, Bits: 8 * len(all)}, Text: all,
	}
	return true
}

// plainText is what a word or a variable of one says.
func plainText(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Value:
		return e.Text
	case *syntax.Symbol:
		return e.Text
	case *syntax.Variable:
		return plainText(e.To)
	}
	return ""
}

// objectNameBits is the room for the name of an object.
const objectNameBits = 256 * 8

func (c *stmtChecker) evalObjectStmt(s *syntax.ObjectStmt) bool {
	m, ok := s.Object.(*syntax.Map)
	if !ok {
		return c.evalArg(s, syntax.TypeString, objectNameBits, syntax.HostOrder, &s.Object)
	}
	if !c.sets.mapKey(m) {
		return false
	}
	if elements, ok := m.Mappings.(*syntax.Set); ok {
		ref := c.sets.implicitSet("__objmap%d", c.wantedKey(s.Loc), nil, elements, nftables.SetObject)
		ref.Set.Object = s.Type
		ref.Set.Data = &syntax.Value{Common: syntax.Common{Type: syntax.TypeString, Order: syntax.HostOrder, Bits: objectNameBits}}
		m.Mappings = ref
		outer := c.set
		c.set = ref.Set
		ok := c.exprs.eval(&ref.Set.Elements)
		c.set = outer
		if !ok {
			return false
		}
		init := ref.Set.Elements.(*syntax.Set)
		if isInterval(init.Flags) && !isConcatInterval(init.Flags) && !c.spans.intervals(ref.Set, init) {
			return false
		}
		ref.Set.Flags |= init.Flags
	} else if !c.exprs.eval(&m.Mappings) {
		return false
	}
	ref, ok := m.Mappings.(*syntax.SetRef)
	if !ok {
		return c.wrong("Expression is not a map", loc(m.Mappings))
	}
	if ref.Set.Flags&nftables.SetObject == 0 {
		return c.wrong("Expression is not a map with objects", loc(m.Mappings))
	}
	return c.sets.mapTypes(m)
}

// evalChainStmt checks the rules of a chain without a name.
func (c *stmtChecker) evalChainStmt(s *syntax.ChainStmt) bool {
	ch := s.Chain
	ch.Anonymous, ch.ID = true, c.tx.nextID()
	inherit(&ch.Handle, c.rule.Handle)
	for _, r := range ch.Rules {
		r.Handle = &syntax.Handle{Family: c.rule.Handle.Family, Table: c.rule.Handle.Table}
		if !c.evalRule(r) {
			return false
		}
	}
	return true
}
