package jsontext

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var stmts map[string]func(*stmtReader, string, *value) syntax.Stmt

func init() {
	stmts = map[string]func(*stmtReader, string, *value) syntax.Stmt{
		"match": (*stmtReader).match, "counter": (*stmtReader).counter, "mangle": (*stmtReader).mangle, "quota": (*stmtReader).quota,
		"limit": (*stmtReader).limit, "flow": (*stmtReader).flow, "fwd": (*stmtReader).fwd, "notrack": (*stmtReader).notrack,
		"dup": (*stmtReader).dup, "snat": (*stmtReader).nat, "dnat": (*stmtReader).nat, "masquerade": (*stmtReader).nat,
		"redirect": (*stmtReader).nat, "reject": (*stmtReader).reject, "set": (*stmtReader).setUpdate, "log": (*stmtReader).log,
		"ct helper": (*stmtReader).reference, "ct timeout": (*stmtReader).reference, "ct expectation": (*stmtReader).reference,
		"secmark": (*stmtReader).reference, "meter": (*stmtReader).meter, "queue": (*stmtReader).queue,
		"ct count": (*stmtReader).connCount, "tproxy": (*stmtReader).tproxy, "synproxy": (*stmtReader).synproxy,
		"reset": (*stmtReader).optStrip, "vmap": (*stmtReader).vmap,
	}
}

// stmtReader reads statements.
type stmtReader struct {
	*report
	exprs *exprReader
}

// stmt reads a statement; nil if it notes an error.
func (r *stmtReader) stmt(v *value) syntax.Stmt {
	of, ok := r.only(v)
	if !ok {
		return nil
	}
	if _, verdict := verdicts[of.key]; verdict {
		e := r.exprs.rhs(v)
		if e == nil {
			return nil
		}
		return &syntax.VerdictStmt{At: at(), Expr: e}
	}
	if of.key == "xt" {
		return r.noStmt("unsupported xtables compat expression, use iptables-nft with this ruleset")
	}
	read, known := stmts[of.key]
	if !known {
		return r.noStmt("Unknown statement object '%s'.", of.key)
	}
	return read(r, of.key, of)
}

var relations = map[string]syntax.RelOp{
	"in": syntax.OpImplicit, "==": syntax.OpEq, "!=": syntax.OpNeq, "<": syntax.OpLt, ">": syntax.OpGt, "<=": syntax.OpLte,
	">=": syntax.OpGte, "!": syntax.OpNeg,
}

func (r *stmtReader) match(_ string, v *value) syntax.Stmt {
	var left, right *value
	var sign string
	if !r.unpack(v, "{s:o, s:o, s:s}", "left", &left, "right", &right, "op", &sign) {
		return nil
	}
	op, ok := relations[sign]
	if !ok {
		return r.noStmt("Unknown relational op '%s'.", sign)
	}
	e := &syntax.Relational{Common: here(), Op: op}
	if e.Left = r.exprs.expr(left); e.Left == nil {
		return r.noStmt("Invalid LHS of relational.")
	}
	if e.Right = r.exprs.rhs(right); e.Right == nil {
		return r.noStmt("Invalid RHS of relational.")
	}
	return &syntax.Match{At: at(), Expr: e}
}

func (r *stmtReader) vmap(word string, v *value) syntax.Stmt {
	e := r.exprs.mapping(word, v)
	if e == nil {
		return r.noStmt("Illegal vmap statement.")
	}
	return &syntax.VerdictStmt{At: at(), Expr: e}
}

// objectNamed reads a statement that refers to an object.
func (r *stmtReader) objectNamed(t expr.ObjectType, v *value, message string) syntax.Stmt {
	e := r.exprs.stmtExpr(v)
	if e == nil {
		return r.noStmt("%s", message)
	}
	return &syntax.ObjectStmt{At: at(), Type: t, Object: e}
}

func (r *stmtReader) counter(_ string, v *value) syntax.Stmt {
	var packets, bytes int64
	if v.kind == null {
		return &syntax.Counter{At: at()}
	}
	if is(v, "{s:I, s:I}", "packets", &packets, "bytes", &bytes) {
		return &syntax.Counter{At: at(), Packets: uint64(packets), Bytes: uint64(bytes), HasValue: true}
	}
	return r.objectNamed(expr.ObjectCounter, v, "Invalid counter reference.")
}

func (r *stmtReader) mangle(_ string, v *value) syntax.Stmt {
	var key, val *value
	if !r.unpack(v, "{s:o, s:o}", "key", &key, "value", &val) {
		return nil
	}
	k := r.exprs.within(mangled, key)
	if k == nil {
		return r.noStmt("Invalid mangle statement key")
	}
	e := r.exprs.stmtExpr(val)
	if e == nil {
		return r.noStmt("Invalid mangle statement value")
	}
	switch k := k.(type) {
	case *syntax.Exthdr:
		return &syntax.SetExthdr{At: at(), Field: k, Value: e}
	case *syntax.Payload:
		return &syntax.SetPayload{At: at(), Field: k, Value: e}
	case *syntax.Meta:
		return &syntax.SetMeta{At: at(), Key: k.Key, Value: e}
	case *syntax.CT:
		return &syntax.SetCT{At: at(), Key: k.Key, Dir: k.Dir, Value: e}
	}
	return r.noStmt("Invalid mangle statement key expression type.")
}

func (r *stmtReader) quota(_ string, v *value) syntax.Stmt {
	var n, used int64
	if !is(v, "{s:I}", "val", &n) {
		return r.objectNamed(expr.ObjectQuota, v, "Invalid quota reference.")
	}
	unit, usedUnit := "bytes", "bytes"
	q := &syntax.QuotaStmt{At: at()}
	is(v, "{s:s}", "val_unit", &unit)
	is(v, "{s:b}", "inv", &q.Over)
	is(v, "{s:I}", "used", &used)
	is(v, "{s:s}", "used_unit", &usedUnit)
	q.Bytes, q.Used = uint64(n), uint64(used)
	if f := factor(unit); f != 0 {
		q.Bytes *= f
	}
	if f := factor(usedUnit); f != 0 {
		q.Used *= f
	}
	return q
}

func (r *stmtReader) limit(_ string, v *value) syntax.Stmt {
	var rate int64
	var per string
	if !is(v, "{s:I, s:s}", "rate", &rate, "per", &per) {
		return r.objectNamed(expr.ObjectLimit, v, "Invalid limit reference.")
	}
	l := &syntax.LimitStmt{At: at(), Rate: uint64(rate), Unit: secondsOf(per)}
	readLimitRest(v, l)
	return l
}

func (r *stmtReader) flow(_ string, v *value) syntax.Stmt {
	var op, table string
	if !r.unpack(v, "{s:s, s:s}", "op", &op, "flowtable", &table) {
		return nil
	}
	if op != "add" {
		return r.noStmt("Unknown flow offload statement op '%s'.", op)
	}
	if !strings.HasPrefix(table, "@") {
		return r.noStmt("Illegal flowtable reference in flow offload statement.")
	}
	return &syntax.FlowStmt{At: at(), Table: table[1:]}
}

func (r *stmtReader) fwd(_ string, v *value) syntax.Stmt {
	var dev, addr *value
	var family string
	if !r.unpack(v, "{s:o}", "dev", &dev) {
		return nil
	}
	s := &syntax.FwdStmt{At: at()}
	if s.Dev = r.exprs.stmtExpr(dev); s.Dev == nil {
		return r.noStmt("Invalid fwd dev value.")
	}
	if is(v, "{s:s}", "family", &family) {
		switch family {
		case "ip":
			s.Family = protoIPv4
		case "ip6":
			s.Family = protoIPv6
		default:
			return r.noStmt("Unknown family '%s'.", family)
		}
	}
	if is(v, "{s:o}", "addr", &addr) {
		if s.Addr = r.exprs.stmtExpr(addr); s.Addr == nil {
			return r.noStmt("Invalid fwd addr value.")
		}
	}
	return s
}

func (r *stmtReader) notrack(string, *value) syntax.Stmt { return &syntax.Notrack{At: at()} }

func (r *stmtReader) dup(_ string, v *value) syntax.Stmt {
	var addr, dev *value
	if !r.unpack(v, "{s:o}", "addr", &addr) {
		return nil
	}
	s := &syntax.DupStmt{At: at()}
	if s.Addr = r.exprs.stmtExpr(addr); s.Addr == nil {
		return r.noStmt("Illegal dup addr arg.")
	}
	if is(v, "{s:o}", "dev", &dev) {
		if s.Dev = r.exprs.stmtExpr(dev); s.Dev == nil {
			return r.noStmt("Illegal dup dev.")
		}
	}
	return s
}

var rejectKinds = map[string]expr.RejectKind{
	"icmp": expr.RejectICMP, "icmpv6": expr.RejectICMP, "icmpx": expr.RejectICMPX, "tcp reset": expr.RejectTCPReset,
}

func (r *stmtReader) reject(_ string, v *value) syntax.Stmt {
	var kind string
	var code *value
	s := &syntax.Reject{At: at(), Kind: -1, ICMP: -1}
	if is(v, "{s:s}", "type", &kind) {
		if k, ok := rejectKinds[kind]; ok {
			s.Kind = int(k)
		}
		switch kind {
		case "icmp":
			s.Family = protoIPv4
		case "icmpv6":
			s.Family = protoIPv6
		}
	}
	if is(v, "{s:o}", "expr", &code) {
		saved := r.exprs.context
		r.exprs.context = onRight
		s.Code = r.exprs.immediate(code)
		r.exprs.context = saved
		if s.Code == nil {
			return r.noStmt("Illegal reject expr.")
		}
	}
	return s
}

var dynsetOps = map[string]expr.DynsetOp{"add": expr.DynsetAdd, "update": expr.DynsetUpdate, "delete": expr.DynsetDelete}

func (r *stmtReader) setUpdate(_ string, v *value) syntax.Stmt {
	var name, set string
	var elem *value
	if !r.unpack(v, "{s:s, s:o, s:s}", "op", &name, "elem", &elem, "set", &set) {
		return nil
	}
	op, ok := dynsetOps[name]
	if !ok {
		return r.noStmt("Unknown set statement op '%s'.", name)
	}
	s := &syntax.SetUpdate{At: at(), Op: op}
	if s.Key = wrapped(r.exprs.within(setEntry, elem)); s.Key == nil {
		return r.noStmt("Illegal set statement element.")
	}
	if !strings.HasPrefix(set, "@") {
		return r.noStmt("Illegal set reference in set statement.")
	}
	s.Set = &syntax.SetRef{Common: here(), Name: set[1:]}
	if list := v.get("stmt"); list != nil && list.kind == array && !r.inner(list, &s.Stmts) {
		return nil
	}
	return s
}

// inner reads the statements of a set or of what changes one.
func (r *stmtReader) inner(list *value, to *[]syntax.Stmt) bool {
	for i := range list.items {
		if list.items[i].kind != object {
			return r.wrong("Unexpected object type in stmt")
		}
		s := r.stmt(&list.items[i])
		if s == nil {
			return false
		}
		*to = append(*to, s)
	}
	return true
}

var (
	logLevels = [...]string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug", "audit"}
	logFlags  = map[string]uint32{"tcp sequence": 1, "tcp options": 2, "ip options": 4, "skuid": 8, "ether": 32, "all": 47}
)

func (r *stmtReader) log(_ string, v *value) syntax.Stmt {
	var prefix, level string
	var n int64
	s := &syntax.Log{At: at()}
	if is(v, "{s:s}", "prefix", &prefix) {
		s.Prefix = &syntax.List{Common: here(), Items: []syntax.Expr{&syntax.Value{Common: here(), Text: prefix}}}
	}
	if is(v, "{s:i}", "group", &n) {
		s.HasGroup, s.Group = true, uint16(n)
	}
	if is(v, "{s:i}", "snaplen", &n) {
		s.HasSnaplen, s.Snaplen = true, uint32(n)
	}
	if is(v, "{s:i}", "queue-threshold", &n) {
		s.HasQueueThreshold, s.QueueThreshold = true, uint16(n)
	}
	if is(v, "{s:s}", "level", &level) {
		found := false
		for i, name := range logLevels {
			if name == level {
				s.HasLevel, s.Level, found = true, uint32(i), true
			}
		}
		if !found {
			return r.noStmt("Invalid log level '%s'.", level)
		}
	}
	if flags := v.get("flags"); flags != nil && !r.flags(flags, "log flag", func(name string) bool {
		flag, ok := logFlags[name]
		s.Flags |= flag
		return ok
	}) {
		return nil
	}
	return s
}

// references are the messages about statements that refer to an object and can do nothing else.
var references = map[string]struct {
	of      expr.ObjectType
	message string
}{
	"ct helper": {expr.ObjectCTHelper, "Invalid ct helper reference."}, "ct timeout": {expr.ObjectCTTimeout, "Invalid ct timeout reference."},
	"ct expectation": {expr.ObjectCTExpect, "Invalid ct expectation reference."},
	"secmark":        {expr.ObjectSecmark, "Invalid secmark reference."},
}

func (r *stmtReader) reference(word string, v *value) syntax.Stmt {
	return r.objectNamed(references[word].of, v, references[word].message)
}

func (r *stmtReader) connCount(_ string, v *value) syntax.Stmt {
	var n int64
	s := &syntax.ConnCount{At: at()}
	if !r.unpack(v, "{s:i}", "val", &n) {
		return nil
	}
	s.Count = uint32(n)
	is(v, "{s:b}", "inv", &s.Over)
	return s
}

func (r *stmtReader) optStrip(_ string, v *value) syntax.Stmt {
	e := r.exprs.expr(v)
	if e == nil {
		return nil
	}
	return &syntax.OptStrip{At: at(), Option: e}
}
