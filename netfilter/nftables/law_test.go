package nftables_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// TestTransactionsKeepTheLaws says of random transactions that a refused one leaves the state as it was, that a check changes nothing and
// says the same, that an earlier state does not change, and that what is counted is what there is.
func TestTransactionsKeepTheLaws(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{r: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
		k := newKernel()
		require.Empty(t, k.Commit(g.start()))
		for range rapid.IntRange(1, 30).Draw(t, "transactions") {
			changes := g.transaction()
			before, text := k.State(), stateOf(k)
			checked := k.Check(changes)
			require.Equal(t, withoutSizes(text), withoutSizes(stateOf(k)))
			refusals := k.Commit(changes)
			if !namesNewHandle(before, changes) {
				require.Equal(t, checked, refusals)
			}
			after := k.State()
			if len(refusals) > 0 {
				require.Equal(t, withoutSizes(text), withoutSizes(stateOf(k)))
				require.Equal(t, before.Generation, after.Generation)
			}
			for _, table := range after.Tables() {
				kept, counted := nftables.Counts(table)
				require.Equal(t, counted, kept, "%s", describe(changes))
				require.NoError(t, nftables.Whole(k, table), "%s", describe(changes))
			}
		}
	})
}

// withoutSizes is a state as if no rule had given its set a size: the kernel does not take that back.
func withoutSizes(state string) string { return strings.ReplaceAll(state, "size 65535", "size 0") }

// namesNewHandle says whether a transaction names a handle that no rule has before it: what is tried uses handles up, so that the handle
// may be that of a new rule the second time, and was not the first time.
func namesNewHandle(s *nftables.State, changes []nftables.Change) bool {
	isNew := func(family nftables.Family, name string, handle uint64) bool {
		table := s.Table(family, name)
		if handle == 0 || table == nil {
			return handle != 0
		}
		return !slices.ContainsFunc(table.Chains(), func(c *nftables.Chain) bool {
			return slices.ContainsFunc(c.Rules, func(r *nftables.Rule) bool { return r.Handle == handle })
		})
	}
	return slices.ContainsFunc(changes, func(c nftables.Change) bool {
		switch c := c.(type) {
		case *nftables.AddRule:
			return isNew(c.Family, c.Table, c.Handle)
		case *nftables.DeleteRule:
			return isNew(c.Family, c.Table, c.Handle)
		}
		return false
	})
}

func intervals(bounds []uint8) []nftables.ElementSpec {
	var elements []nftables.ElementSpec
	for i, b := range bounds {
		e := nftables.ElementSpec{Key: binary.BigEndian.AppendUint32(nil, uint32(b))}
		if i%2 == 1 {
			e.Flags = nftables.ElementIntervalEnd
		}
		elements = append(elements, e)
	}
	return elements
}

// TestFindOfIntervals compares what an interval set finds with a look at all intervals.
func TestFindOfIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SliceOfNDistinct(rapid.Uint8(), 0, 40, rapid.ID).Draw(t, "bounds")
		slices.Sort(bounds)
		k := newKernel()
		require.Empty(t, k.Commit([]nftables.Change{
			&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}},
			&nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: nftables.SetSpec{Name: "s", KeyLen: 4, Flags: nftables.SetInterval}},
			&nftables.AddElements{Family: nftables.IPv4, Table: "t", Set: "s", Elements: intervals(bounds)},
		}))
		set := k.State().Table(nftables.IPv4, "t").Set("s")
		require.Equal(t, len(bounds), set.Len())
		for n := range 256 {
			key := binary.BigEndian.AppendUint32(nil, uint32(n))
			var want []byte
			for i := 0; i < len(bounds); i += 2 {
				if n >= int(bounds[i]) && (i+1 == len(bounds) || n < int(bounds[i+1])) {
					want = binary.BigEndian.AppendUint32(nil, uint32(bounds[i]))
				}
			}
			found := set.Find(key, time.Time{})
			require.Equal(t, want != nil, found != nil, "%d in %v", n, bounds)
			require.True(t, found == nil || bytes.Equal(found.Key, want))
		}
	})
}

// TestFindOfBoxes compares what a concatenation with intervals finds with a look at all elements: the one that was added first is found,
// and deleted. Sets are asked so often that they get a tree of all, and changed again.
func TestFindOfBoxes(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		var elements []nftables.ElementSpec
		k := newKernel()
		require.Empty(t, k.Commit([]nftables.Change{
			&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}},
			&nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: nftables.SetSpec{Name: "s", KeyLen: 8, FieldLens: []uint8{2, 1},
				Flags: nftables.SetInterval | nftables.SetConcat}},
		}))
		holding := func(a, b uint8) int {
			return slices.IndexFunc(elements, func(e nftables.ElementSpec) bool {
				return a >= e.Key[1] && a <= e.KeyEnd[1] && b >= e.Key[4] && b <= e.KeyEnd[4]
			})
		}
		part, more := rapid.Uint8Range(0, 24), rapid.Uint8Range(0, 12)
		for range rapid.IntRange(0, 5).Draw(t, "times") {
			for range rapid.IntRange(0, 60).Draw(t, "elements") {
				a, b := part.Draw(t, "a"), part.Draw(t, "b")
				one := []nftables.ElementSpec{{Key: []byte{0, a, 0, 0, b, 0, 0, 0},
					KeyEnd: []byte{0, a + more.Draw(t, "more of a")/4, 0, 0, b + more.Draw(t, "more of b")/8, 0, 0, 0}}}
				i := holding(a, b)
				if i >= 0 && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					require.Empty(t, k.Commit([]nftables.Change{&nftables.DeleteElements{Family: nftables.IPv4, Table: "t", Set: "s", Elements: one}}))
					elements = slices.Delete(elements, i, i+1)
					continue
				}
				add := &nftables.AddElements{Family: nftables.IPv4, Table: "t", Set: "s", Elements: one}
				if len(k.Commit([]nftables.Change{add})) == 0 && i < 0 {
					elements = append(elements, one[0])
				}
			}
			set := k.State().Table(nftables.IPv4, "t").Set("s")
			require.Equal(t, len(elements), set.Len())
			for a := range uint8(28) {
				for b := range uint8(26) {
					i, found := holding(a, b), set.Find([]byte{0, a, 0, 0, b, 0, 0, 0}, time.Time{})
					require.Equal(t, i >= 0, found != nil)
					require.True(t, found == nil || bytes.Equal(found.Key, elements[i].Key))
				}
			}
		}
	})
}

// TestOverlays says what packets add to a set, and who sees it.
func TestOverlays(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	k := nftables.New(clock, func() uint64 { return 1 })
	require.Empty(t, k.Commit([]nftables.Change{
		&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}},
		&nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: nftables.SetSpec{Name: "s", KeyLen: 1, Size: 2, Timeout: 10 * time.Second,
			Flags: nftables.SetEval | nftables.SetTimeout}},
	}))
	state := k.State()
	table := state.Table(nftables.IPv4, "t")
	set := table.Set("s")
	one, two, three := []byte{1}, []byte{2}, []byte{3}
	o := k.Overlay()
	put := func(key []byte, refresh bool) *nftables.Element {
		return o.Put(table, set, nftables.DynsetElement{Key: key, Exprs: []expr.Expr{&expr.Limit{Rate: 1, Unit: time.Second}}}, refresh)
	}
	first := put(one, false)
	require.NotNil(t, first)
	assert.NotSame(t, first.Exprs[0], put(two, true).Exprs[0])
	assert.Nil(t, put(three, true), "the set is full")
	assert.Zero(t, set.Len())
	assert.Nil(t, k.Overlay().Find(set, one))

	clock.SetTime(time.Unix(1005, 0))
	upper := o.Overlay()
	again := upper.Put(table, set, nftables.DynsetElement{Key: one}, true)
	assert.Equal(t, time.Unix(1015, 0), again.Deadline)
	assert.Same(t, first.Exprs[0], again.Exprs[0])
	assert.Equal(t, time.Unix(1010, 0), o.Find(set, one).Deadline)
	upper.Delete(table, set, two)
	assert.Nil(t, upper.Find(set, two))
	assert.NotNil(t, o.Find(set, two))
	assert.Equal(t, 1, upper.Len(set))
	upper.Commit()
	assert.Nil(t, o.Find(set, two))
	o.Commit()
	assert.Same(t, state, k.State())
	assert.Equal(t, 1, set.Len())
	assert.Equal(t, time.Unix(1015, 0), set.Find(one, clock.Now()).Deadline)

	clock.SetTime(time.Unix(1015, 0))
	assert.Nil(t, k.Overlay().Find(set, one))
	assert.Empty(t, set.Elements(clock.Now()))
	require.NotNil(t, put(two, false))
	require.NotNil(t, put(three, false), "what has expired makes room")

	frozen, thaw := k.Freeze()
	assert.Nil(t, frozen.Find(set, two))
	thaw()
	o.Commit()
	assert.Equal(t, 2, set.Len())
	require.Empty(t, k.Commit([]nftables.Change{&nftables.DeleteElements{Family: nftables.IPv4, Table: "t", Set: "s",
		Elements: []nftables.ElementSpec{{Key: two}}}}))
	assert.Equal(t, 1, k.State().Table(nftables.IPv4, "t").Set("s").Len())
	assert.Equal(t, 2, set.Len(), "the earlier state")
	now := k.State().Table(nftables.IPv4, "t").Set("s")
	o.Put(table, now, nftables.DynsetElement{Key: one}, false)
	require.Empty(t, k.Commit([]nftables.Change{&nftables.AddElements{Family: nftables.IPv4, Table: "t", Set: "s",
		Elements: []nftables.ElementSpec{{Key: three}}}, &nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: nftables.SetSpec{Name: "s",
		KeyLen: 1, Size: 5, Timeout: time.Minute, Flags: nftables.SetEval | nftables.SetTimeout}}}))
	o.Commit()
	assert.Equal(t, 2, k.State().Table(nftables.IPv4, "t").Set("s").Len(), "packets that hold an earlier state write into the present one")
}

// TestHandlesAreNeverGivenAgain says that refused transactions use handles up.
func TestHandlesAreNeverGivenAgain(t *testing.T) {
	k := newKernel()
	table := &nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}}
	chain := &nftables.AddChain{Family: nftables.IPv4, Table: "t", Chain: nftables.ChainSpec{Name: "c"}}
	rule := &nftables.AddRule{Family: nftables.IPv4, Table: "t", Chain: "c", Exprs: []expr.Expr{&expr.Notrack{}}}
	require.Empty(t, k.Commit([]nftables.Change{table, chain}))
	require.Empty(t, k.Check([]nftables.Change{rule}))
	require.Empty(t, k.Commit([]nftables.Change{rule}))
	assert.Equal(t, uint64(3), k.State().Table(nftables.IPv4, "t").Chain("c").Rules[0].Handle)
	missing := []nftables.Change{&nftables.AddRule{Family: nftables.IPv4, Table: "t", Chain: "d"}}
	assert.Equal(t, []nftables.Refusal{{Errno: syscall.ENOENT, Part: nftables.PartChain}}, k.Commit(missing))
}

// TestAReplacedRuleIsReadBack: a rule in the place of another one has the handle of that, and may lead to a chain that is younger.
func TestAReplacedRuleIsReadBack(t *testing.T) {
	k := nftables.New(testclock.NewFakePassiveClock(time.Unix(1e9, 0)), func() uint64 { return 1 })
	chain := func(name string) nftables.Change {
		return &nftables.AddChain{Family: nftables.IPv4, Table: "t", Chain: nftables.ChainSpec{Name: name}}
	}
	jump := &expr.Immediate{Data: expr.Data{Verdict: &expr.Verdict{Code: expr.Jump, Chain: "b"}}}
	require.Empty(t, k.Commit([]nftables.Change{
		&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}}, chain("a"),
		&nftables.AddRule{Family: nftables.IPv4, Table: "t", Chain: "a", Exprs: []expr.Expr{&expr.Counter{}}}, chain("b"),
	}))
	require.Empty(t, k.Commit([]nftables.Change{&nftables.AddRule{
		Family: nftables.IPv4, Table: "t", Chain: "a", Place: nftables.Instead, Handle: 2, Exprs: []expr.Expr{jump},
	}}))
	again := nftables.New(k.Clock(), func() uint64 { return 1 })
	_, err := again.ReadState(k.AppendState(nil))
	require.NoError(t, err)
	assert.Equal(t, k.AppendState(nil), again.AppendState(nil))
}
