package cases_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

func TestCaseIsTheSameAfterWritingAndReading(t *testing.T) {
	for number := range uint64(50) {
		c := cases.Generated(1, number)
		text, err := c.Marshal()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "case.yaml")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		read, err := cases.Read(path)
		require.NoError(t, err)
		again, err := read.Marshal()
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
		assert.Equal(t, len(c.Steps), len(read.Steps))
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown field":   "settings: {}\nstep: []\n",
		"a step of nothing":  "settings: {}\nsteps: [{}]\n",
		"two events at once": "settings: {}\nsteps: [{do: sync, deleteService: a/b}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "case.yaml")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err := cases.Read(path)
			assert.ErrorContains(t, err, path)
		})
	}
}

func TestGeneratedCasesDependOnSeedAndNumberAlone(t *testing.T) {
	text := func(seed, number uint64) string {
		out, err := cases.Generated(seed, number).Marshal()
		require.NoError(t, err)
		return string(out)
	}
	assert.Equal(t, text(1, 2), text(1, 2))
	assert.NotEqual(t, text(1, 2), text(1, 3))
	assert.NotEqual(t, text(1, 2), text(2, 2))
}
