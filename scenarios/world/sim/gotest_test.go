package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// filesOfTestInner names the folder that TestInner runs, in a process of its own: its failures are wanted.
const filesOfTestInner = "CHAINWALK_TEST_INNER"

func TestInner(t *testing.T) {
	if folder := os.Getenv(filesOfTestInner); folder != "" {
		scenarios.Test(t, sim.Backend{}, folder)
	}
}

// inner runs TestInner over files, and returns what "go test -v" prints of it.
func inner(t *testing.T, run string, files map[string]string) (output string, failed bool) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(binary, "-test.v", "-test.run", run)
	cmd.Env = append(os.Environ(), filesOfTestInner+"="+folder, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}

func TestFilesAreSubTests(t *testing.T) {
	files := map[string]string{
		"holds.yaml": "{name: a, topology: {nodes: [{}, {listen: [tcp 22]}]}, steps: [{connect: {name: to a/b, from: node1, " +
			"to: 'tcp 192.168.0.3:22', expect: {answeredBy: node2}}}]}",
		"fails.yaml":  "{name: a, steps: [{connect: {from: 10.244.1.9, to: 'tcp 10.244.2.9:80', expect: drop}}]}",
		"broken.yaml": "{name: broken}",
		"kind.yaml": "{name: a, runsOn: {backends: [kind], because: only there}, steps: [{connect: {from: node1, " +
			"to: 'tcp 10.0.0.1:80', expect: drop}}]}",
	}
	out, failed := inner(t, "^TestInner$", files)
	assert.True(t, failed)
	for _, want := range []string{
		"--- PASS: TestInner/holds/legacy/to_a-b ",
		"--- PASS: TestInner/holds/nft/to_a-b ",
		"--- FAIL: TestInner/fails/nft/tcp_10.244.2.9:80_from_10.244.1.9 ",
		"expected: dropped",
		"--- FAIL: TestInner/broken ",
		`broken.yaml:1:1: "steps" is missing`,
		"--- SKIP: TestInner/kind ",
		"runs on kind only: only there",
	} {
		assert.Contains(t, out, want)
	}

	out, failed = inner(t, "^TestInner$/holds/nft", files)
	assert.False(t, failed, out)
	assert.NotContains(t, out, "legacy")
	assert.Equal(t, 1, strings.Count(out, "to_a-b ("))

	out, failed = inner(t, "^TestInner$", map[string]string{"nothing.yaml": "{name: a, steps: [{sync: true}]}"})
	assert.True(t, failed, out)
}
