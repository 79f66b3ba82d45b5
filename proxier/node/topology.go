package node

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// TopologyHandler is told where the node is.
type TopologyHandler interface {
	// OnTopologyChange gets the labels of the node that tell where it is,
	// which is its zone (v1.LabelTopologyZone), if it has one.
	OnTopologyChange(labels map[string]string)
}

// topology tells handlers of changes, one by one and in order.
type topology struct {
	lock     sync.Mutex
	labels   map[string]string
	handlers []TopologyHandler
}

// add tells the handler at once, unless there is nothing to tell.
func (t *topology) add(handler TopologyHandler) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.handlers = append(t.handlers, handler)
	if len(t.labels) > 0 {
		handler.OnTopologyChange(maps.Clone(t.labels))
	}
}

func (t *topology) update(node *v1.Node) {
	labels := map[string]string{}
	if zone, ok := node.Labels[v1.LabelTopologyZone]; ok {
		labels[v1.LabelTopologyZone] = zone
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if maps.Equal(t.labels, labels) {
		return
	}
	t.labels = labels
	for _, handler := range t.handlers {
		handler.OnTopologyChange(maps.Clone(labels))
	}
}
