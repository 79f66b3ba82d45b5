//go:build linux

package differ

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestKernelChild is the child of TestKernelNothingIsLeft, which tells it by arguments how to end, and on which machine: it builds a lab
// with rules, sets and a connection, and then panics or waits to be ended.
func TestKernelChild(t *testing.T) {
	if flag.NArg() != 3 {
		return // it is only the other test's child
	}
	end, m := flag.Arg(0), machine{folder: flag.Arg(1), sysctls: flag.Arg(2)}
	use, err := m.begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, use.end()) }()
	l, err := newLab(netfilter.Legacy)
	require.NoError(t, err)
	var c walkCase
	require.NoError(t, readFile(filepath.Join(walkCases, "walk-sctp-init-ack.yaml"), &c))
	c.Dialect, c.Sets = netfilter.Legacy, worlds[netfilter.IPv4].sets()
	_, err = judge(&c, &labKernel{lab: l})
	require.NoError(t, err)
	fmt.Println("ready")
	if end == "panic" {
		panic("a run breaks off")
	}
	select {}
}

// TestKernelNothingIsLeft ends a run in each way that a run can end, and looks for what it leaves on the machine. Its namespaces, with the
// rules, sets and connections in them, have no names and no process. The machine's settings are files of the test: other runs go on.
func TestKernelNothingIsLeft(t *testing.T) {
	needKernel(t)
	for end, send := range map[string]unix.Signal{"panic": 0, "interrupt": unix.SIGINT, "terminate": unix.SIGTERM, "kill": unix.SIGKILL} {
		t.Run(end, func(t *testing.T) {
			m := machineOf(t)
			child := exec.Command(os.Args[0], "-test.run", "^TestKernelChild$", end, m.folder, m.sysctls)
			child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			for lines := bufio.NewReader(out); ; {
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				if line == "ready\n" {
					break
				}
			}
			if send != 0 {
				m.assertSet(t)
				require.NoError(t, child.Process.Signal(send))
			}
			require.Error(t, child.Wait(), "it was broken off")
			if end == "kill" { // nobody could clean up: the next run does
				use, err := m.begin()
				require.NoError(t, err)
				require.NoError(t, use.end())
			}
			m.assertPutBack(t)
			assertNoProcess(t, child.Process.Pid)
		})
	}
	entries, err := os.ReadDir("/run/netns")
	if err == nil {
		for _, e := range entries {
			assert.NotContains(t, e.Name(), "differ", "namespaces of the lab have no names")
		}
	}
}

// assertNoProcess demands that no process of a run's group is left.
func assertNoProcess(t *testing.T, group int) {
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range processes {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		assert.NotEqual(t, fmt.Sprint(group), words[2], "a process of the run's group: %s", path)
	}
}
