package compile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// stmts makes the expressions of a rule.
func (g *generator) stmts(stmts []syntax.Stmt) {
	for _, s := range merged(stmts) {
		g.stmt(s)
		g.free = 0
	}
}

func (g *generator) stmt(s syntax.Stmt) {
	at := s.Place()
	switch s := s.(type) {
	case *syntax.Match:
		g.load(s.Expr, verdict)
	case *syntax.VerdictStmt:
		g.load(s.Expr, verdict)
	case *syntax.SetMeta:
		reg := g.value(s.Value)
		g.emit(at, &expr.Meta{Key: s.Key, Writes: true, Sreg: reg})
	case *syntax.SetCT:
		reg := g.value(s.Value)
		g.emit(at, &expr.CT{Key: s.Key, Dir: s.Dir, Writes: true, Sreg: reg})
	case *syntax.SetPayload:
		g.setPayload(s)
	case *syntax.SetExthdr:
		field, isExthdr := s.Field.(*syntax.Exthdr)
		if !isExthdr {
			g.refuse("writing into %T", s.Field)
			return
		}
		reg := g.value(s.Value)
		g.emit(field.Loc, &expr.Exthdr{
			Op: field.Op, Type: field.RawType, Offset: uint32(field.Offset / 8), Len: uint32(syntax.Bytes(bitsOf(field))), Writes: true, Sreg: reg,
		})
	case *syntax.NAT:
		g.nat(s)
	case *syntax.SetUpdate:
		g.update(at, s.Op, s.Set, s.Key, nil, s.Stmts)
	case *syntax.MapUpdate:
		g.update(at, s.Op, s.Set, s.Key, s.Data, s.Stmts)
	case *syntax.ObjectStmt:
		g.object(s)
	case *syntax.MeterStmt:
		op := expr.DynsetAdd
		if element, isElement := s.Key.(*syntax.Element); isElement && element.HasTimeout {
			op = expr.DynsetUpdate
		}
		g.update(at, op, s.Set, s.Key, nil, []syntax.Stmt{s.Stmt})
	case *syntax.ChainStmt:
		g.chains = append(g.chains, s.Chain)
		verdict := &expr.Verdict{Code: s.Code, ChainID: s.Chain.ID}
		g.emit(at, &expr.Immediate{Dreg: expr.RegVerdict, Data: expr.Data{Verdict: verdict}})
	case *syntax.QueueStmt:
		g.queue(s)
	case *syntax.DupStmt:
		e := new(expr.Dup)
		e.Addr = g.optional(s.Addr)
		e.Dev = g.optional(s.Dev)
		g.emit(at, e)
	case *syntax.FwdStmt:
		e := &expr.Fwd{}
		e.Dev = g.optional(s.Dev)
		if e.Addr = g.optional(s.Addr); s.Addr != nil {
			e.Family = s.Family
		}
		g.emit(at, e)
	case *syntax.TproxyStmt:
		e := &expr.Tproxy{Family: s.Family}
		e.Addr = g.optional(s.Addr)
		e.Port = g.optional(s.Port)
		g.emit(at, e)
	default:
		if e := g.stateful(s); e != nil {
			g.emit(at, e)
		}
	}
}

// value loads an expression and returns the register that it is in then.
func (g *generator) value(e syntax.Expr) expr.Register {
	to := g.take(e)
	g.load(e, to)
	return to.register()
}

func (g *generator) optional(e syntax.Expr) expr.Register {
	if e == nil {
		return 0
	}
	return g.value(e)
}

// stateful is the expression of a statement that has no operands; those of sets' elements are such.
func (g *generator) stateful(s syntax.Stmt) expr.Expr {
	switch s := s.(type) {
	case *syntax.Counter:
		c := &expr.Counter{Counters: new(netfilter.Counters)}
		c.Set(s.Packets, s.Bytes)
		return c
	case *syntax.QuotaStmt:
		q := &expr.Quota{Bytes: s.Bytes, Over: s.Over, Consumed: new(netfilter.Counters)}
		q.Consumed.Set(0, s.Used)
		return q
	case *syntax.LimitStmt:
		return &expr.Limit{Rate: s.Rate, Unit: time.Duration(s.Unit) * time.Second, Burst: s.Burst, Bytes: s.Bytes, Over: s.Over}
	case *syntax.Last:
		return &expr.Last{Set: s.Set, Ago: s.Ago}
	case *syntax.ConnCount:
		return &expr.Connlimit{Count: s.Count, Over: s.Over}
	case *syntax.Log:
		return g.log(s)
	case *syntax.Reject:
		return &expr.Reject{Kind: expr.RejectKind(max(s.Kind, 0)), Code: uint8(s.ICMP)}
	case *syntax.Notrack:
		return &expr.Notrack{}
	case *syntax.SynproxyStmt:
		return &expr.Synproxy{MSS: s.MSS, Wscale: s.Wscale, Flags: s.Flags}
	case *syntax.FlowStmt:
		return &expr.FlowOffload{Table: s.Table}
	case *syntax.OptStrip:
		option, isOption := s.Option.(*syntax.Exthdr)
		if isOption {
			return &expr.Exthdr{Op: option.Op, Type: option.RawType}
		}
		g.refuse("taking away %T", s.Option)
	case *syntax.XtStmt:
		g.refuse("the match or target %s of x_tables in rules of nft", s.Name)
	default:
		g.refuse("a statement %T", s)
	}
	return nil
}

func (g *generator) log(s *syntax.Log) expr.Expr {
	e := &expr.Log{
		HasGroup: s.HasGroup, Group: s.Group, Snaplen: s.Snaplen, HasSnaplen: s.HasSnaplen, QueueThreshold: s.QueueThreshold,
		HasQueueThreshold: s.HasQueueThreshold, Level: s.Level, HasLevel: s.HasLevel, Flags: s.Flags,
	}
	switch prefix := s.Prefix.(type) {
	case nil:
	case *syntax.List:
		for _, item := range prefix.Items {
			e.Prefix += nameOf(item)
		}
	default:
		e.Prefix = nameOf(prefix)
	}
	return e
}

// statefuls are the expressions that elements get.
func (g *generator) statefuls(stmts []syntax.Stmt) []expr.Expr {
	if len(stmts) == 0 {
		return nil
	}
	exprs := make([]expr.Expr, 0, len(stmts))
	for _, s := range stmts {
		if e := g.stateful(s); e != nil {
			exprs = append(exprs, e)
		}
	}
	return exprs
}

// update changes a set by a packet.
func (g *generator) update(at syntax.Loc, op expr.DynsetOp, set, key, data syntax.Expr, stmts []syntax.Stmt) {
	e := &expr.Dynset{Op: op}
	if element, isElement := key.(*syntax.Element); isElement {
		key = element.Key
		if element.HasTimeout {
			e.Timeout = time.Duration(element.Timeout) * time.Millisecond
		}
		e.Exprs = g.statefuls(element.Stmts)
	}
	e.Exprs = append(e.Exprs, g.statefuls(stmts)...)
	e.Key = g.value(key)
	if data != nil {
		if element, isElement := data.(*syntax.Element); isElement {
			data = element.Key
		}
		e.HasData = true
		e.Data = g.value(data)
	}
	if decl := g.set(set, nil); decl != nil {
		e.Set, e.SetID = setName(decl), decl.ID
		g.emit(at, e)
	}
}

func (g *generator) object(s *syntax.ObjectStmt) {
	e := &expr.Objref{Type: s.Type}
	if m, isMap := s.Object.(*syntax.Map); isMap {
		e.Sreg = g.value(m.Key)
		decl := g.set(m.Mappings, m.Key)
		if decl == nil {
			return
		}
		e.Set, e.SetID = setName(decl), decl.ID
	} else {
		e.Object = nameOf(s.Object)
	}
	g.emit(s.Object.Info().Loc, e)
}

func (g *generator) queue(s *syntax.QueueStmt) {
	e := &expr.QueueTo{Total: 1, Flags: s.Flags}
	switch to := s.To.(type) {
	case nil:
	case *syntax.Value:
		e.Num = uint16(to.Num.Lo)
	case *syntax.Range:
		least, _ := g.constant(to.Min)
		most, _ := g.constant(to.Max)
		e.Num, e.Total = uint16(least.Lo), uint16(most.Lo-least.Lo+1)
	default:
		e.Total = 0
		e.Sreg = g.value(s.To)
	}
	g.emit(s.Loc, e)
}
