package model

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// Changes are the decisions that may be other ones than before.
type Changes struct {
	// Services are the Services that have changed, sorted by name.
	Services []types.NamespacedName
	// Ports are all service ports that these Services have now, sorted by name. One
	// that a Service had before and that is not among them is gone.
	Ports []Service
	// NodePorts says at which addresses node ports are served now.
	NodePorts NodePorts
	// ServiceCIDRs are the ranges that cluster IPs come from now.
	ServiceCIDRs []netip.Prefix
}

// Has says whether the service port is among the Ports.
func (c *Changes) Has(name *changes.ServicePortName) bool {
	_, found := slices.BinarySearchFunc(c.Ports, name, func(s Service, name *changes.ServicePortName) int {
		return s.Port.Name.Compare(*name)
	})
	return found
}
