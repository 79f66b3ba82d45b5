package fakenft_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// TestTablesThatDiffer asks two tables, one of which a transaction has made of the other, for what that has changed.
func TestTablesThatDiffer(t *testing.T) {
	const text = "add table ip t\nadd chain ip t a\nadd chain ip t b\nadd chain ip t c\nadd rule ip t a jump b\n" +
		"add set ip t s { type ipv4_addr; }\nadd set ip t u { type ipv4_addr; }\nadd element ip t u { 10.0.0.1 }\n"
	for commit, want := range map[string][2][]string{
		"add rule ip t a ip daddr { 10.0.0.1, 10.0.0.2 } drop\n":                     {{"a"}, {"__set0"}},
		"add element ip t s { 10.0.0.1 }\nadd chain ip t d\n":                        {{"d"}, {"s"}},
		"delete chain ip t c\ndelete set ip t s\nadd rule ip t b ip daddr @u drop\n": {{"b", "c"}, {"s"}},
	} {
		t.Run(commit, func(t *testing.T) {
			nft := fakenft.New(fakenft.Options{})
			run := func(text string) *nftables.Table {
				require.Zero(t, nft.Run([]string{"nft", "-f", "-"}, strings.NewReader(text), io.Discard, io.Discard), text)
				return nft.Kernel().State().Table(nftables.IPv4, "t")
			}
			before := run(text)
			after := run(commit)
			for _, of := range [][2]*nftables.Table{{before, after}, {after, before}} {
				chains, sets := of[0].Differing(of[1])
				slices.Sort(chains)
				slices.Sort(sets)
				assert.Equal(t, want, [2][]string{chains, sets})
			}
		})
	}
}
