//go:build linux

package sysctl

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// inNamespaces keeps the test on a thread of its own, in new network and mount namespaces, which end with the thread.
func inNamespaces(t *testing.T) *Files {
	kerneltest.Need(t)
	runtime.LockOSThread() // and never unlocked: the thread is no good for others
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET|unix.CLONE_NEWNS))
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	f, err := Open("/")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// namespaced are settings that each network namespace has for itself.
func namespaced() []Setting {
	return []Setting{
		{conntrack + "tcp_timeout_established", 4711, false},
		{conntrack + "udp_timeout_stream", 99, false},
		{conntrack + "tcp_be_liberal", 1, false},
		{routeLocalnet, 1, false},
	}
}

func TestKernelSettings(t *testing.T) {
	f := inNamespaces(t)
	report, err := f.Apply(namespaced())
	require.NoError(t, err)
	assert.Equal(t, Report{Changed: namespaced()}, report)
	report, err = f.Apply(namespaced())
	require.NoError(t, err)
	assert.Equal(t, Report{}, report)

	value, err := f.Get("net/ipv4/conf/all/route_localnet")
	require.NoError(t, err)
	assert.Equal(t, 1, value)
	size, err := f.read(hashSize)
	require.NoError(t, err)
	assert.Positive(t, size)
	report, err = f.Apply([]Setting{{hashSize, 1, true}})
	require.NoError(t, err)
	assert.Equal(t, Report{}, report, "the hash table of this machine stays")
	assert.Positive(t, f.Cores())
}

func TestKernelSettingsMountedReadOnly(t *testing.T) {
	f := inNamespaces(t)
	settings := namespaced()
	_, err := f.Apply(settings[:1])
	require.NoError(t, err)
	require.NoError(t, unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, ""))
	require.NoError(t, unix.Mount("", "/proc/sys", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))

	report, err := f.Apply(settings)
	require.NoError(t, err)
	assert.Equal(t, Report{ReadOnly: settings[1:]}, report, "the first has its value already")
	assert.Equal(t, "The node needs repair: its kernel settings are mounted read-only and cannot be changed: "+
		"/proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream = 99, /proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal = 1, "+
		"/proc/sys/net/ipv4/conf/all/route_localnet = 1. Mount them writable, or set them on the node itself. "+
		"Connections may be lost until then", report.Warning())
}
