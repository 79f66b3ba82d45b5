package node

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
)

// Fresh has another proxier write its rules into a kernel. It has the configuration of the node's proxier, and knows what that one
// knows now.
func (n *Node) Fresh(kernel Kernel) error {
	process := n.process
	process.Kernel, process.unwatched, process.Health = kernel, kernel.Exec, unheard{}
	proxy, _, err := n.make(process)
	if err != nil {
		return err
	}
	n.queue.Knowledge().Tell(api.NewQueue(n.name, proxy))
	return errors.Join(proxy.EnsureCanaries(), proxy.Sync())
}

// unheard is the health of a proxier that nobody asks for it.
type unheard struct{}

var _ proxier.Health = unheard{}

// QueuedUpdate is not noted.
func (unheard) QueuedUpdate(corev1.IPFamily) {}

// Updated is not noted.
func (unheard) Updated(corev1.IPFamily) {}
