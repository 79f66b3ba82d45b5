//go:build linux

package namespace_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/namespace"
)

// witnessEnv names the namespace in which a child process is to leave a witness.
const witnessEnv = "CHAINWALK_NAMESPACE_WITNESS"

// leaveWitness is what the child of TestKernelNamespaceEndsWithTheProcess does: it makes a namespace, ties it to its parent's by a wire and
// waits to be killed.
func leaveWitness(t *testing.T, path string) {
	parent, err := netns.GetFromPath(path)
	require.NoError(t, err)
	ns, err := namespace.New()
	require.NoError(t, err)
	require.NoError(t, ns.Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "inside"}, PeerName: "witness", PeerNamespace: netlink.NsFd(int(parent)),
		})
	}))
	fmt.Println("ready")
	select {}
}

// TestKernelNamespaceEndsWithTheProcess kills a process that has a namespace, and waits until the other end of the wire in it is gone.
func TestKernelNamespaceEndsWithTheProcess(t *testing.T) {
	if path := os.Getenv(witnessEnv); path != "" {
		leaveWitness(t, path)
	}
	kerneltest.Need(t)
	own := kerneltest.New(t)
	gone := make(chan struct{})
	updates, stop := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	defer close(stop)
	require.NoError(t, netlink.LinkSubscribeAt(netns.NsHandle(own.FD()), updates, stop))
	go func() {
		for update := range updates {
			if update.Header.Type == unix.RTM_DELLINK && update.Attrs().Name == "witness" {
				close(gone)
				return
			}
		}
	}()

	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), witnessEnv+"="+own.Path())
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	own.Do(func() {
		_, err := netlink.LinkByName("witness")
		require.NoError(t, err, "the child has tied its namespace to this one")
	})

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait(), "it was killed")
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the namespace of a killed process is still there")
	}
}

// TestKernelNamespacesAreApart does in one namespace what another one and the machine's own must not see.
func TestKernelNamespacesAreApart(t *testing.T) {
	kerneltest.Need(t, "ip", "sh")
	home, err := os.Readlink("/proc/thread-self/ns/net")
	require.NoError(t, err)
	one, other := kerneltest.New(t), kerneltest.New(t)
	one.Must("ip link add here type bridge")
	require.NoError(t, other.SetSysctl("net.ipv4.ip_forward", "0")) // on a machine that forwards it begins with 1
	require.NoError(t, one.SetSysctl("net.ipv4.ip_forward", "1"))
	value, err := other.Sysctl("net/ipv4/ip_forward")
	require.NoError(t, err)
	assert.Equal(t, "0", value)
	assert.NotContains(t, other.Must("ip -o link"), "here")
	require.ErrorIs(t, one.SetSysctl("net.ipv4.no_such_setting", "1"), os.ErrNotExist)

	r := one.Run([]string{"sh", "-c", "cat; echo $XTABLES_LOCKFILE >&2; exit 3"}, "input")
	assert.Equal(t, namespace.Result{Status: 3, Stdout: "input", Stderr: one.LockFile() + "\n"}, r)
	assert.NotEqual(t, one.LockFile(), other.LockFile())
	assert.Equal(t, 128+9, one.Run([]string{"sh", "-c", "kill -9 $$"}, "").Status)
	_, err = one.Output([]string{"sh", "-c", "echo why >&2; exit 4"}, "")
	require.EqualError(t, err, "sh -c echo why >&2; exit 4: exit status 4: why\n")
	out, err := one.Exec().Command("ip", "-o", "link").CombinedOutput()
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(out), "here"), "%s", out)

	back, err := os.Readlink("/proc/thread-self/ns/net")
	require.NoError(t, err)
	assert.Equal(t, home, back)
}
