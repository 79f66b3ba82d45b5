package garbage

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheProgramCollectsRarely asks this program, which links the package as others do.
func TestTheProgramCollectsRarely(t *testing.T) {
	if measures(os.Args) {
		t.Skip("this run has benchmarks")
	}
	if os.Getenv("GOGC") == "" {
		now := debug.SetGCPercent(percent)
		assert.Equal(t, percent, now)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		assert.Equal(t, int64(most), debug.SetMemoryLimit(-1))
	}
}

func TestBenchmarksAreLeftAlone(t *testing.T) {
	for arg, want := range map[string]bool{
		"-test.bench=.": true, "--test.bench": true, "-test.run=Bench": false, "-test.v": false, "bench": false,
	} {
		assert.Equal(t, want, measures([]string{"x.test", arg}), arg)
	}
}
