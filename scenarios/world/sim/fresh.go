package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

// Fresh is the netfilter of a node that nobody has touched, over which a new proxier has synced that knows what the node's proxier
// knows. The node's rules must become the same.
func (w *World) Fresh(name string) (*fakekernel.Kernel, error) {
	tools := fakekernel.New(fakekernel.Options{Dialect: w.cluster.Dialect, Clock: w.clock})
	kernel := kernelOf(w.network.Host(name).Host, tools)
	kernel.Sysctls, kernel.Conntrack = &beside{Sysctls: kernel.Sysctls, set: map[string]int{}}, noConnections{}
	if err := w.Node(name).Fresh(kernel); err != nil {
		return nil, fmt.Errorf("%s: a new proxier: %w", name, err)
	}
	return tools, nil
}

// beside are kernel settings of which one sees what somebody else has set, who does not see what one sets oneself.
type beside struct {
	proxier.Sysctls
	set map[string]int
}

// Get reads a setting.
func (s *beside) Get(name string) (int, error) {
	if value, ok := s.set[name]; ok {
		return value, nil
	}
	return s.Sysctls.Get(name)
}

// Set sets a setting.
func (s *beside) Set(name string, value int) error {
	s.set[name] = value
	return nil
}

// noConnections is the conntrack of a node that has seen no packet.
type noConnections struct{}

// Walk visits nothing.
func (noConnections) Walk(corev1.IPFamily, func(conntrack.Entry)) error { return nil }

// Delete finds nothing to delete.
func (noConnections) Delete(corev1.IPFamily, []conntrack.Entry) (int, error) { return 0, nil }
