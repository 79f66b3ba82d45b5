package gen

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// TestHistogram prints what a real cluster and generated ones have beside one another (-v),
// and holds the generator to having all that the real one has.
func TestHistogram(t *testing.T) {
	file, err := dumps.Kind().Open("objects.yaml")
	require.NoError(t, err)
	defer func(f fs.File) { _ = f.Close() }(file) // nothing was written
	objects, err := manifest.ReadObjects("objects.yaml", file)
	require.NoError(t, err)
	var real, generated histogram
	real.Add(objects)
	for seed := range uint64(1000) {
		generated.Add(Example(Options{}, seed).Objects)
	}
	t.Log("\n" + real.Compare("recorded", &generated, "generated"))
	for what := range real.counts {
		assert.Greater(t, generated.share(what), 0.5, "%s: a real cluster has it", what)
	}
}
