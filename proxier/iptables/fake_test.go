package iptables

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"
)

// step is one command that a Runner is expected to run, and how it ends.
type step struct {
	run            string // the arguments; those with a blank are quoted
	stdin          string
	stdout, stderr string
	exit           int
	err            error // not an exit
}

// scripted runs the steps and no other command.
func scripted(t *testing.T, steps ...step) exec.Interface {
	t.Helper()
	fake := &testingexec.FakeExec{}
	for _, s := range steps {
		fake.CommandScript = append(fake.CommandScript, func(name string, args ...string) exec.Cmd {
			assert.Equal(t, s.run, commandLine(append([]string{name}, args...)))
			return fakeCommand(t, s, name, args)
		})
	}
	t.Cleanup(func() { assert.Equal(t, len(steps), fake.CommandCalls, "number of commands") })
	return fake
}

// fakeCommand ends as the step says.
func fakeCommand(t *testing.T, s step, name string, args []string) exec.Cmd {
	cmd := &testingexec.FakeCmd{}
	cmd.RunScript = []testingexec.FakeAction{func() ([]byte, []byte, error) {
		assert.Equal(t, s.stdin, readAll(t, cmd.Stdin), "stdin")
		switch {
		case s.err != nil:
			return nil, nil, s.err
		case s.exit != 0:
			return []byte(s.stdout), []byte(s.stderr), testingexec.FakeExitError{Status: s.exit}
		}
		return []byte(s.stdout), []byte(s.stderr), nil
	}}
	return testingexec.InitFakeCmd(cmd, name, args...)
}

func readAll(t *testing.T, r io.Reader) string {
	if r == nil {
		return ""
	}
	data, err := io.ReadAll(r)
	assert.NoError(t, err)
	return string(data)
}

func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if strings.Contains(arg, " ") {
			words[i] = strconv.Quote(arg)
		}
	}
	return strings.Join(words, " ")
}

// newScripted returns a Runner of IPv4 with tools of a version; steps come after the question for the version.
func newScripted(t *testing.T, version string, opts Options, steps ...step) *Runner {
	t.Helper()
	ask := step{run: "iptables --version", stdout: "iptables " + version + "\n"}
	runner, err := New(scripted(t, append([]step{ask}, steps...)...), ProtocolIPv4, opts)
	require.NoError(t, err)
	return runner
}

// execFunc is tools that are a function. Contexts are given to it, unlike with testingexec.FakeExec.
type execFunc func(ctx context.Context, argv []string) (stdout, stderr string, err error)

func (f execFunc) Command(name string, args ...string) exec.Cmd {
	return f.CommandContext(context.Background(), name, args...)
}

func (f execFunc) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	cmd := &testingexec.FakeCmd{RunScript: []testingexec.FakeAction{func() ([]byte, []byte, error) {
		stdout, stderr, err := f(ctx, append([]string{name}, args...))
		return []byte(stdout), []byte(stderr), err
	}}}
	return testingexec.InitFakeCmd(cmd, name, args...)
}

func (f execFunc) LookPath(name string) (string, error) { return name, nil }

// waitClock is a clock that stands still, and tells for how long somebody waits on it.
type waitClock struct {
	*testingclock.FakeClock
	waiting chan time.Duration
}

func newWaitClock() *waitClock {
	return &waitClock{
		FakeClock: testingclock.NewFakeClock(time.Unix(1_000_000, 0)),
		waiting:   make(chan time.Duration),
	}
}

func (c *waitClock) NewTimer(d time.Duration) clock.Timer {
	timer := c.FakeClock.NewTimer(d)
	c.waiting <- d
	return timer
}

func (c *waitClock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }
