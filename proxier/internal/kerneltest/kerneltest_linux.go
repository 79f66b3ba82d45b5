package kerneltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Enter skips a test that was not allowed to use the kernel. Otherwise it keeps the test on its thread and in a new network
// namespace, in which tools run too, until the test ends. The name begins with a prefix of the package's own.
func Enter(t testing.TB, prefix string) {
	t.Helper()
	if os.Getenv("CHAINWALK_KERNEL") != "1" {
		t.Skip("needs root, ip netns, iptables, conntrack and nfacct: set CHAINWALK_KERNEL=1")
	}
	runtime.LockOSThread()
	home, err := netns.Get()
	require.NoError(t, err)
	name := fmt.Sprintf("%s-%d", prefix, os.Getpid())
	t.Setenv("XTABLES_LOCKFILE", filepath.Join(t.TempDir(), "xtables.lock"))
	t.Cleanup(func() {
		require.NoError(t, netns.Set(home))
		require.NoError(t, home.Close())
		runtime.UnlockOSThread()
		Run(t, "", "ip", "netns", "del", name)
	})
	there, err := netns.NewNamed(name)
	require.NoError(t, err)
	require.NoError(t, there.Close())
	Run(t, "", "ip", "link", "set", "lo", "up")
}

// Run runs a tool that must not fail, and returns what it prints.
func Run(t testing.TB, stdin string, argv ...string) string {
	t.Helper()
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%v: %s", argv, output)
	return string(output)
}

// WithoutNetAdmin takes CAP_NET_ADMIN from the thread during a call. Enter must have been called.
func WithoutNetAdmin(t testing.TB, call func()) {
	t.Helper()
	var caps [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	require.NoError(t, unix.Capget(&header, &caps[0]))
	full := caps
	caps[0].Effective &^= 1 << unix.CAP_NET_ADMIN
	require.NoError(t, unix.Capset(&header, &caps[0]))
	defer func() { require.NoError(t, unix.Capset(&header, &full[0])) }()
	call()
}
