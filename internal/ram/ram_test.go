package ram

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemporaryFoldersAreInAPlace(t *testing.T) {
	memory, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	t.Setenv("TMPDIR", "")
	use(gone)
	assert.Empty(t, os.Getenv("TMPDIR"), "there is no such place")
	use(memory)
	assert.Equal(t, memory, os.TempDir())
	left, err := os.ReadDir(memory)
	require.NoError(t, err)
	assert.Empty(t, left)
	use(t.TempDir())
	assert.Equal(t, memory, os.TempDir(), "somebody has said another one")
}
