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

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
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
				changes = append(changes, &nftables.DeleteElements{Family: nftables.IPv4, Table: "t", Set: name,
					Elements: g.element(name, false)})
				return changes // see generator.element
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

// TestKernelTakesTheSameSets is about all flags that sets can have.
func TestKernelTakesTheSameSets(t *testing.T) {
	kerneltest.Need(t)
	o, k := newOracle(t), newKernel()
	table := []nftables.Change{&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}}}
	assert.Equal(t, o.commit(t, table), k.Commit(table))
	for flags := nftables.SetFlags(0); flags < 512; flags++ {
		s := nftables.SetSpec{Name: fmt.Sprint("s", flags), ID: 1, Flags: flags, KeyLen: 8, KeyType: 7}
		if flags&nftables.SetMap != 0 {
			s.DataType, s.DataLen = 7, 4
		}
		if flags&nftables.SetObject != 0 {
			s.ObjectType = expr.ObjectCounter
		}
		if flags&nftables.SetConcat != 0 {
			s.FieldLens = []uint8{4, 4}
		}
		changes := []nftables.Change{&nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: s}}
		assert.Equal(t, o.commit(t, changes), k.Commit(changes), "flags %b", flags)
	}
	assert.Equal(t, o.state(t), stateOf(k))
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
