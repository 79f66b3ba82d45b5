package internal_test

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

func TestRecorderCountsWhatWasReached(t *testing.T) {
	r := &mark.Recorder{}
	r.Hit(mark.ModelFirewall)
	r.HitIf(mark.ModelFirewall, true)
	r.HitIf(mark.ModelHintsOfZone, false)
	r.Hit(mark.SyncFull)
	counted := map[mark.Mark]int{}
	for _, m := range mark.All() {
		if n := r.Count(m); n > 0 {
			counted[m] = n
		}
	}
	assert.Equal(t, map[mark.Mark]int{mark.ModelFirewall: 2, mark.SyncFull: 1}, counted)
}

func TestNobodyCounts(t *testing.T) {
	var none *mark.Recorder
	none.Hit(mark.SyncFull)
	none.HitIf(mark.SyncFull, true)
	assert.Zero(t, none.Count(mark.SyncFull))
}

func BenchmarkHit(b *testing.B) {
	for name, r := range map[string]*mark.Recorder{"counted": {}, "nobody counts": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Hit(mark.ModelClusterReady)
			}
		})
	}
}
