package garbage

import (
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheProgramCollectsRarely asks this program, which links the package as others do.
func TestTheProgramCollectsRarely(t *testing.T) {
	gc, limit := percent, int64(most)
	if measures(os.Args) { // as Go does by itself
		gc, limit = 100, math.MaxInt64
	}
	if os.Getenv("GOGC") == "" {
		assert.Equal(t, gc, debug.SetGCPercent(gc))
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		assert.Equal(t, limit, debug.SetMemoryLimit(-1))
	}
}

func TestBenchmarksAreLeftAlone(t *testing.T) {
	for arg, want := range map[string]bool{
		"-test.bench=.": true, "--test.bench": true, "-test.run=Bench": false, "-test.v": false, "bench": false,
	} {
		assert.Equal(t, want, measures([]string{"x.test", arg}), arg)
	}
}
