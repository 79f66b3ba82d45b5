package nftables_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// TestFindUnknown says of sets of each kind that all keys that agree in the known bits meet what FindUnknown says, and that it says
// nothing only if they do not meet the same, or if an element of a concatenation is in the way.
func TestFindUnknown(t *testing.T) {
	kinds := map[string]nftables.SetSpec{
		"hash":      {KeyLen: 4},
		"intervals": {KeyLen: 4, Flags: nftables.SetInterval},
		"boxes":     {KeyLen: 8, FieldLens: []uint8{1, 2}, Flags: nftables.SetInterval | nftables.SetConcat},
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"hash", "intervals", "boxes"}).Draw(t, "kind")
		spec := kinds[kind]
		spec.Name = "s"
		k := newKernel()
		require.Empty(t, k.Commit([]nftables.Change{
			&nftables.AddTable{TableSpec: nftables.TableSpec{Family: nftables.IPv4, Name: "t"}},
			&nftables.AddSet{Family: nftables.IPv4, Table: "t", Set: spec},
		}))
		key := func(n uint8) []byte { return append(make([]byte, spec.KeyLen-1), n)[:spec.KeyLen] }
		if kind == "boxes" {
			key = func(n uint8) []byte { return []byte{n >> 5, 0, 0, 0, 0, n & 0x1f, 0, 0} }
		}
		for range rapid.IntRange(0, 12).Draw(t, "elements") {
			n := rapid.Uint8().Draw(t, "key")
			elements := []nftables.ElementSpec{{Key: key(n)}}
			switch kind {
			case "intervals":
				elements = append(elements, nftables.ElementSpec{Key: key(n + 1 + n%9), Flags: nftables.ElementIntervalEnd})
			case "boxes":
				elements[0].KeyEnd = key(n | 3)
			}
			k.Commit([]nftables.Change{&nftables.AddElements{Family: nftables.IPv4, Table: "t", Set: "s", Elements: elements}})
		}
		if rapid.Bool().Draw(t, "catch-all") {
			k.Commit([]nftables.Change{&nftables.AddElements{Family: nftables.IPv4, Table: "t", Set: "s",
				Elements: []nftables.ElementSpec{{Flags: nftables.ElementCatchall}}}})
		}
		set := k.State().Table(nftables.IPv4, "t").Set("s")
		value, unknown := rapid.Uint8().Draw(t, "value"), rapid.Uint8().Draw(t, "unknown")
		found, ok := set.FindUnknown(key(value), key(unknown))
		met := map[*nftables.Element]bool{}
		for n := range 256 {
			if (uint8(n)^value)&^unknown == 0 {
				met[set.Find(key(uint8(n)), time.Time{})] = true
			}
		}
		if ok {
			require.Equal(t, map[*nftables.Element]bool{found: true}, met)
		} else if len(met) == 1 && kind == "hash" && unknown != 0 {
			t.Fatalf("all keys like %x but for %x meet %v", value, unknown, met)
		}
	})
}
