package kerneltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/namespace"
)

// Namespace is a network namespace of a test, which fails with what fails in it.
type Namespace struct {
	*namespace.Namespace
	tb testing.TB
}

// New makes a namespace that goes away with the test. Need must have been called.
func New(tb testing.TB) *Namespace {
	tb.Helper()
	n, err := namespace.New()
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, n.Close()) })
	return &Namespace{n, tb}
}

// In is the namespace for a subtest.
func (n *Namespace) In(tb testing.TB) *Namespace { return &Namespace{n.Namespace, tb} }

// Do runs f in the namespace. Sockets that it opens stay there.
func (n *Namespace) Do(f func()) {
	n.tb.Helper()
	require.NoError(n.tb, n.Namespace.Do(func() error {
		f()
		return nil
	}))
}

// Run runs a program that may fail.
func (n *Namespace) Run(argv []string, stdin string) namespace.Result {
	n.tb.Helper()
	r, err := n.Namespace.Run(argv, stdin)
	require.NoError(n.tb, err)
	return r
}

// Feed runs a program that must not fail with an input, and returns what it prints.
func (n *Namespace) Feed(stdin string, argv ...string) string {
	n.tb.Helper()
	out, err := n.Output(argv, stdin)
	require.NoError(n.tb, err)
	return out
}

// Must runs commands that must not fail, whose words are apart by blanks, and returns what the last one prints.
func (n *Namespace) Must(commands ...string) (output string) {
	n.tb.Helper()
	for _, c := range commands {
		output = n.Feed("", strings.Fields(c)...)
	}
	return output
}

// Stay keeps the test on its thread and in the namespace, with the namespace's lock for the iptables tools, until the test ends.
func (n *Namespace) Stay() {
	n.tb.Helper()
	n.tb.Setenv("XTABLES_LOCKFILE", n.LockFile())
	leave, err := n.Enter()
	require.NoError(n.tb, err)
	n.tb.Cleanup(func() { require.NoError(n.tb, leave()) })
}

// Enter makes a namespace in which the test stays, and whose loopback device is up. The tools must be there.
func Enter(tb testing.TB, tools ...string) *Namespace {
	tb.Helper()
	Need(tb, append(tools, "ip")...)
	n := New(tb)
	n.Stay()
	n.Must("ip link set lo up")
	return n
}

// WithoutNetAdmin takes CAP_NET_ADMIN from the thread during a call. The test must stay on its thread.
func WithoutNetAdmin(tb testing.TB, call func()) {
	tb.Helper()
	var caps [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	require.NoError(tb, unix.Capget(&header, &caps[0]))
	full := caps
	caps[0].Effective &^= 1 << unix.CAP_NET_ADMIN
	require.NoError(tb, unix.Capset(&header, &caps[0]))
	defer func() { require.NoError(tb, unix.Capset(&header, &full[0])) }()
	call()
}
