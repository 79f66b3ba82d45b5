package toolstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestDamageAnywhere: wherever a byte of a part has changed, and wherever it was cut off (at every third, of which a sample takes every
// fourth), the next tool says so once and goes on, and those after it do as on a new state.
func TestDamageAnywhere(t *testing.T) {
	race.OneGoroutine(t)
	s := &Store{dir: t.TempDir()}
	must(t, s, "nfacct", "add", "seen")
	must(t, s, "iptables", "-A", "INPUT", "-m", "nfacct", "--nfacct-name", "seen", "-j", "DROP")
	for name, argv := range map[string][]string{"objects": {"nfacct", "list"}, "ipv4-legacy": {"iptables", "-S"}} {
		path := filepath.Join(s.dir, name)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		whole := must(t, s, argv...)
		require.NoError(t, os.Remove(path))
		fresh := must(t, s, argv...)
		var damaged [][]byte
		for i := 0; i < len(good); i += 3 {
			if !sample.Takes(t, i/3, 4) {
				continue
			}
			changed := []byte(string(good))
			changed[i] ^= 1 << (i % 8)
			damaged = append(damaged, good[:i], changed)
		}
		for _, text := range damaged {
			require.NoError(t, os.WriteFile(path, text, 0o600))
			said := must(t, s, argv...)
			assert.Equal(t, 1, strings.Count(said, "cannot be used"), said)
			assert.True(t, strings.HasSuffix(said, fresh), said)
			require.NoError(t, os.Remove(path+".damaged"))
			assert.Equal(t, fresh, must(t, s, argv...))
		}
		require.NoError(t, os.WriteFile(path, good, 0o600))
		assert.Equal(t, whole, must(t, s, argv...))
	}
}

// TestEverythingThatWasPutAsideIsKept: a part that was put aside does not take the place of another one.
func TestEverythingThatWasPutAsideIsKept(t *testing.T) {
	s := &Store{dir: t.TempDir()}
	path := filepath.Join(s.dir, "ipv4-legacy")
	for _, text := range []string{"one", "two", "three"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, s, "iptables", "-N", "A")
		must(t, s, "iptables", "-X", "A")
	}
	for name, text := range map[string]string{"": "one", "-2": "two", "-3": "three"} {
		found, err := os.ReadFile(path + ".damaged" + name)
		require.NoError(t, err)
		assert.Equal(t, text, string(found))
	}
}
