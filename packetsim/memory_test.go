package packetsim

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMemoryInLayers: whatever is put in under checkpoints, a look sees what a map would hold that is copied at each checkpoint and put
// back at each rollback.
func TestMemoryInLayers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory(nil)
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
