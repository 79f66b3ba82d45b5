package nftables

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDiffering compares sets of all structures by their elements.
func TestDiffering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := structure(rapid.IntRange(0, 2).Draw(t, "structure"))
		spec := SetSpec{KeyLen: 4, FieldLens: []uint8{4}}
		switch of {
		case ordering:
			spec.Flags = SetInterval
		case boxing:
			spec.Flags, spec.FieldLens, spec.KeyLen = SetInterval|SetConcat, []uint8{4, 4}, 8
		}
		pool := map[string]*Element{}
		element := func() *Element {
			key := make([]byte, spec.KeyLen)
			key[0] = byte(rapid.IntRange(0, 9).Draw(t, "key"))
			e := &Element{ElementSpec: ElementSpec{Key: key}}
			if known := pool[string(key)]; known != nil && rapid.Bool().Draw(t, "same") {
				return known
			}
			pool[string(key)] = e
			return e
		}
		made := func() (*Set, map[string]*Element) {
			m, all := newMembers(of), map[string]*Element{}
			for range rapid.IntRange(0, 6).Draw(t, "elements") {
				if e := element(); all[string(e.Key)] == nil {
					m.put(&spec, e, nil)
					all[string(e.Key)] = e
				}
			}
			s := &Set{SetSpec: spec, members: &atomic.Pointer[members]{}}
			s.members.Store(m)
			return s, all
		}
		a, inA := made()
		b, inB := made()
		want, got := map[string][2]*Element{}, map[string][2]*Element{}
		for key := range pool {
			if inA[key] != inB[key] {
				want[key] = [2]*Element{inA[key], inB[key]}
			}
		}
		a.Differing(b, func(here, there *Element) {
			e := here
			if e == nil {
				e = there
			}
			require.NotContains(t, got, string(e.Key))
			got[string(e.Key)] = [2]*Element{here, there}
		})
		require.Equal(t, want, got)
		count := 0
		for e := range a.Unsorted() {
			require.Same(t, inA[string(e.Key)], e)
			count++
		}
		require.Equal(t, len(inA), count)
	})
}
