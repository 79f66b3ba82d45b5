package nftables_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// generator makes transactions about few names, so that they meet.
type generator struct{ r *rand.Rand }

func (g *generator) one(in int) bool { return g.r.IntN(in) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.r.IntN(len(of))] }

func (g *generator) transaction() []nftables.Change {
	var changes []nftables.Change
	for range 1 + g.r.IntN(pick(g, 2, 4, 10)) {
		changes = append(changes, g.change()...)
	}
	return changes
}

// start makes most of what the names stand for.
func (g *generator) start() []nftables.Change {
	var changes []nftables.Change
	for _, table := range []nftables.TableSpec{{Family: nftables.IPv4, Name: "t"}, {Family: nftables.Inet, Name: "u"}} {
		changes = append(changes, &nftables.AddTable{TableSpec: table})
		for i := range 6 {
			changes = append(changes, &nftables.AddChain{Family: table.Family, Table: table.Name,
				Chain: nftables.ChainSpec{Name: "c" + strconv.Itoa(i)}})
		}
		for name, h := range bases {
			changes = append(changes, &nftables.AddChain{Family: table.Family, Table: table.Name,
				Chain: nftables.ChainSpec{Name: name, Hooking: h}})
		}
		for _, name := range setNames {
			changes = append(changes, &nftables.AddSet{Family: table.Family, Table: table.Name, Set: g.setNamed(name)})
		}
		for _, name := range []string{"o1", "o2"} {
			for _, typ := range []expr.ObjectType{expr.ObjectCounter, expr.ObjectQuota, expr.ObjectLimit} {
				changes = append(changes, &nftables.AddObject{Family: table.Family, Table: table.Name,
					Object: nftables.ObjectSpec{Name: name, Type: typ, Value: g.object(typ)}})
			}
		}
	}
	return changes
}

var bases = map[string]*nftables.Hooking{
	"b0": {Type: "filter", Hook: 1}, "b1": {Type: "nat", Hook: 4, Priority: 100}, "b2": {Type: "nat", Hook: 0, Priority: -100},
	"b3": {Type: "route", Hook: 3, Priority: -150},
}

func (g *generator) table() (nftables.Family, string) {
	if g.one(3) {
		return nftables.Inet, "u"
	}
	if g.one(40) {
		return nftables.IPv4, "absent"
	}
	return nftables.IPv4, "t"
}

func (g *generator) chain() string { return "c" + strconv.Itoa(g.r.IntN(6)) }

func (g *generator) change() []nftables.Change {
	f, table := g.table()
	switch g.r.IntN(16) {
	case 0:
		return []nftables.Change{&nftables.AddTable{TableSpec: nftables.TableSpec{Family: f, Name: table,
			Flags: pick(g, nftables.TableFlags(0), 0, 0, 0, 0, 0, 0, 0, nftables.TableDormant)}, Exclusive: g.one(10)}}
	case 1:
		if g.one(40) {
			return []nftables.Change{&nftables.DeleteTable{Family: f, Name: pick(g, table, table, "")}}
		}
		return []nftables.Change{&nftables.AddTable{TableSpec: nftables.TableSpec{Family: f, Name: table}}}
	case 2, 3:
		return []nftables.Change{g.addChain(f, table)}
	case 4:
		if g.one(2) {
			return []nftables.Change{g.addChain(f, table)}
		}
		return []nftables.Change{&nftables.DeleteChain{Family: f, Table: table, Name: pick(g, g.chain(), g.base())}}
	case 5, 6, 7:
		return g.addRule(f, table)
	case 8:
		d := &nftables.DeleteRule{Family: f, Table: table, Chain: pick(g, g.chain(), g.base())}
		if g.one(3) {
			d.Handle = uint64(g.r.IntN(40))
		} else if g.one(8) {
			d.Chain = ""
		}
		return []nftables.Change{d}
	case 9, 10:
		return []nftables.Change{&nftables.AddSet{Family: f, Table: table, Set: g.set(), Exclusive: g.one(10)}}
	case 11:
		return []nftables.Change{&nftables.DeleteSet{Family: f, Table: table, Name: g.setName()}}
	case 12, 13:
		name := g.setName()
		return []nftables.Change{&nftables.AddElements{Family: f, Table: table, Set: name, Elements: g.elements(name, true),
			Exclusive: g.one(10)}}
	case 14:
		name := g.setName()
		d := &nftables.DeleteElements{Family: f, Table: table, Set: name, Elements: g.elements(name, false)}
		if g.one(4) {
			d.Elements = nil
		}
		return []nftables.Change{d}
	}
	typ := pick(g, expr.ObjectCounter, expr.ObjectQuota, expr.ObjectLimit)
	name := pick(g, "o1", "o2")
	if g.one(3) {
		return []nftables.Change{&nftables.DeleteObject{Family: f, Table: table, Name: name, Type: typ}}
	}
	return []nftables.Change{&nftables.AddObject{Family: f, Table: table, Object: nftables.ObjectSpec{Name: name, Type: typ,
		Value: g.object(typ)}, Exclusive: g.one(8)}}
}

func (g *generator) object(typ expr.ObjectType) expr.Expr {
	switch typ {
	case expr.ObjectCounter:
		return g.counter()
	case expr.ObjectQuota:
		return &expr.Quota{Bytes: uint64(1 + g.r.IntN(4)), Over: g.one(2)}
	}
	return &expr.Limit{Rate: uint64(1 + g.r.IntN(3)), Unit: pick(g, time.Second, time.Minute), Burst: uint32(g.r.IntN(2))}
}

func (g *generator) counter() *expr.Counter {
	c := &expr.Counter{Counters: &netfilter.Counters{}}
	c.Set(uint64(g.r.IntN(3)), uint64(g.r.IntN(3)))
	return c
}

func (g *generator) base() string { return "b" + strconv.Itoa(g.r.IntN(4)) }

func (g *generator) addChain(f nftables.Family, table string) nftables.Change {
	c := &nftables.AddChain{Family: f, Table: table, Exclusive: g.one(12)}
	if g.one(2) {
		c.Chain.Name = g.chain()
		if g.one(20) {
			c.Chain.Hooking = &nftables.Hooking{Type: "filter", Hook: 1}
		}
		return c
	}
	c.Chain.Name = g.base()
	c.Chain.Hooking = bases[c.Chain.Name]
	if g.one(8) {
		h := *c.Chain.Hooking
		c.Chain.Hooking = &h
		switch g.r.IntN(4) {
		case 0:
			h.Type = pick(g, "filter", "nat", "route", "odd")
		case 1:
			h.Hook = uint32(g.r.IntN(7))
		case 2:
			h.Priority = pick[int32](g, -201, -200, -199, 0)
		case 3:
			c.Chain.Hooking = nil
		}
	}
	if g.one(2) {
		c.Chain.Policy = pick(g, new(expr.Accept), new(expr.Drop), new(expr.Accept), new(expr.Continue))
	}
	return c
}

func (g *generator) verdict() *expr.Verdict {
	switch g.r.IntN(6) {
	case 0:
		return &expr.Verdict{Code: pick(g, expr.Accept, expr.Drop, expr.Return, expr.Continue)}
	case 1:
		return &expr.Verdict{Code: expr.Goto, Chain: pick(g, g.chain(), g.chain(), g.chain(), g.base(), "absent")}
	}
	return &expr.Verdict{Code: expr.Jump, Chain: g.chain()}
}

func (g *generator) addRule(f nftables.Family, table string) []nftables.Change {
	c := &nftables.AddRule{Family: f, Table: table, Chain: pick(g, g.chain(), g.base()),
		Place: pick(g, nftables.Last, nftables.Last, nftables.First)}
	if g.one(6) {
		c.Handle = uint64(1 + g.r.IntN(40))
		c.Place = pick(g, nftables.Last, nftables.First, nftables.Instead)
	}
	var before []nftables.Change
	if g.one(3) {
		c.Exprs = append(c.Exprs, g.counter())
	}
	if g.one(5) {
		id := uint32(100 + g.r.IntN(1000))
		s := nftables.SetSpec{Name: "__set%d", ID: id, Flags: nftables.SetAnonymous | nftables.SetConstant, KeyLen: 4, Size: 3}
		elements := []nftables.ElementSpec{{Key: []byte{1, 1, 1, byte(g.r.IntN(3))}}}
		lookup := &expr.Lookup{Set: "__set%d", SetID: id, Sreg: 1}
		if g.one(2) {
			s.Name, s.Flags, s.DataType = "__map%d", s.Flags|nftables.SetMap, nftables.DataVerdict
			elements[0].Data = &expr.Data{Verdict: g.verdict()}
			lookup.Set, lookup.Map = s.Name, true
		}
		before = append(before, &nftables.AddSet{Family: f, Table: table, Set: s})
		before = append(before, &nftables.AddElements{Family: f, Table: table, Set: s.Name, SetID: id, Elements: elements})
		c.Exprs = append(c.Exprs, &expr.Immediate{Dreg: 1, Data: expr.Data{Bytes: make([]byte, 4)}}, lookup)
		return append(before, c)
	}
	for range g.r.IntN(3) {
		c.Exprs = append(c.Exprs, g.expr(f)...)
	}
	if g.one(3) {
		c.Exprs = append(c.Exprs, &expr.Immediate{Data: expr.Data{Verdict: g.verdict()}})
	}
	if len(c.Exprs) == 0 {
		c.Exprs = []expr.Expr{g.counter()}
	}
	return []nftables.Change{c}
}

func (g *generator) expr(f nftables.Family) []expr.Expr {
	key := &expr.Immediate{Dreg: 1, Data: expr.Data{Bytes: make([]byte, 16)}}
	switch g.r.IntN(12) {
	case 0:
		return []expr.Expr{key, &expr.Masq{Flags: pick[expr.NATFlags](g, 0, 4, 8), ProtoMin: pick[expr.Register](g, 0, 1)}}
	case 1:
		return []expr.Expr{key, &expr.Redir{ProtoMin: pick[expr.Register](g, 0, 0, 1), ProtoMax: 0}}
	case 2:
		return []expr.Expr{key, &expr.NAT{Source: g.one(2), Family: uint8(pick(g, nftables.IPv4, nftables.IPv4, nftables.IPv6)),
			AddrMin: pick[expr.Register](g, 1, 1, 0), ProtoMin: pick[expr.Register](g, 0, 1)}}
	case 3:
		return []expr.Expr{&expr.Reject{Kind: expr.RejectICMP, Code: 1}}
	case 4:
		return []expr.Expr{&expr.Fib{Result: pick(g, expr.FibType, expr.FibOif), Dreg: 1,
			Flags: pick(g, expr.FibSaddr, expr.FibSaddr|expr.FibIif)}}
	case 5:
		return []expr.Expr{&expr.Meta{Dreg: 1,
			Key: pick(g, expr.MetaMark, expr.MetaIif, expr.MetaBriIifname, expr.MetaSdif, expr.MetaL4proto)}}
	case 6:
		return []expr.Expr{&expr.Limit{Rate: pick[uint64](g, 5, 0, 1<<40), Unit: time.Second * pick[time.Duration](g, 1, 86400),
			Bytes: g.one(2), Burst: 5}}
	case 7:
		return []expr.Expr{&expr.Notrack{}}
	case 8:
		o := &expr.Objref{Type: pick(g, expr.ObjectCounter, expr.ObjectQuota, expr.ObjectLimit), Object: pick(g, "o1", "o2")}
		if g.one(3) {
			return []expr.Expr{key, &expr.Objref{Sreg: 1, Set: "objects"}}
		}
		return []expr.Expr{o}
	case 9:
		name := g.setName()
		d := &expr.Dynset{Op: pick(g, expr.DynsetAdd, expr.DynsetUpdate, expr.DynsetDelete), Key: 1, Set: name}
		if g.one(3) {
			d.Timeout = 100 * time.Second
		}
		if g.one(3) {
			d.Exprs = []expr.Expr{g.counter()}
		}
		if name == "datas" && g.one(2) {
			d.HasData, d.Data = true, 1
		}
		return []expr.Expr{key, d}
	}
	name := g.setName()
	return []expr.Expr{key, &expr.Lookup{Sreg: 1, Set: name, Map: name == "verdicts" || g.one(20), Invert: g.one(10)}}
}

func describe(changes []nftables.Change) string {
	text := ""
	for i, c := range changes {
		text += fmt.Sprintf("%d %T %+v\n", i, c, c)
		switch c := c.(type) {
		case *nftables.AddRule:
			text += "   " + texts(c.Exprs) + "\n"
		case *nftables.AddElements:
			for _, e := range c.Elements {
				if e.Data != nil {
					text += "   " + expr.DataText(e.Data) + "\n"
				}
			}
		case *nftables.AddChain:
			if c.Chain.Hooking != nil {
				text += fmt.Sprintf("   %+v\n", *c.Chain.Hooking)
			}
		}
	}
	return text
}

func texts(exprs []expr.Expr) string {
	var b strings.Builder
	for _, e := range exprs {
		b.WriteString(expr.Text(e))
	}
	return b.String()
}

func newKernel() *nftables.Kernel {
	var turn uint64
	return nftables.New(clock.RealClock{}, func() uint64 { turn++; return turn })
}

// zero is a counter that has counted nothing.
func (g *generator) zero() *expr.Counter { return &expr.Counter{Counters: &netfilter.Counters{}} }
