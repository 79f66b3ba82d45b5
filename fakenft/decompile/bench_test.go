package decompile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/manyservices"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func checked(tb testing.TB, text string) []*syntax.Command {
	tb.Helper()
	commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
	require.Empty(tb, mistakes)
	require.Empty(tb, check.New(check.Empty{}).Commands(commands))
	return commands
}

func changes(tb testing.TB, commands []*syntax.Command) (all []nftables.Change) {
	tb.Helper()
	for _, c := range commands {
		changes, err := compile.Command(c)
		require.NoError(tb, err)
		all = append(all, changes...)
	}
	return all
}

func BenchmarkCompile(b *testing.B) {
	commands := checked(b, manyservices.NFT(10000))
	for b.Loop() {
		for _, c := range commands {
			if _, err := compile.Command(c); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(commands)), "commands")
}

func BenchmarkDecompile(b *testing.B) {
	var turn uint64
	kernel := nftables.New(clock.RealClock{}, func() uint64 { turn++; return turn })
	require.Empty(b, kernel.Commit(changes(b, checked(b, manyservices.NFT(10000)))))
	table := kernel.State().Table(nftables.IPv4, "kube-proxy")
	for b.Loop() {
		decompile.Table(table, time.Time{})
	}
}
