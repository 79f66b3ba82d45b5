package node

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
)

// Fresh has another proxier like the node's, with the same configuration, which knows nothing but what the node's knows now, write
// its rules into a kernel.
func (n *Node) Fresh(kernel Kernel) error {
	process := n.process
	process.Kernel, process.Health = kernel, unheard{}
	proxy, _, err := n.make(process)
	if err != nil {
		return err
	}
	n.queue.Knowledge().Tell(api.NewQueue(n.name, proxy))
	return errors.Join(proxy.EnsureCanaries(), proxy.Sync())
}

// unheard is told of a proxier that nobody asks how it is.
type unheard struct{}

var _ proxier.Health = unheard{}

// QueuedUpdate is not noted.
func (unheard) QueuedUpdate(corev1.IPFamily) {}

// Updated is not noted.
func (unheard) Updated(corev1.IPFamily) {}
