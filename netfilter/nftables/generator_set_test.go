package nftables_test

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var setNames = []string{"plain", "sized", "verdicts", "ranges", "boxes", "timed", "dynamic", "objects", "counted", "datas", "short",
	"timedranges"}

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
