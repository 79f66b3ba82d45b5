package knft_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
	"sigs.k8s.io/knftables"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/knft"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// Names of drawn objects. They are few, so that objects meet.
var (
	chains = []string{"a", "b", "base"}
	sets   = []string{"plain", "ranges", "pairs"}
	maps   = []string{"verdicts", "ports"}
)

var (
	setTypes = map[string]string{"plain": "ipv4_addr", "ranges": "ipv4_addr", "pairs": "ipv4_addr . inet_service"}
	mapTypes = map[string]string{"verdicts": "ipv4_addr : verdict", "ports": "inet_service : ipv4_addr . inet_service"}
	rules    = []string{
		"accept", "counter drop", "jump a", "goto b", "ip saddr @plain", "ip daddr @ranges drop", "ip saddr . tcp dport @pairs counter",
		"ip daddr vmap @verdicts", "counter name c1", "tcp dport { 80, 443 }", "ip saddr @nothing", "tcp dport", "dnat to tcp dport map @ports",
		"ct state vmap { established : accept, invalid : drop }", "meta mark set 0x4000", "reject",
	}
)

func one[T any](t *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(t, label) }

func drawnComment(t *rapid.T) *string { return one(t, "comment", nil, nil, ptr("x"), ptr("two words")) }

func drawnChain(t *rapid.T) *knftables.Chain {
	c := &knftables.Chain{Name: one(t, "chain", chains...), Comment: drawnComment(t)}
	if c.Name == "base" {
		c.Type, c.Hook, c.Priority = ptr(knftables.FilterType), ptr(knftables.ForwardHook), ptr(knftables.FilterPriority)
		c.Policy = one(t, "policy", nil, ptr(knftables.DropPolicy))
	}
	return c
}

func drawnSet(t *rapid.T) *knftables.Set {
	s := &knftables.Set{Name: one(t, "set", sets...), Comment: drawnComment(t)}
	s.Type = setTypes[s.Name]
	switch s.Name {
	case "ranges":
		s.Flags = []knftables.SetFlag{knftables.IntervalFlag}
		s.AutoMerge = one(t, "auto-merge", nil, ptr(true))
	case "plain":
		s.Timeout, s.Size = one(t, "timeout", nil, ptr(time.Hour)), one(t, "size", nil, ptr(uint64(3)))
	}
	return s
}

func drawnMap(t *rapid.T) *knftables.Map {
	m := &knftables.Map{Name: one(t, "map", maps...), Comment: drawnComment(t)}
	m.Type = mapTypes[m.Name]
	return m
}

func drawnElement(t *rapid.T) *knftables.Element {
	e := &knftables.Element{Comment: drawnComment(t)}
	address := fmt.Sprintf("10.0.0.%d", rapid.IntRange(0, 4).Draw(t, "address"))
	switch name := one(t, "of", append(sets, maps...)...); name {
	case "plain":
		e.Set, e.Key = name, []string{address}
	case "ranges":
		e.Set, e.Key = name, []string{one(t, "range", address, "10.0.0.0/30", "10.0.0.2-10.0.0.6", "10.0.1.0/24", "10.0.0.4/31")}
	case "pairs":
		e.Set, e.Key = name, []string{address, one(t, "port", "80", "https")}
	case "verdicts":
		e.Map, e.Key, e.Value = name, []string{address}, []string{one(t, "verdict", "drop", "accept", "goto a", "jump b", "goto nowhere")}
	case "ports":
		e.Map, e.Key, e.Value = name, []string{one(t, "port", "80", "81")}, []string{address, "8080"}
	}
	return e
}

// draw adds an operation to a transaction; its last argument is how many rules there may be handles of.
func draw(t *rapid.T, tx *knftables.Transaction, handles int) {
	rule := &knftables.Rule{Chain: one(t, "of chain", chains...), Rule: one(t, "rule", rules...), Comment: drawnComment(t)}
	object := one[func() knftables.Object](t, "object",
		func() knftables.Object { return drawnChain(t) }, func() knftables.Object { return drawnSet(t) },
		func() knftables.Object { return drawnMap(t) }, func() knftables.Object { return drawnElement(t) },
		func() knftables.Object { return drawnElement(t) }, func() knftables.Object {
			return &knftables.Counter{Name: one(t, "counter", "c1", "c2"), Comment: drawnComment(t)}
		})
	switch one(t, "verb", "add", "add", "add", "add", "create", "delete", "flush", "rule", "rule", "rule", "insert", "handle", "reset",
		"table") {
	case "add":
		tx.Add(object())
	case "create":
		tx.Create(object())
	case "delete":
		tx.Delete(object())
	case "flush":
		tx.Flush(one[knftables.Object](t, "flushed", drawnChain(t), drawnSet(t), drawnMap(t), &knftables.Table{}))
	case "rule":
		tx.Add(rule)
	case "insert":
		rule.Index = one(t, "index", nil, ptr(0), ptr(1))
		tx.Insert(rule)
	case "handle":
		rule.Handle = ptr(rapid.IntRange(1, handles).Draw(t, "handle"))
		if rapid.Bool().Draw(t, "replace") {
			tx.Replace(rule)
		} else {
			tx.Delete(rule)
		}
	case "reset":
		tx.Reset(&knftables.Counter{Name: "c1"})
	case "table":
		if one(t, "gone", false, false, false, true) {
			tx.Delete(&knftables.Table{})
		}
		tx.Add(&knftables.Table{})
	}
}

// given is a transaction that either may run: it is of the same family and table.
func given(tx *knftables.Transaction) asked {
	return asked{tx.String(), func(ctx context.Context, nft knftables.Interface) (any, error) { return nil, nft.Run(ctx, tx) }}
}

// TestDrawnTransactionsAsOnKernel runs drawn transactions by the library on the real nft and by knft: both refuse the same ones with the
// same words, and list the same after each. -rapid.checks and -rapid.seed say how many and which.
func TestDrawnTransactionsAsOnKernel(t *testing.T) {
	ns := kerneltest.Enter(t, "nft")
	names := everything(chains, sets, maps)
	sample.Checks(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		ns.Must("nft flush ruleset")
		theirs, err := knftables.New(knftables.IPv4Family, "demo")
		require.NoError(t, err)
		ours, err := knft.New(fakenft.New(fakenft.Options{}).Exec(), knftables.IPv4Family, "demo")
		require.NoError(t, err)
		p := pair{theirs, ours}
		p.same(t, run("the table", func(tx *knftables.Transaction) {
			tx.Add(&knftables.Table{})
			for _, name := range []string{"a", "b"} {
				tx.Add(&knftables.Chain{Name: name})
			}
		}))
		for i := range rapid.IntRange(1, 6).Draw(t, "transactions") {
			tx := theirs.NewTransaction()
			for range rapid.IntRange(1, 5).Draw(t, "operations") {
				draw(t, tx, 4+3*i)
			}
			if !p.same(t, given(tx)) {
				t.FailNow()
			}
		}
		for _, a := range names {
			if !p.same(t, a) {
				t.FailNow()
			}
		}
	})
}
