package sim

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// kernelOf is a node's kernel as its proxier meets it.
func kernelOf(host *packetsim.Host, tools *fakekernel.Kernel) node.Kernel {
	return node.Kernel{
		Exec: tools.Exec(), Sysctls: sysctls{host}, Network: addresses{host}, Conntrack: connections{host},
	}
}

// sysctls lets a proxier read and set its host's kernel settings.
type sysctls struct{ host *packetsim.Host }

func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }

// Get reads a setting; one that nobody has set has the kernel's default, 0.
func (s sysctls) Get(name string) (int, error) {
	value, ok := s.host.Sysctl(dotted(name))
	if !ok {
		return 0, nil
	}
	return strconv.Atoi(value)
}

// Set sets a setting.
func (s sysctls) Set(name string, value int) error {
	return s.host.SetSysctl(dotted(name), strconv.Itoa(value))
}

// addresses tells a proxier its host's addresses.
type addresses struct{ host *packetsim.Host }

// NodeAddresses lists the addresses of all devices.
func (a addresses) NodeAddresses() ([]netip.Addr, error) {
	var out []netip.Addr
	for _, device := range a.host.Config().Devices {
		for _, address := range device.Addresses {
			out = append(out, address.Prefix.Addr())
		}
	}
	return out, nil
}
