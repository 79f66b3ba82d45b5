package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/interrupt"
)

// terminal makes a pseudo-terminal. What is written to it can be read once it was closed.
func terminal(t *testing.T) (tty *os.File, read func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY) // no helper passes flags
	require.Zero(t, errno)
	tty = os.NewFile(fd, "tty")
	var all bytes.Buffer
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(&all, master) // which ends with EIO when nobody has the terminal open
		close(ended)
	}()
	return tty, func() string {
		require.NoError(t, tty.Close())
		<-ended
		return all.String()
	}
}

// TestRunShowsItsProgressOnATerminal, if nobody says otherwise.
func TestRunShowsItsProgressOnATerminal(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": named("first"), "b.yaml": named("second")})
	const cleared = "\r\x1b[K"
	for _, tc := range []struct{ args, want string }{
		{"", fmt.Sprintf("0 of 2 done, running %[1]s/a.yaml%[2]s1 of 2 done, running %[1]s/b.yaml%[2]s", dir, cleared)},
		{"--progress=never", ""},
	} {
		tty, read := terminal(t)
		var out bytes.Buffer
		status := run(append([]string{"run", dir, "--parallel", "1"}, strings.Fields(tc.args)...), strings.NewReader(""), &out, tty)
		assert.Equal(t, tc.want, read())
		assert.Equal(t, exitHeld, status, out.String())
	}
}

// TestTraceHasColoursOnATerminal, but not if NO_COLOR is set.
func TestTraceHasColoursOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	const rules = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n"
	for noColor, want := range map[string]bool{"": true, "1": false} {
		t.Setenv("NO_COLOR", noColor)
		tty, read := terminal(t)
		var errOut bytes.Buffer
		run([]string{"trace", "--rules", "-", "tcp 10.0.0.1:4000 > 10.0.0.2:80"}, strings.NewReader(rules), tty, &errOut)
		assert.Equal(t, want, strings.Contains(read(), "\x1b["), errOut.String())
	}
}

// process is a chainwalk of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	interrupt.Heard(t)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "chainwalk"
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// endless is a scenario that takes minutes: a service with many endpoints, called again and again.
func endless() string {
	var b strings.Builder
	b.WriteString(strings.Replace(strings.Split(small, "steps:")[0], "a small scenario", "endless", 1))
	for i := range 1000 {
		fmt.Fprintf(&b, "  - {addresses: [10.244.%d.%d], nodeName: node2}\n", 3+i/200, i%200+1)
	}
	text := strings.Replace(b.String(), "[{addresses: [10.244.2.2], nodeName: node2}]\n", "\n", 1)
	const call = "{from: client, to: 'tcp 172.30.0.41:80', expect: reject}"
	return text + "steps:\n- cases: [" + strings.Repeat(call+", ", 999) + call + "]\n"
}

func TestRunThatIsInterruptedPrintsWhatIsDone(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": named("first"), "b.yaml": endless(), "c.yaml": named("last")})
	cmd := process(t, "run", dir, "--progress", "--parallel", "1", "--ways", "none")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	messages := bufio.NewReader(stderr)
	var seen strings.Builder
	for !strings.HasSuffix(seen.String(), "running "+filepath.Join(dir, "b.yaml")) {
		c, err := messages.ReadByte()
		require.NoError(t, err, seen.String())
		seen.WriteByte(c)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(messages)
	require.NoError(t, err)
	_ = cmd.Wait() // its status is looked at
	assert.Equal(t, exitNotHeld, cmd.ProcessState.ExitCode(), string(rest))
	assert.Contains(t, string(rest), "chainwalk: interrupted: 1 of 3 scenarios were run\n")
	assert.Equal(t, "ok    first ("+filepath.Join(dir, "a.yaml")+" on sim, 2 checks)\n1 scenario, 0 failed, 0 skipped; 2 checks, 0 failed\n",
		out.String())
}

// TestASecondInterruptEndsAtOnce: what waits for its input does not look at the first one.
func TestASecondInterruptEndsAtOnce(t *testing.T) {
	cmd := process(t, "run", "-")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = in.Write(bytes.Repeat([]byte("# read by somebody who waits for interrupts by now\n"), 10_000)) // more than a pipe holds
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its status is looked at
		close(ended)
	}()
	interrupts := 0
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-time.After(time.Millisecond): // a program that gets them without a pause may die of a signal at a thread that ends
			if cmd.Process.Signal(os.Interrupt) == nil {
				interrupts++
			}
		}
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	assert.True(t, status.Signaled() && status.Signal() == syscall.SIGINT, "%v", cmd.ProcessState)
	assert.GreaterOrEqual(t, interrupts, 2)
	_ = in.Close() // nobody reads it any more
}

// unprivileged is the user nobody.
const unprivileged = 65534

// TestNetnsNeedsRoot: whoever else runs it is told what to do.
func TestNetnsNeedsRoot(t *testing.T) {
	cmd := process(t, "run", "--on", "netns", "-")
	cmd.Stdin = strings.NewReader(small)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // its status is looked at
	assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode(), errOut.String())
	assert.Empty(t, out.String())
	assert.Equal(t, "chainwalk: --on netns: only root may make network namespaces (run it with sudo, or --on sim): operation not permitted\n",
		errOut.String())
}
