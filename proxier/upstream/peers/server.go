package peers

import (
	"net"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/proxy"
	"k8s.io/kubernetes/pkg/proxy/apis/config"
	utilnode "k8s.io/kubernetes/pkg/util/node"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	simnode "github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Process is kube-proxy on a node of a simulated cluster, its proxier of both families as its server sets it up there.
func Process(p simnode.Process) (simnode.Proxy, []string, error) { return newServer(p, 0) }

// server is kube-proxy with whoever starts it again: kube-proxy's own NodeManager says when the process ends, and the next one begins
// with the next sync, on the same kernel. The queue knows what the process was told.
type server struct {
	*api.Queue
	process *process
	manager *proxy.NodeManager
	ended   bool
}

func newServer(p simnode.Process, mends Mends) (simnode.Proxy, []string, error) {
	s := &server{}
	return s, nil, s.start(p, mends)
}

// start begins a process that has been told of nothing.
func (s *server) start(p simnode.Process, mends Mends) error {
	started, err := newProcess(p, mends)
	if err != nil {
		return err
	}
	s.process, s.Queue, s.ended, s.manager = started, api.NewQueue(p.Node, started), false, &proxy.NodeManager{}
	*field[func(int)](s.manager, "exitFunc") = func(int) { s.ended = true }
	*field[bool](s.manager, "watchPodCIDRs") = config.LocalMode(p.Configuration.DetectLocalMode) == config.LocalModeNodeCIDR
	if p.Object != nil {
		*field[[]net.IP](s.manager, "nodeIPs"), _ = utilnode.GetNodeHostIPs(p.Object) // an object without any has none
		*field[[]string](s.manager, "podCIDRs") = p.Object.Spec.PodCIDRs
	}
	return nil
}

// again starts the process again if it has ended, and tells it of all that is there.
func (s *server) again() error {
	if !s.ended || !s.process.services || !s.process.slices {
		return nil
	}
	known, p := s.Knowledge(), s.process.process
	p.Object = known.Node
	if err := s.start(p, s.process.mends); err != nil {
		return err
	}
	known.Tell(s.Queue)
	return nil
}

// EnsureCanaries implements node.Proxy.
func (s *server) EnsureCanaries() error {
	if err := s.again(); err != nil {
		return err
	}
	return s.process.EnsureCanaries()
}

// Sync implements node.Proxy.
func (s *server) Sync() error {
	if err := s.again(); err != nil {
		return err
	}
	return s.process.Sync()
}

// SyncAll has the loops sync everything.
func (s *server) SyncAll() error {
	if err := s.again(); err != nil {
		return err
	}
	return s.process.SyncAll()
}

// Health implements node.Proxy.
func (s *server) Health(family v1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth {
	return s.process.Health(family)
}

// OnNodeAdd implements config.Handler.
func (s *server) OnNodeAdd(n *v1.Node) { s.OnNodeUpdate(nil, n) }

// OnNodeUpdate implements config.Handler.
func (s *server) OnNodeUpdate(before, n *v1.Node) {
	if n.Name == s.process.process.Node {
		s.manager.OnNodeChange(n)
	}
	s.Queue.OnNodeUpdate(before, n)
}

// OnNodeDelete implements config.Handler.
func (s *server) OnNodeDelete(n *v1.Node) {
	if n.Name == s.process.process.Node {
		s.manager.OnNodeDelete(n)
	}
	s.Queue.OnNodeDelete(n)
}
