package nodeimage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeyTellsPartsApart(t *testing.T) {
	keys := map[key]string{}
	for _, parts := range [][]string{nil, {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"c", "ab"}, {"1\na"}, {"a\n1"}} {
		k := keyOf(parts...)
		assert.NotContains(t, keys, k, "%q", parts)
		keys[k] = ""
		assert.Equal(t, k, keyOf(parts...))
	}
}

func TestTextOfTreeChangesWithNamesAndContent(t *testing.T) {
	of := func(files fstest.MapFS) string {
		text, err := textOf(files)
		require.NoError(t, err)
		return text
	}
	first := of(fstest.MapFS{"a": {Data: []byte("1")}, "d/b": {Data: []byte("2")}})
	assert.Equal(t, first, of(fstest.MapFS{"d/b": {Data: []byte("2")}, "a": {Data: []byte("1")}}))
	for name, files := range map[string]fstest.MapFS{
		"content": {"a": {Data: []byte("1")}, "d/b": {Data: []byte("3")}},
		"name":    {"a": {Data: []byte("1")}, "d/c": {Data: []byte("2")}},
		"moved":   {"a": {Data: []byte("1")}, "b": {Data: []byte("2")}},
		"gone":    {"a": {Data: []byte("1")}},
		"more":    {"a": {Data: []byte("1")}, "d/b": {Data: []byte("2")}, "d/c": {}},
	} {
		assert.NotEqual(t, first, of(files), name)
	}
}

func TestGoFilesLeavesOutWhatIsNotBuilt(t *testing.T) {
	files := fstest.MapFS{"a.go": {Data: []byte("built")}, "a_test.go": {Data: []byte("tried")}, "a.txt": {}, "d/b.go": {}}
	text, err := textOf(goFiles{files})
	require.NoError(t, err)
	assert.Equal(t, "a.go\n5\nbuilt", text)
}

func TestKeepMakesAProductOnce(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "not", "there", "yet")
	made := 0
	make := func(content string) func(string) error {
		return func(folder string) error {
			made++
			return os.WriteFile(filepath.Join(folder, "product"), []byte(content), 0o644)
		}
	}
	first, err := keep(cache, "thing", "1", make("one"))
	require.NoError(t, err)
	again, err := keep(cache, "thing", "1", make("never"))
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.Equal(t, 1, made)
	other, err := keep(cache, "other", "1", make("other"))
	require.NoError(t, err)

	second, err := keep(cache, "thing", "2", make("two"))
	require.NoError(t, err)
	assert.NoDirExists(t, first, "what nobody asks for any more is removed")
	assert.DirExists(t, other)
	content, err := os.ReadFile(filepath.Join(second, "product"))
	require.NoError(t, err)
	assert.Equal(t, "two", string(content))
}

func TestKeepLeavesNothingOfAFailure(t *testing.T) {
	cache := t.TempDir()
	kept, err := keep(cache, "thing", "1", func(string) error { return nil })
	require.NoError(t, err)
	broken := errors.New("no space left")
	_, err = keep(cache, "thing", "2", func(folder string) error {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "half"), nil, 0o644))
		return broken
	})
	assert.ErrorIs(t, err, broken)
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Equal(t, filepath.Base(kept), left[0].Name())
}
