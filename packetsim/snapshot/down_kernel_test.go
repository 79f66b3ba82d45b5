//go:build linux

package snapshot

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelKeepsAddressesOfDevicesThatAreDown asks the kernel which addresses of a device are its own while the device has never been up,
// is up, and is down again. kube-ipvs0 of mode ipvs is never up.
func TestKernelKeepsAddressesOfDevicesThatAreDown(t *testing.T) {
	kerneltest.Need(t, "ip")
	n := kerneltest.New(t)
	n.Must("ip link set lo up", "ip link add down0 type veth peer name other0", "ip link set other0 up",
		"ip addr add 10.96.0.10/32 dev down0", "ip addr add fd00::10/128 dev down0 nodad")
	for _, state := range []string{"never up", "up", "down"} {
		if state != "never up" {
			n.Must("ip link set down0 " + state)
		}
		routes := func() (said [2]string) {
			for i, address := range ownAddresses {
				said[i] = n.Run([]string{"ip", "route", "get", address}, "").Stdout
			}
			return said
		}
		// The kernel takes an address of IPv6 in a work queue, so its answer can change while the snapshot is taken.
		said, taken := routes(), takeIn(t, n)
		for now := routes(); now != said; now = routes() {
			said, taken = now, takeIn(t, n)
		}
		host, err := NewHost(taken, HostOptions{})
		require.NoError(t, err)
		for i, address := range ownAddresses {
			assert.Equal(t, strings.HasPrefix(said[i], "local "), host.IsLocal(netip.MustParseAddr(address)), "%s, %s: %s", state, address, said[i])
		}
	}
}

var ownAddresses = [2]string{"10.96.0.10", "fd00::10"}

// takeIn takes a snapshot of a namespace.
func takeIn(t *testing.T, n *kerneltest.Namespace) (taken *NodeSnapshot) {
	n.Do(func() {
		var err error
		taken, err = Take(t.Context(), exec.New())
		require.NoError(t, err)
	})
	return taken
}
