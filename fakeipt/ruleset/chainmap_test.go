package ruleset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestChainMapIsAMap holds the persistent map against a plain one, old versions included.
func TestChainMapIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := []*chainMap{(&chainMap{}).edit(0)}
		models := []map[string]int32{{}}
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			from := rapid.IntRange(0, len(versions)-1).Draw(t, "from")
			changes := rapid.SliceOfN(rapid.IntRange(-200, 200), 0, 150).Draw(t, "changes")
			m, model := versions[from].edit(len(changes)), map[string]int32{}
			for k, v := range models[from] {
				model[k] = v
			}
			for i, n := range changes {
				name := fmt.Sprint("chain", max(n, -n))
				if n < 0 {
					if model[name] != 0 {
						m.remove(name)
						delete(model, name)
					}
					continue
				}
				m.set(chainEntry{chain: &Chain{Name: name}, hash: hashName(name), refs: int32(i + 1)})
				model[name] = int32(i + 1)
			}
			versions, models = append(versions, m), append(models, model)
		}
		for i, m := range versions {
			for k, other := range versions {
				want := map[string]int32{}
				for name, refs := range models[i] {
					if models[k][name] != refs || m.get(name).chain != other.get(name).chain {
						want[name] = 1
					}
				}
				for name := range models[k] {
					if models[i][name] == 0 {
						want[name] = 1
					}
				}
				got := map[string]int32{}
				m.differing(other, func(name string) { got[name]++ })
				require.Equal(t, want, got)
			}
			require.Equal(t, len(models[i]), m.count)
			got := map[string]int32{}
			m.each(func(e *chainEntry) { got[e.chain.Name] = e.refs })
			require.Equal(t, models[i], got)
			for name, refs := range models[i] {
				require.Equal(t, refs, m.get(name).refs)
			}
			require.Nil(t, m.get("none"))
		}
	})
}
