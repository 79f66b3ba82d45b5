package node

import (
	"errors"

	"github.com/chainwalk/chainwalk/scenarios/api"
)

// Fresh has another proxier like the node's, with the same configuration, which knows nothing but what the node's knows now, write
// its rules into a kernel.
func (n *Node) Fresh(kernel Kernel) error {
	process := n.process
	process.Kernel, process.Health = kernel, nil
	proxy, _, err := n.make(process)
	if err != nil {
		return err
	}
	n.queue.View().Tell(api.NewQueue(n.name, proxy))
	return errors.Join(proxy.EnsureCanaries(), proxy.Sync())
}
