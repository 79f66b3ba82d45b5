package fakeipt

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestReadersWhileAnotherCommits lets two goroutines read rulesets, and count in them, while a third commits: whatever
// ruleset a reader finds is of one commit as a whole. Run it with the race detector.
func TestReadersWhileAnotherCommits(t *testing.T) {
	k := New(Options{})
	commit := func(n int) {
		var b strings.Builder
		b.WriteString("*nat\n:A - [0:0]\n:B - [0:0]\n")
		for range 5 {
			for _, chain := range []string{"A", "B", "OUTPUT"} {
				fmt.Fprintf(&b, "-A %s -m comment --comment %d -j ACCEPT\n", chain, n)
			}
		}
		b.WriteString("COMMIT\n")
		var out strings.Builder
		assert.Zero(t, k.Run([]string{"iptables-restore"}, strings.NewReader(b.String()), io.Discard, &out), out.String())
	}
	commit(0)
	const commits = 200
	var done atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			last := ""
			for seen := 0; !done.Load() || seen < 2; seen++ {
				last = readWhole(t, k.Ruleset(netfilter.IPv4), last)
			}
		})
	}
	all.Go(func() {
		for n := range commits {
			commit(n + 1)
		}
		done.Store(true)
	})
	all.Wait()
	assert.Equal(t, fmt.Sprint(commits), readWhole(t, k.Ruleset(netfilter.IPv4), ""))
}

// readWhole looks at every rule as a walk does and returns the comment that they share. last is what was read before.
func readWhole(t *testing.T, rs *ruleset.Ruleset, last string) string {
	comments := map[string]int{}
	for c := range rs.Table("nat").Chains() {
		for _, r := range c.Rules {
			r.Counters.Add(1, uint64(len(c.Name)))
			comments[r.Matches[0].(*match.Comment).Text]++
		}
	}
	assert.Len(t, comments, 1, "a ruleset of more than one commit")
	for text, n := range comments {
		assert.Equal(t, 15, n)
		assert.GreaterOrEqual(t, len(text), len(last), "an older ruleset than before")
		return text
	}
	return ""
}
