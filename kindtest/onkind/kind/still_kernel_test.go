//go:build linux

package kind

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelAToolThatHasEndedDoesNotRun, though it is listed until whoever began it has taken notice.
func TestKernelAToolThatHasEndedDoesNotRun(t *testing.T) {
	kerneltest.Need(t, "pgrep")
	program, err := exec.LookPath("sleep")
	require.NoError(t, err)
	name := "sleep" + time.Now().Format("150405.000") // of at most 15 letters, and of no other process
	own := filepath.Join(t.TempDir(), name)
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, text, 0o700)) //nolint:gosec // it is run
	tool := exec.Command(own, "3600")
	require.NoError(t, tool.Start())
	listed := func(list string) bool {
		argv := append(strings.Fields(list), "^"+name+"$")
		return exec.Command(argv[0], argv[1:]...).Run() == nil
	}
	assert.Eventually(t, func() bool { return listed(running) }, time.Minute, time.Millisecond, "it has its name once it is begun")
	require.NoError(t, tool.Process.Kill())
	assert.Eventually(t, func() bool { return !listed(running) }, time.Minute, time.Millisecond)
	assert.True(t, listed("pgrep"))
	require.Error(t, tool.Wait())
	assert.False(t, listed("pgrep"))
}
