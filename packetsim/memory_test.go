package packetsim

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// TestMemoryInLayers: whatever is put in under checkpoints, a look sees what a map would hold that is copied at each checkpoint and put
// back at each rollback.
func TestMemoryInLayers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory(nil, nil)
		now := map[string]*recentList{}
		var before []map[string]*recentList
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				key, list := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key"), &recentList{}
				m.recent.put(key, list)
				now[key] = list
			},
			"checkpoint": func(*rapid.T) {
				m.checkpoint()
				before = append(before, maps.Clone(now))
			},
			"keep": func(rt *rapid.T) {
				if len(before) == 0 {
					rt.Skip("no checkpoint is open")
				}
				m.keep()
				before = before[:len(before)-1]
			},
			"rollback": func(rt *rapid.T) {
				if len(before) == 0 {
					rt.Skip("no checkpoint is open")
				}
				m.rollback()
				now, before = before[len(before)-1], before[:len(before)-1]
			},
			"": func(rt *rapid.T) {
				require.Equal(rt, len(before), m.depth)
				require.Equal(rt, now, m.recent.all())
				for _, key := range []string{"a", "b", "c"} {
					list, known := m.recent.get(key)
					require.Same(rt, now[key], list)
					require.Equal(rt, now[key] != nil, known)
				}
				if m.depth == 0 {
					require.Zero(rt, m.layers)
				}
			},
		})
	})
}

// TestSetsInLayers: sets seen under checkpoints are a map that is copied at each checkpoint and put back at each rollback, and the
// table is changed when the outermost one is kept.
func TestSetsInLayers(t *testing.T) {
	ref := ipset.Ref{Set: "s", Dim: 1, SrcSides: 1}
	rapid.Check(t, func(rt *rapid.T) {
		k := fakeipt.New(fakeipt.Options{})
		require.NoError(rt, k.LoadSets("sets", strings.NewReader("create s hash:ip\n")))
		m := newMemory(k.Namespace(), nil)
		now := map[string]bool{}
		before := []map[string]bool{}
		rt.Repeat(map[string]func(*rapid.T){
			"change": func(rt *rapid.T) {
				if m.depth == 0 {
					rt.Skip("no packet is on its way")
				}
				addr, change := fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 3).Draw(rt, "addr")), &ipset.Change{Add: ref}
				now[addr] = true
				if rapid.Bool().Draw(rt, "del") {
					change = &ipset.Change{Del: ref}
					delete(now, addr)
				}
				m.sets.now().Apply(change, &ipset.Packet{Src: netip.MustParseAddr(addr)})
			},
			"checkpoint": func(*rapid.T) {
				m.checkpoint()
				before = append(before, maps.Clone(now))
			},
			"end": func(rt *rapid.T) {
				last := len(before) - 1
				if last < 0 {
					rt.Skip("no checkpoint is open")
				}
				if rapid.Bool().Draw(rt, "keep") {
					m.keep()
				} else {
					m.rollback()
					now = before[last]
				}
				before = before[:last]
			},
			"": func(rt *rapid.T) {
				sets := k.Namespace().Sets().Overlay()
				if m.depth > 0 {
					checkSet(rt, sets, ref, before[0])
					sets = m.sets.now()
				}
				checkSet(rt, sets, ref, now)
				require.True(rt, m.depth > 0 || m.layers == 0)
			},
		})
	})
}

func checkSet(rt *rapid.T, sets *ipset.Overlay, ref ipset.Ref, want map[string]bool) {
	for i := range 3 {
		addr := fmt.Sprintf("10.0.0.%d", i+1)
		require.Equal(rt, want[addr], sets.Match(&ipset.Query{Ref: ref}, &ipset.Packet{Src: netip.MustParseAddr(addr)}), addr)
	}
}
