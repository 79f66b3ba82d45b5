//go:build linux

package nftables_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// transactions is how many random ones the kernels are compared with; CHAINWALK_NFT_TRANSACTIONS says another number.
const transactions = 400

// TestKernelTakesTheSameTransactions gives both kernels random transactions and compares refusals and what is there then.
func TestKernelTakesTheSameTransactions(t *testing.T) {
	g := &generator{}
	compareKernels(t, g, g.start, g.transaction)
}

// TestKernelHasTheSameIntervals is about sets with intervals alone, in which much overlaps.
func TestKernelHasTheSameIntervals(t *testing.T) {
	g := &generator{}
	names := []string{"ranges", "timedranges", "boxes"}
	compareKernels(t, g, func() []nftables.Change {
		changes := []nftables.Change{&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}}}
		for _, name := range names {
			changes = append(changes, &nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: g.setNamed(name)})
		}
		return changes
	}, func() []nftables.Change {
		var changes []nftables.Change
		for range 1 + g.r.IntN(2) {
			name := names[g.r.IntN(len(names))]
			switch {
			case g.one(3):
				changes = append(changes, &nftables.DeleteElements{Family: nftables.IPv4, Table: "t", Set: name, Elements: g.element(name, false)})
			default:
				elements := g.element(name, true)
				if g.one(3) {
					elements = append(elements, g.element(name, true)...)
				}
				changes = append(changes, &nftables.AddElements{Family: nftables.IPv4, Table: "t", Set: name, Elements: elements,
					Exclusive: g.one(6)})
			}
		}
		return changes
	})
}

func compareKernels(t *testing.T, g *generator, start, next func() []nftables.Change) {
	kerneltest.Need(t)
	count, seed := transactions, uint64(1)
	if s := os.Getenv("CHAINWALK_NFT_TRANSACTIONS"); s != "" {
		count, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("CHAINWALK_NFT_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	g.r = rand.New(rand.NewPCG(seed, 0))
	refused, taken, differences := 0, 0, 0
	errnos := map[string]int{}
	var o *oracle
	var k *nftables.Kernel
	before := ""
	for n := 0; n < count && differences < 5; n++ {
		if n%100 == 0 {
			o, k = newOracle(t), newKernel()
			changes := start()
			assert.Equal(t, o.commit(t, changes), k.Commit(changes))
			before = stateOf(k)
		}
		changes := next()
		real, ours := o.commit(t, changes), k.Commit(changes)
		text := describe(changes)
		if !slices.Equal(real, ours) {
			t.Errorf("transaction %d: the kernel says %v, ours %v:\n%sbefore:\n%s", n, real, ours, text, before)
			differences++
		}
		if len(real) == 0 {
			taken++
		} else {
			refused++
			for _, r := range real {
				errnos[fmt.Sprint(r.Errno, " ", r.Part)]++
			}
		}
		realState, ourState := o.state(t), stateOf(k)
		if realState != ourState {
			t.Errorf("after transaction %d:\n%s%sbefore:\n%s", n, text, differing(realState, ourState), before)
			differences++
			n += 100 - n%100 - 1
		}
		before = ourState
	}
	t.Log(taken, "taken", refused, "refused", errnos)
}

// differing are the lines that only one of two texts has.
func differing(real, ours string) string {
	var b strings.Builder
	realLines, ourLines := strings.Split(real, "\n"), strings.Split(ours, "\n")
	for _, l := range realLines {
		if !slices.Contains(ourLines, l) {
			b.WriteString("  kernel: " + l + "\n")
		}
	}
	for _, l := range ourLines {
		if !slices.Contains(realLines, l) {
			b.WriteString("  ours:   " + l + "\n")
		}
	}
	return b.String()
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
			changes = append(changes, &nftables.AddChain{Family: table.Family, Table: table.Name, Chain: nftables.ChainSpec{Name: name, Hooking: h}})
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
		return []nftables.Change{&nftables.AddElements{Family: f, Table: table, Set: name, Elements: g.elements(name, true), Exclusive: g.one(10)}}
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
	c := &nftables.AddRule{Family: f, Table: table, Chain: pick(g, g.chain(), g.base()), Place: pick(g, nftables.Last, nftables.Last, nftables.First)}
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
		return []expr.Expr{key, &expr.NAT{Source: g.one(2), Family: uint8(pick(g, nftables.IPv4, nftables.IPv4, nftables.IPv6)), AddrMin: pick[expr.Register](g, 1, 1, 0),
			ProtoMin: pick[expr.Register](g, 0, 1)}}
	case 3:
		return []expr.Expr{&expr.Reject{Kind: expr.RejectICMP, Code: 1}}
	case 4:
		return []expr.Expr{&expr.Fib{Result: pick(g, expr.FibType, expr.FibOif), Flags: pick(g, expr.FibSaddr, expr.FibSaddr|expr.FibIif), Dreg: 1}}
	case 5:
		return []expr.Expr{&expr.Meta{Key: pick(g, expr.MetaMark, expr.MetaIif, expr.MetaBriIifname, expr.MetaSdif, expr.MetaL4proto), Dreg: 1}}
	case 6:
		return []expr.Expr{&expr.Limit{Rate: pick[uint64](g, 5, 0, 1<<40), Unit: time.Second * pick[time.Duration](g, 1, 86400), Bytes: g.one(2), Burst: 5}}
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

var setNames = []string{"plain", "sized", "verdicts", "ranges", "boxes", "timed", "dynamic", "objects", "counted", "datas", "short", "timedranges"}

func (g *generator) setName() string {
	if g.one(60) {
		return "absent"
	}
	return setNames[g.r.IntN(len(setNames))]
}

func (g *generator) set() nftables.SetSpec {
	s := g.setNamed(setNames[g.r.IntN(len(setNames))])
	if g.one(15) {
		s.Flags ^= 1 << g.r.IntN(9)
	}
	return s
}

func (g *generator) setNamed(name string) nftables.SetSpec {
	s := nftables.SetSpec{Name: name, ID: uint32(1 + g.r.IntN(50)), KeyLen: 4, KeyType: 7}
	switch s.Name {
	case "sized":
		s.Size = 2
	case "verdicts":
		s.Flags, s.DataType = nftables.SetMap, nftables.DataVerdict
	case "ranges":
		s.Flags, s.Size = nftables.SetInterval, pick[uint32](g, 0, 2)
	case "boxes":
		s.Flags, s.KeyLen, s.FieldLens = nftables.SetInterval|nftables.SetConcat, 8, []uint8{4, 2}
	case "timed":
		s.Flags, s.Timeout = nftables.SetTimeout, pick[time.Duration](g, 0, time.Hour, 1000*time.Second)
	case "dynamic":
		s.Flags, s.Timeout, s.Size = nftables.SetEval|nftables.SetTimeout, time.Hour, pick[uint32](g, 0, 3)
	case "objects":
		s.Flags, s.ObjectType = nftables.SetObject, expr.ObjectCounter
	case "counted":
		s.Exprs = []expr.Expr{g.counter()}
		s.Flags = pick(g, nftables.SetFlags(0), nftables.SetExpr)
	case "datas":
		s.Flags, s.DataType, s.DataLen = nftables.SetMap, 7, 4
	case "short":
		s.KeyLen = 2
	case "timedranges":
		s.Flags, s.Timeout = nftables.SetInterval|nftables.SetTimeout, time.Hour
	}
	return s
}

func (g *generator) elements(name string, add bool) []nftables.ElementSpec {
	elements := []nftables.ElementSpec{}
	for range 1 + g.r.IntN(3) {
		elements = append(elements, g.element(name, add)...)
	}
	return elements
}

func (g *generator) element(name string, add bool) []nftables.ElementSpec {
	e := nftables.ElementSpec{Key: []byte{10, 0, 0, byte(g.r.IntN(4))}}
	if name != "ranges" && name != "timedranges" && g.one(12) {
		e.Key, e.Flags = nil, nftables.ElementCatchall
	}
	switch name {
	case "verdicts":
		if add {
			e.Data = &expr.Data{Verdict: g.verdict()}
		}
	case "datas":
		if add {
			e.Data = &expr.Data{Bytes: []byte{1, 1, 1, byte(g.r.IntN(2))}}
		}
	case "objects":
		if add {
			e.Object = pick(g, "o1", "o2")
		}
	case "short":
		if e.Key != nil {
			e.Key = e.Key[2:]
		}
	case "timed", "dynamic":
		g.time(&e, add)
	case "boxes":
		if e.Flags == 0 {
			e.Key = []byte{10, 0, 0, byte(g.r.IntN(4)), 0, byte(g.r.IntN(6)), 0, 0}
			e.KeyEnd = []byte{10, 0, 0, byte(g.r.IntN(4)), 0, byte(g.r.IntN(6)), 0, 0}
			if g.one(2) {
				e.KeyEnd = e.Key
			}
		}
	case "ranges", "timedranges":
		from := byte(g.r.IntN(20))
		end := nftables.ElementSpec{Key: []byte{10, 0, 0, from + 1 + byte(g.r.IntN(4))}, Flags: nftables.ElementIntervalEnd}
		e.Key[3] = from
		if name == "timedranges" {
			g.time(&e, add)
		}
		// The kernel overlooks an end above a beginning that was deleted alone in the same transaction.
		if add && g.one(10) {
			return []nftables.ElementSpec{e}
		}
		return []nftables.ElementSpec{e, end}
	}
	if g.one(20) && add {
		e.Exprs = []expr.Expr{g.counter()}
	}
	if g.one(20) && add {
		e.UserData = []byte{0, 2, 'x', 0}
	}
	return []nftables.ElementSpec{e}
}

func (g *generator) time(e *nftables.ElementSpec, add bool) {
	if add && g.one(2) {
		e.HasTimeout, e.Timeout = true, pick(g, 500*time.Second, 2000*time.Second, 0)
		if g.one(3) {
			e.Expires = pick(g, 100*time.Second, 3000*time.Second)
		}
	}
}
