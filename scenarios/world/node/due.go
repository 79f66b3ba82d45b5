package node

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/healthcheck"
)

// Due reports whether the proxier has said since its last sync began that there is a reason for another one.
func (n *Node) Due() bool { return n.due.Load() }

// heard passes on what a proxier says of its syncs, and notes that one is due.
type heard struct {
	*healthcheck.ProxyServer
	due *atomic.Bool
}

var _ proxier.Health = heard{}

// QueuedUpdate notes that a sync is due.
func (h heard) QueuedUpdate(family corev1.IPFamily) {
	h.due.Store(true)
	h.ProxyServer.QueuedUpdate(family)
}
