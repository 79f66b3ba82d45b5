package mark_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/mark"
)

func TestEachMarkHasANameOfItsOwnAndAMeaning(t *testing.T) {
	name := regexp.MustCompile(`^(changes|model|render|sync|conntrack)/[a-z]+(-[a-z]+)*$`)
	names := map[string]bool{}
	for _, m := range mark.All() {
		assert.Regexp(t, name, m.String())
		assert.NotEmpty(t, m.Meaning(), m)
		assert.False(t, names[m.String()], "%s is there twice", m)
		names[m.String()] = true
	}
}

func TestCountsSayWhatWasReachedSince(t *testing.T) {
	before := mark.Snapshot()
	mark.ModelFirewall.Hit()
	mark.ModelFirewall.HitIf(true)
	mark.ModelHintsOfZone.HitIf(false)
	mark.SyncFull.Hit()
	since := mark.Snapshot().Since(before)
	assert.Equal(t, []mark.Mark{mark.ModelFirewall, mark.SyncFull}, since.Reached())
	assert.Equal(t, uint64(2), since[mark.ModelFirewall])
	assert.Len(t, since.Missed(), len(mark.All())-2)
	assert.Equal(t, uint64(4), since.Plus(since)[mark.ModelFirewall])
}

func BenchmarkHit(b *testing.B) {
	for b.Loop() {
		mark.ModelClusterReady.Hit()
	}
}
