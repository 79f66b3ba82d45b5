//go:build linux

package differ

import (
	"bufio"
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

	"github.com/chainwalk/chainwalk/fakeipt"
)

// endEnv says how the child process of TestKernelNothingIsLeft ends.
const endEnv = "CHAINWALK_DIFFER_END"

// TestKernelChild is the child of TestKernelNothingIsLeft: it builds a lab with rules, sets and a connection, and then panics or waits to
// be ended.
func TestKernelChild(t *testing.T) {
	end := os.Getenv(endEnv)
	if end == "" {
		return // it is only the other test's child
	}
	lock, err := takeMachineLock()
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.release()) }()
	l, err := newLab(fakeipt.Legacy)
	require.NoError(t, err)
	var c walkCase
	require.NoError(t, readFile(filepath.Join(walkCases, "walk-sctp-init-ack.yaml"), &c))
	c.Dialect, c.Sets = fakeipt.Legacy, worlds[fakeipt.IPv4].sets()
	_, err = judge(&c, &labKernel{lab: l})
	require.NoError(t, err)
	fmt.Println("ready")
	if end == "panic" {
		panic("a run breaks off")
	}
	select {}
}

// TestKernelNothingIsLeft ends a run in each way that a run can end, and looks for what it leaves on the machine. Its namespaces, with the
// rules, sets and connections in them, have no names and no process.
func TestKernelNothingIsLeft(t *testing.T) {
	needKernel(t)
	before := ownSysctls(t)
	for end, send := range map[string]unix.Signal{"panic": 0, "interrupt": unix.SIGINT, "terminate": unix.SIGTERM, "kill": unix.SIGKILL} {
		t.Run(end, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run", "^TestKernelChild$")
			child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			child.Env = append(os.Environ(), endEnv+"="+end)
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
				require.NoError(t, child.Process.Signal(send))
			}
			require.Error(t, child.Wait(), "it was broken off")
			if end == "kill" { // nobody could clean up: the next run does
				lock, err := takeMachineLock()
				require.NoError(t, err)
				require.NoError(t, lock.release())
			}
			assertNothingLeft(t, child.Process.Pid, before)
		})
	}
}

// ownSysctls are the values of machineSysctls while no run has changed them.
func ownSysctls(t *testing.T) map[string]string {
	lock, err := takeMachineLock()
	require.NoError(t, err)
	values := map[string]string{}
	for name := range machineSysctls {
		value, err := os.ReadFile(filepath.Join(savedValues(), strings.ReplaceAll(name, "/", ".")))
		require.NoError(t, err)
		values[name] = string(value)
	}
	require.NoError(t, lock.release())
	return values
}

// assertNothingLeft looks for what the process may have left. Other runs, which have to wait for the lock, are kept out meanwhile.
func assertNothingLeft(t *testing.T, pid int, before map[string]string) {
	file, err := os.OpenFile(filepath.Join(runFolder(), "lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	require.NoError(t, unix.Flock(int(file.Fd()), unix.LOCK_EX))
	saved, err := os.ReadDir(savedValues())
	require.NoError(t, err)
	assert.Empty(t, saved, "values of sysctls that are not put back")
	for name, value := range before {
		assert.Equal(t, value, readSysctl(t, name), name)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range processes {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		assert.NotEqual(t, fmt.Sprint(pid), words[2], "a process of the run's group: %s", path)
	}
}
