//go:build linux

package nftables_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

const ip = nftables.IPv4

func addChain(name string) *nftables.AddChain {
	return &nftables.AddChain{Family: ip, Table: "t", Chain: nftables.ChainSpec{Name: name}}
}

func addBase(name, typ string, hook uint32) *nftables.AddChain {
	c := addChain(name)
	c.Chain.Hooking = &nftables.Hooking{Type: typ, Hook: hook}
	return c
}

func addVerdict(chain string, v expr.Verdict) *nftables.AddRule {
	return &nftables.AddRule{Family: ip, Table: "t", Chain: chain, Exprs: []expr.Expr{&expr.Immediate{Data: expr.Data{Verdict: &v}}}}
}

func jump(from, to string) *nftables.AddRule {
	return addVerdict(from, expr.Verdict{Code: expr.Jump, Chain: to})
}

func addSet(name string, flags nftables.SetFlags) *nftables.AddSet {
	s := &nftables.AddSet{Family: ip, Table: "t", Set: nftables.SetSpec{Name: name, ID: 1, Flags: flags, KeyLen: 4}}
	if flags&nftables.SetMap != 0 {
		s.Set.DataType = nftables.DataVerdict
	}
	return s
}

func addElements(set string, elements ...nftables.ElementSpec) *nftables.AddElements {
	return &nftables.AddElements{Family: ip, Table: "t", Set: set, Elements: elements}
}

// deep is a line of chains, each of which jumps to the next one.
func deep(names string) []nftables.Change {
	var changes []nftables.Change
	for i, name := range names {
		changes = append(changes, addChain(string(name)))
		if i > 0 {
			changes = append(changes, jump(names[i-1:i], string(name)))
		}
	}
	return changes
}

// TestKernelKnownTransactions gives both kernels transactions one after the other. Each line is one.
func TestKernelKnownTransactions(t *testing.T) {
	kerneltest.Need(t)
	long := strings.Repeat("n", 256)
	one := nftables.ElementSpec{Key: []byte{1, 1, 1, 1}}
	drop := expr.Drop
	table := &nftables.AddTable{TableSpec: nftables.TableSpec{Family: ip, Name: "t"}}
	bound := addChain("")
	bound.Chain.ID, bound.Chain.Flags = 7, nftables.ChainBinding
	inner := &nftables.AddRule{Family: ip, Table: "t", ChainID: 7, Exprs: []expr.Expr{&expr.Notrack{}}}
	plainPolicy, basePolicy := addChain("a"), addBase("b", "filter", 1)
	plainPolicy.Chain.Policy, basePolicy.Chain.Policy = &drop, &drop
	renamed := addChain("z")
	renamed.Handle = 2
	leads := func(last byte, v expr.Verdict) *nftables.AddElements {
		return addElements("m", nftables.ElementSpec{Key: []byte{1, 1, 1, last}, Data: &expr.Data{Verdict: &v}})
	}
	toMap := leads(1, expr.Verdict{Code: expr.Goto, Chain: "b"})
	loop := leads(2, expr.Verdict{Code: expr.Jump, Chain: "a"})
	twice := &nftables.DeleteElements{Family: ip, Table: "t", Set: "s", Elements: []nftables.ElementSpec{one, one}}
	lookup := &nftables.AddRule{Family: ip, Table: "t", Chain: "a", Exprs: []expr.Expr{
		&expr.Immediate{Dreg: 1, Data: expr.Data{Bytes: make([]byte, 4)}}, &expr.Lookup{Sreg: 1, Set: "m", Map: true}}}
	timed := addSet("timed", nftables.SetTimeout)
	expires := nftables.ElementSpec{Key: []byte{1, 1, 1, 1}, HasTimeout: true, Timeout: time.Second, Expires: time.Minute}
	boxes := addSet("boxes", nftables.SetConcat|nftables.SetInterval)
	boxes.Set.KeyLen, boxes.Set.FieldLens = 8, []uint8{4, 4}
	single := nftables.ElementSpec{Key: []byte{1, 1, 1, 1, 0, 0, 0, 5}}
	span := nftables.ElementSpec{Key: []byte{1, 1, 1, 0, 0, 0, 0, 5}, KeyEnd: []byte{1, 1, 1, 1, 0, 0, 0, 5}}
	after := nftables.ElementSpec{Key: []byte{1, 1, 1, 2, 0, 0, 0, 5}, KeyEnd: []byte{1, 1, 1, 9, 0, 0, 0, 5}}
	removeAll := []nftables.Change{&nftables.DeleteTable{Family: ip, Name: "t"}, table}
	for _, part := range [][][]nftables.Change{
		{{&nftables.AddTable{TableSpec: nftables.TableSpec{Family: ip, Name: long}}}, {table}, {addChain(long)}, {addSet(long, 0)},
			{&nftables.AddChain{Family: ip, Table: long, Chain: nftables.ChainSpec{Name: "a"}}}, {&nftables.AddObject{Family: ip, Table: "t",
				Object: nftables.ObjectSpec{Name: long, Type: expr.ObjectCounter, Value: (&generator{}).zero()}}}},
		{{addChain("a"), addBase("b", "filter", 1)}, {plainPolicy}, {basePolicy}, {addBase("a", "filter", 1)}, {addBase("b", "nat", 1)},
			{addBase("b", "odd", 1)}, {addBase("b", "filter", 2)}, {addBase("c", "route", 1)}, {addBase("c", "filter", 7)},
			{renamed}, {addChain("a")},
			{renamed}, {&nftables.DeleteChain{Family: ip, Table: "t", Handle: 2}}, {&nftables.DeleteChain{Family: ip, Table: "t", Handle: 2}}},
		{{bound, inner, addVerdict("b", expr.Verdict{Code: expr.Jump, ChainID: 7})}, {bound}, {bound, inner},
			{bound, inner, addVerdict("b", expr.Verdict{Code: expr.Jump, ChainID: 8})},
			{bound, addVerdict("b", expr.Verdict{Code: expr.Goto, ChainID: 7}), inner},
			{&nftables.DeleteRule{Family: ip, Table: "t", Chain: "b"}}},
		{{addSet("m", nftables.SetMap), addChain("a")}, {toMap}, {lookup, jump("b", "a")}, {loop}, {jump("a", "a")},
			{&nftables.DeleteChain{Family: ip, Table: "t", Name: "a"}}, {&nftables.DeleteSet{Family: ip, Table: "t", Name: "m"}}, {loop, loop}},
		{removeAll, append(deep("abcdefghijklmnop"), addBase("0", "filter", 1)), {jump("0", "a")}, {jump("0", "b")},
			{&nftables.DeleteRule{Family: ip, Table: "t", Chain: "0"}, jump("p", "a")}, {jump("0", "c"), addChain("q"), jump("q", "a")},
			{&nftables.DeleteRule{Family: ip, Table: "t", Chain: "p"}, jump("0", "c")}},
		{removeAll, {timed, addElements("timed", expires)}, {timed, addElements("timed", nftables.ElementSpec{Key: []byte{1}})},
			{addSet("s", 0), addElements("s", one, one, nftables.ElementSpec{Key: []byte{1, 1, 1, 1}, KeyEnd: []byte{1, 1, 1, 1}})},
			{addSet("s", 0), addElements("s", one), twice}},
		{{boxes, addElements("boxes", single)}, {addElements("boxes", single)}, {addElements("boxes", span)}, {addElements("boxes", after)},
			{&nftables.DeleteElements{Family: ip, Table: "t", Set: "boxes", Elements: []nftables.ElementSpec{single, after}}}},
		{{&nftables.DeleteTable{Family: ip}}, {&nftables.DeleteTable{Family: ip, Name: "t"}}, {&nftables.DeleteTable{}}},
	} {
		o, k := newOracle(t), newKernel()
		first := []nftables.Change{table, addBase("b", "filter", 1)}
		assert.Equal(t, o.commit(t, first), k.Commit(first))
		for _, changes := range part {
			assert.Equal(t, o.commit(t, changes), k.Commit(changes), "%s", describe(changes))
			if real, ours := o.state(t), stateOf(k); real != ours {
				t.Errorf("%s%s", describe(changes), differing(real, ours))
			}
		}
	}
}
