package compile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

const placed = `table ip t {
	set s { type ipv4_addr; flags interval; }
	chain c {
	}
}
`

// TestPlaces compares where a refusal of the kernel is drawn with where the real nft draws it.
func TestPlaces(t *testing.T) {
	for _, row := range [][2]string{
		{"add rule ip t c ip saddr 1.1.1.1 jump nochain", "nochain"},
		{"add element ip t s { 1.1.1.1-1.1.1.5 timeout 5s, 2.2.2.2 }", "1.1.1.1-1.1.1.5"},
		{"add rule ip t c ip saddr vmap { 1.1.1.1 : jump nochain }", "1.1.1.1"},
		{"add rule ip nope c accept", "nope"},
		{"add rule ip t nope accept", "nope"},
		{`add rule ip t c counter name "nope"`, `"nope"`},
	} {
		commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: placed + row[0] + "\n"}, parse.Options{})
		require.Empty(t, mistakes)
		require.Empty(t, check.New(check.Empty{}).Commands(commands), row[0])
		var all []nftables.Change
		place := map[int]func(r *nftables.Refusal) syntax.Loc{} // by the number of the change
		for _, c := range commands {
			list, err := compile.Command(c)
			require.NoError(t, err)
			for i := range list {
				place[len(all)+i] = func(r *nftables.Refusal) syntax.Loc { return compile.Place(c, i, r.Part, r.Index) }
			}
			all = append(all, list...)
		}
		var turn uint64
		refusals := nftables.New(clock.RealClock{}, func() uint64 { turn++; return turn }).Commit(all)
		require.NotEmpty(t, refusals, row[0])
		at := place[refusals[0].Change](&refusals[0])
		assert.Equal(t, row[1], row[0][at.First-1:at.Last], row[0])
	}
}

// TestUnknownIsRefusedByName holds that what cannot be compiled is named.
func TestUnknownIsRefusedByName(t *testing.T) {
	rule := &syntax.Rule{Stmts: []syntax.Stmt{&syntax.XtStmt{Name: "recent"}}}
	_, err := compile.Command(&syntax.Command{Op: syntax.OpAdd, Kind: syntax.KindRule, Rule: rule})
	require.EqualError(t, err, "chainwalk does not support the match or target recent of x_tables in rules of nft")
}
