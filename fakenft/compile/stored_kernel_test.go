//go:build linux

package compile_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nftnetlink"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// TestKernelStoresTheSame compares what is told of sets, chains and rules with what the real kernel holds after the real nft has told it:
// types, sizes, flags, user data.
func TestKernelStoresTheSame(t *testing.T) {
	kerneltest.Need(t, "nft")
	for _, file := range []string{"many.nft", "sets.nft", "objects.nft", "typeof.nft"} {
		text, err := os.ReadFile("../decompile/testdata/" + file)
		require.NoError(t, err)
		t.Run(file, func(t *testing.T) { stored(t, file, string(text)) })
	}
	for _, file := range []string{"rules-norm.txt", "rules-more.txt"} {
		text, err := os.ReadFile("../decompile/testdata/" + file)
		require.NoError(t, err)
		t.Run(file, func(t *testing.T) {
			for i, line := range slices.Collect(strings.Lines(string(text))) {
				where, rule, isRule := strings.Cut(strings.TrimSpace(line), ": ")
				if w := strings.Fields(where); isRule && len(w) == 3 && sample.InPart(t, i) {
					stored(t, line, context(w, rule))
				}
			}
		})
	}
}

func stored(t *testing.T, what, text string) {
	place := kerneltest.New(t)
	if r := place.Run([]string{"nft", "-f", "-"}, text); r.Status != 0 {
		return
	}
	var real *nftnetlink.Ruleset
	place.Do(func() {
		s, err := nfnetlink.Open()
		require.NoError(t, err)
		real, err = nftnetlink.Read(s, time.Now())
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
	commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
	require.Empty(t, mistakes, text)
	require.Empty(t, check.New(check.Empty{}).Commands(commands), text)
	sets := map[string][]nftables.SetSpec{}
	rules := map[string][][]byte{}
	for _, c := range commands {
		changes, err := compile.Command(c)
		require.NoError(t, err, text)
		for _, change := range changes {
			switch c := change.(type) {
			case *nftables.AddSet:
				sets[c.Table] = append(sets[c.Table], c.Set)
			case *nftables.AddRule:
				rules[c.Table] = append(rules[c.Table], c.UserData)
			}
		}
	}
	for _, table := range real.Tables {
		require.Len(t, sets[table.Name], len(table.Sets), text)
		for i, s := range table.Sets {
			sameSet(t, &s.SetSpec, &sets[table.Name][i], what)
		}
		at := 0
		for _, c := range table.Chains {
			for _, r := range c.Rules {
				assert.Equal(t, string(r.UserData), string(rules[table.Name][at]))
				at++
			}
		}
	}
}

func sameSet(t *testing.T, want, have *nftables.SetSpec, what string) {
	t.Helper()
	own := *have
	own.ID = 0
	if strings.HasSuffix(own.Name, "%d") {
		own.Name = want.Name
	}
	if own.DataType == nftables.DataVerdict {
		own.DataLen = want.DataLen
	}
	const ofPackets = 65535 // the kernel's own size of sets that packets change
	if own.Size == 0 && want.Size == ofPackets {
		own.Size = ofPackets
	}
	other := *want
	own.Exprs, other.Exprs = nil, nil
	if !assert.ObjectsAreEqual(other, own) {
		t.Errorf("%s\nreal nft:  %+v\nchainwalk: %+v", what, other, own)
	}
}
