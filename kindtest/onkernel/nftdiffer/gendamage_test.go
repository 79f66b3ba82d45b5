package nftdiffer

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordedSessionsAreRead holds that the sessions that the generator damages have the steps that the tests run.
func TestRecordedSessionsAreRead(t *testing.T) {
	var want []step
	datadriven.Walk(t, sessions, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd != "new" && td.Cmd != "end" {
				s, err := stepOf(td)
				require.NoError(t, err, td.Pos)
				want = append(want, *s)
			}
			return td.Expected
		})
	})
	all, err := recorded()
	require.NoError(t, err)
	got := slices.Concat(all...)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
}

// TestDamageIsTheSameForASeed holds that a seed gives the same sessions, none of which waits, and that damage reaches what it should.
func TestDamageIsTheSameForASeed(t *testing.T) {
	sessionsOf := func(seed uint64) (string, map[string]int) {
		g, err := newGen(seed)
		require.NoError(t, err)
		var b strings.Builder
		for range 300 {
			steps := g.session()
			for i := range steps {
				assert.NotContains(t, asText(&steps[i]), "monitor")
			}
			b.WriteString(text(steps))
		}
		return b.String(), g.asked
	}
	first, asked := sessionsOf(7)
	again, _ := sessionsOf(7)
	other, _ := sessionsOf(8)
	assert.True(t, first == again)
	assert.False(t, first == other)
	for _, damage := range []string{"of a recorded session", "of a command that was made", "a word less", "a word twice",
		"two words exchanged", "a line cut", "a word of another line more", "the end of another line", "a word of another line"} {
		assert.Greater(t, asked["damage "+damage], 10, damage)
	}
}
