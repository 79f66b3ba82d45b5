package peers

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// Families are both families, in the order in which they are synced and compared.
var Families = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}

// Peer is a proxier of both families on a kernel of its own.
type Peer interface {
	cases.Handler
	// Kernel is what the proxier writes to.
	Kernel() *fakekernel.Kernel
	// Kernels is what the real kernel and the fake one have answered differently since the last call, where the settings have both.
	Kernels() []string
	// Close gives up what the peer has of the real kernel.
	Close() error
	// Sync syncs each family and returns the error of each. The first call says that all objects were delivered.
	Sync() map[v1.IPFamily]error
	// Flush empties the tables and lets the proxier notice.
	Flush() map[v1.IPFamily]error
	// Fail makes the restores of the next sync fail.
	Fail()
	// Hour lets more than syncPeriod and the period of full syncs pass.
	Hour()
	// Flows are the UDP connections of the node.
	Flows() *Flows
	// Sysctls are the settings of the node's kernel, spelled as below /proc/sys.
	Sysctls() map[string]int
	// Health is what the server of health checks was told last.
	Health(family v1.IPFamily) map[types.NamespacedName]Health
	// Metrics are the values after the last sync of the family, those that are compared.
	Metrics(family v1.IPFamily) map[string]float64
}

// Health is what the health check of one service answers.
type Health struct {
	Port           uint16
	LocalEndpoints int
}

// KernelFamily is the kernel's number of a family.
func KernelFamily(family v1.IPFamily) netfilter.Family {
	if family == v1.IPv6Protocol {
		return netfilter.IPv6
	}
	return netfilter.IPv4
}

func nodeIP(family v1.IPFamily, settings *cases.Settings) netip.Addr {
	switch {
	case settings.NodeAddressUnknown && family == v1.IPv6Protocol:
		return netip.IPv6Loopback()
	case settings.NodeAddressUnknown:
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case family == v1.IPv6Protocol:
		return nodeIPv6
	}
	return nodeIPv4
}

func pods(family v1.IPFamily) netip.Prefix {
	if family == v1.IPv6Protocol {
		return podsIPv6
	}
	return podsIPv4
}

// flushTables does what a reload of a firewall does.
func flushTables(kernel *fakekernel.Kernel) {
	for _, tool := range []string{"iptables", "ip6tables"} {
		for _, table := range []string{"mangle", "nat", "filter"} {
			for _, option := range []string{"-F", "-X"} {
				_, _ = kernel.Exec().Command(tool, "-t", table, option).CombinedOutput() // a chain that others lead to stays
			}
		}
	}
}
