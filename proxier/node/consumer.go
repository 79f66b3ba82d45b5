package node

import (
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// consumer is a Manager's place among the informers. Informers may watch other
// nodes too, and consumers of Nodes get Services and EndpointSlices as well.
type consumer struct{ manager *Manager }

var _ config.Handler = consumer{}

func (c consumer) OnNodeAdd(node *v1.Node) { c.OnNodeUpdate(nil, node) }

func (c consumer) OnNodeUpdate(_, node *v1.Node) {
	if node.Name == c.manager.options.Name {
		c.manager.see(node)
	}
}

func (c consumer) OnNodeDelete(node *v1.Node) {
	if node.Name == c.manager.options.Name {
		c.manager.lose()
	}
}

func (consumer) OnNodeSynced() {}

func (consumer) OnServiceAdd(*v1.Service)                            {}
func (consumer) OnServiceUpdate(_, _ *v1.Service)                    {}
func (consumer) OnServiceDelete(*v1.Service)                         {}
func (consumer) OnServiceSynced()                                    {}
func (consumer) OnEndpointSliceAdd(*discovery.EndpointSlice)         {}
func (consumer) OnEndpointSliceUpdate(_, _ *discovery.EndpointSlice) {}
func (consumer) OnEndpointSliceDelete(*discovery.EndpointSlice)      {}
func (consumer) OnEndpointSlicesSynced()                             {}
