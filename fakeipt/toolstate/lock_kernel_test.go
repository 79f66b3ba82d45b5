package toolstate

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/statefolder"
)

// TestLockWordsOfTheRealKernelsTools holds a lock and compares what the real legacy tools say with what the fake ones do.
func TestLockWordsOfTheRealKernelsTools(t *testing.T) {
	kerneltest.Need(t, "iptables-legacy", "iptables-legacy-restore", "ip6tables-legacy-restore")
	path := filepath.Join(t.TempDir(), "lock")
	holder, err := os.Create(path)
	require.NoError(t, err)
	defer func() { _ = holder.Close() }()
	require.NoError(t, statefolder.LockFile(holder))
	for _, row := range []struct {
		about, lock string
		argv        []string
	}{
		{"a command that waits a second", path, []string{"iptables-legacy", "-w", "1", "-S"}},
		{"a restore that waits a second", path, []string{"ip6tables-legacy-restore", "--wait=1"}},
		{"a restore without a table", path, []string{"iptables-legacy-restore", "-T", "none", "/dev/null"}},
		{"a wrong command", path, []string{"iptables-legacy", "-A"}},
		{"the version", path, []string{"iptables-legacy", "-V"}},
		{"a lock that cannot be made", "/nonexistent/lock", []string{"iptables-legacy", "-S"}},
	} {
		t.Run(row.about, func(t *testing.T) {
			const input = "*filter\nCOMMIT\n"
			cmd := exec.Command(row.argv[0], row.argv[1:]...)
			cmd.Env = append(os.Environ(), envLockFile+"="+row.lock)
			cmd.Stdin = strings.NewReader(input)
			var want bytes.Buffer
			cmd.Stdout, cmd.Stderr = &want, &want
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				require.NoError(t, err)
			}
			got, status := tool(&Store{dir: t.TempDir(), lockFile: row.lock}, input, row.argv...)
			assert.Equal(t, want.String(), got)
			assert.Equal(t, cmd.ProcessState.ExitCode(), status)
		})
	}
}
