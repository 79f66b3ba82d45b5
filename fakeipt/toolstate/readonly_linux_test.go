package toolstate

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

// asNobody runs f as a user who owns no file.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, syscall.Setfsuid(65534))
	defer func() { assert.NoError(t, syscall.Setfsuid(0)) }()
	f()
}

// TestReadOnlyFolder: what a tool only reads it reads from a folder that it may not write, with the files of the locks or without; what it
// would change is an error that says what to do.
func TestReadOnlyFolder(t *testing.T) {
	for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
		s := &Store{dir: dir, dialect: dialect}
		must(t, s, "iptables", "-A", "INPUT", "-s", "10.0.0.1", "-j", "DROP")
		want := must(t, s, "iptables", "-S")
		for path := range files(t, dir) {
			require.NoError(t, os.Chmod(dir+"/"+path, 0o444))
		}
		for _, locks := range []bool{true, false} {
			if !locks {
				require.NoError(t, os.Remove(dir+"/lock"))
				_ = os.Remove(dir + "/xtables.lock") // the nft tools have none
			}
			require.NoError(t, os.Chmod(dir, 0o555))
			asNobody(t, func() {
				got, status := tool(s, "", "iptables", "-S")
				assert.Zero(t, status, got)
				assert.Equal(t, want, got)
				_, status = tool(s, "", "iptables-save", "-c")
				assert.Zero(t, status)
				got, status = tool(s, "", "iptables", "-A", "INPUT", "-j", "ACCEPT")
				assert.Equal(t, statusFailed, status)
				assert.Equal(t, 1, strings.Count(got, "\n"), got)
				assert.Contains(t, got, "iptables: writing the state: ")
				assert.Contains(t, got, "permission denied; set CHAINWALK_STATE to a folder that can be written")
			})
			require.NoError(t, os.Chmod(dir, 0o755))
		}
	}
}

// TestDamageInReadOnlyFolder: who may only read a folder gets by a part that cannot be used, and is told each time.
func TestDamageInReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	s := &Store{dir: dir}
	must(t, s, "iptables", "-A", "INPUT", "-j", "DROP")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ipv4-legacy"), []byte("damage"), 0o600))
	for path := range files(t, dir) {
		require.NoError(t, os.Chmod(dir+"/"+path, 0o444))
	}
	require.NoError(t, os.Chmod(dir, 0o555))
	defer func() { assert.NoError(t, os.Chmod(dir, 0o755)) }()
	asNobody(t, func() {
		for range 2 {
			got, status := tool(s, "", "iptables-save")
			assert.Zero(t, status, got)
			assert.Contains(t, got, "iptables-save: "+dir+"/ipv4-legacy cannot be used: its first line is not that of a state file; "+
				"it may not be put aside, and is passed by: there are no rules\n")
		}
	})
	assert.Equal(t, "damage", files(t, dir)["ipv4-legacy"].text)
}
