package fakeipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// realMachine is a network namespace of its own on this machine.
type realMachine struct {
	name string
}

// needKernel skips a test that is not asked to run real tools.
func needKernel(t testing.TB) {
	t.Helper()
	if os.Getenv("CHAINWALK_KERNEL") != "1" {
		t.Skip("set CHAINWALK_KERNEL=1 to compare with this machine's iptables, as root")
	}
}

// newRealMachine makes a namespace that goes away with the test.
func newRealMachine(t testing.TB, name string) *realMachine {
	m := &realMachine{name: fmt.Sprintf("cw-tool-%d-%s", os.Getpid(), name)}
	require.NoError(t, exec.Command("ip", "netns", "add", m.name).Run(), "making network namespace %s", m.name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", m.name).Run() })
	return m
}

func (m *realMachine) reset(t testing.TB) {
	require.NoError(t, exec.Command("ip", "netns", "del", m.name).Run())
	require.NoError(t, exec.Command("ip", "netns", "add", m.name).Run())
}

func (m *realMachine) run(t testing.TB, argv []string, stdin string) (string, string, int) {
	cmd := exec.Command("ip", append([]string{"netns", "exec", m.name}, argv...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	return stdout.String(), stderr.String(), status
}

func TestFilesOnTheRealKernel(t *testing.T) {
	needKernel(t)
	machines := [2]machine{newRealMachine(t, "legacy"), newRealMachine(t, "nft")}
	datadriven.Walk(t, "testdata/tools", func(t *testing.T, path string) {
		runFile(t, path, machines)
	})
}

// TestGeneratedRulesOnTheRealKernel gives the same generated input to the real tools
// and to the fake ones.
func TestGeneratedRulesOnTheRealKernel(t *testing.T) {
	needKernel(t)
	for _, d := range []Dialect{Legacy, NFT} {
		t.Run([...]string{"legacy", "nft"}[d], func(t *testing.T) {
			host := newRealMachine(t, fmt.Sprintf("gen%d", d))
			rapid.Check(t, func(rt *rapid.T) {
				machines := [2]machine{host, newFakeMachine(d)}
				for _, m := range machines {
					m.reset(t)
				}
				var history strings.Builder
				step := func(argv []string, stdin string) {
					fmt.Fprintf(&history, "$ %s\n%s", strings.Join(argv, " "), stdin)
					real := oneRun(t, machines[0], d, append([]string{}, argv...), stdin)
					fake := oneRun(t, machines[1], d, append([]string{}, argv...), stdin)
					require.Equal(rt, real, fake, "after\n%s", history.String())
				}
				step([]string{"nfacct", "add", "there"}, "")
				step([]string{"ipset", "restore"}, genSets)
				for range rapid.IntRange(1, 3).Draw(rt, "restores") {
					argv := []string{"iptables-restore"}
					if rapid.IntRange(0, 3).Draw(rt, "noflush") > 0 {
						argv = append(argv, "-n")
					}
					step(argv, genRestore(rt))
					step([]string{"iptables-save", "-c"}, "")
				}
			})
		})
	}
}
