//go:build linux

package nfacct

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// inNamespace is the kernel's objects in a new network namespace.
func inNamespace(t *testing.T) (*kerneltest.Namespace, Kernel) {
	ns := kerneltest.Enter(t, "nfacct", "iptables")
	k, err := New()
	require.NoError(t, err)
	return ns, k
}

// listed are the objects as the tool prints them.
func listed(t *testing.T, ns *kerneltest.Namespace) (counters []Counter) {
	line := regexp.MustCompile(`pkts = (\d+), bytes = (\d+)[ ,].*\} = (.*);`)
	for text := range strings.Lines(ns.Must("nfacct list")) {
		found := line.FindStringSubmatch(text)
		require.NotNil(t, found, text)
		packets, err := strconv.ParseUint(found[1], 10, 64)
		require.NoError(t, err)
		bytes, err := strconv.ParseUint(found[2], 10, 64)
		require.NoError(t, err)
		counters = append(counters, Counter{name: found[3], Packets: packets, bytes: bytes})
	}
	return counters
}

func requireLikeTheTool(t *testing.T, ns *kerneltest.Namespace, k Kernel) []Counter {
	t.Helper()
	counters, err := k.list()
	require.NoError(t, err)
	require.ElementsMatch(t, listed(t, ns), counters)
	for _, want := range counters {
		got, err := k.Get(want.name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	return counters
}

func TestKernelLikeTheTool(t *testing.T) {
	ns, k := inNamespace(t)
	assert.Empty(t, requireLikeTheTool(t, ns, k))

	longest := strings.Repeat("x", maxName)
	for _, name := range []string{"drops", longest, "with space"} {
		_, err := k.Get(name)
		require.ErrorIs(t, err, errNotFound)
		require.NoError(t, k.Ensure(name))
		require.NoError(t, k.Ensure(name), "it is there")
		require.ErrorIs(t, k.add(name), errExists)
	}
	ns.Must("nfacct add theirs", "nfacct add limited packet 5")
	require.NoError(t, k.Ensure("theirs"))
	assert.Len(t, requireLikeTheTool(t, ns, k), 5)
}

// Rules count in the counters, and reading does not reset them.
func TestKernelCounts(t *testing.T) {
	ns, k := inNamespace(t)
	require.NoError(t, k.Ensure("drops"))
	ns.Must("iptables -w -A OUTPUT -m nfacct --nfacct-name drops -j DROP")
	client, err := net.Dial("udp", "127.0.0.1:9")
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	for range 3 {
		_, err := client.Write(make([]byte, 10))
		require.ErrorIs(t, err, unix.EPERM, "the packet is dropped")
	}
	for range 2 {
		assert.Equal(t, []Counter{{name: "drops", Packets: 3, bytes: 3 * (20 + 8 + 10)}}, requireLikeTheTool(t, ns, k))
	}
	require.NoError(t, k.Ensure("drops"))
	require.ErrorIs(t, k.add("drops"), errExists)
	assert.Equal(t, []Counter{{name: "drops", Packets: 3, bytes: 3 * (20 + 8 + 10)}}, requireLikeTheTool(t, ns, k))
}

func TestKernelRefusesNames(t *testing.T) {
	ns, k := inNamespace(t)
	for name, want := range map[string]error{"": errEmptyName, strings.Repeat("x", maxName+1): errNameTooLong} {
		assert.ErrorIs(t, k.add(name), want)
		assert.ErrorIs(t, k.Ensure(name), want)
		_, err := k.Get(name)
		assert.ErrorIs(t, err, want)
	}
	assert.Empty(t, listed(t, ns))
}

func TestKernelNeedsPrivileges(t *testing.T) {
	_, k := inNamespace(t)
	var newError, addError, listError error
	kerneltest.WithoutNetAdmin(t, func() {
		_, newError = New()
		addError = k.add("drops")
		_, listError = k.list()
	})
	for _, err := range []error{newError, addError, listError} {
		require.ErrorIs(t, err, unix.EPERM)
		require.ErrorContains(t, err, "run as root, or with CAP_NET_ADMIN")
	}
}
