package node

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// How long Start waits, as kube-proxy does: a kubelet that registers the node
// has its addresses within seconds; pod ranges come from a controller that may
// be starting itself.
const (
	nodeIPsTimeout  = 30 * time.Second
	podCIDRsTimeout = 5 * time.Minute
)

// Options is what a Manager is told.
type Options struct {
	// Name is the node's name in the API. Required.
	Name string
	// WatchPodCIDRs is for proxiers that recognise local traffic by the
	// node's pod ranges: the Manager must have these, and exits when they
	// change.
	WatchPodCIDRs bool
	// Exit is called with status 1 when the process has to begin anew. It is
	// called without locks; if it returns, the Manager goes on. Required.
	Exit func(code int)
	// Clock is required.
	Clock clock.Clock
	// Logger gets what is no error. The zero value is silent.
	Logger klog.Logger
}

// Manager knows this node. Its methods may be called from several goroutines.
type Manager struct {
	options Options
	// changed holds an item if the node has changed since it was last taken.
	changed chan struct{}

	// These are constant once settled.
	nodeIPs  []netip.Addr
	podCIDRs []string

	lock    sync.Mutex
	settled bool
	node    *v1.Node
}

// Start follows the node until the informers stop. It returns when the node
// has addresses, and pod ranges if these are watched.
//
// Without pod ranges, or without a node to have them, that is an error after
// some minutes. A node without addresses, or none at all, is let pass after 30
// seconds where no pod ranges are needed: the proxier can serve without.
func Start(ctx context.Context, informers *config.Informers, options Options) (*Manager, error) {
	m := &Manager{options: options, changed: make(chan struct{}, 1)}
	registration, err := informers.AddConsumer(ctx, consumer{m})
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", options.Name, err)
	}
	if err := m.settle(ctx); err != nil {
		registration.Remove()
		return nil, err
	}
	return m, nil
}

// settle waits for what is needed and takes it.
func (m *Manager) settle(ctx context.Context) error {
	hasIPs := func() bool { return len(HostIPs(m.Node())) > 0 }
	if err := m.await(ctx, nodeIPsTimeout, hasIPs); err != nil {
		return err
	}
	if m.options.WatchPodCIDRs {
		hasPodCIDRs := func() bool { return len(podCIDRsOf(m.Node())) > 0 }
		if err := m.await(ctx, podCIDRsTimeout, hasPodCIDRs); err != nil {
			return err
		}
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.nodeIPs, m.podCIDRs = HostIPs(m.node), podCIDRsOf(m.node)
	err := m.lacks()
	m.settled = err == nil
	return err
}

// lacks says what is missing, as an error where nothing works without it.
func (m *Manager) lacks() error {
	switch {
	case m.options.WatchPodCIDRs && m.node == nil:
		return fmt.Errorf("node %q not found within %v: check that it is registered under this name, or give the name with --hostname-override",
			m.options.Name, nodeIPsTimeout+podCIDRsTimeout)
	case m.options.WatchPodCIDRs && len(m.podCIDRs) == 0:
		return fmt.Errorf("node %q does not have any PodCIDR allocated within %v: "+
			"check that the cluster allocates ranges to nodes, or use another detectLocalMode than NodeCIDR",
			m.options.Name, podCIDRsTimeout)
	case m.node == nil:
		m.options.Logger.Error(nil, "Going on without the node: it was not found in time", "node", m.options.Name)
	case len(m.nodeIPs) == 0:
		m.options.Logger.Error(nil, "Going on without the node's addresses: it had none in time", "node", m.options.Name)
	}
	return nil
}

// await returns when ready is true or the time is up.
func (m *Manager) await(ctx context.Context, timeout time.Duration, ready func() bool) error {
	timer := m.options.Clock.NewTimer(timeout)
	defer timer.Stop()
	for !ready() {
		select {
		case <-m.changed:
		case <-timer.C():
			return nil
		case <-ctx.Done():
			return fmt.Errorf("waiting for node %q: %w", m.options.Name, ctx.Err())
		}
	}
	return nil
}

// PodCIDRs returns the pod ranges that Start found, as the object spells them.
func (m *Manager) PodCIDRs() []string { return slices.Clone(m.podCIDRs) }

// Node returns the node as last seen, nil if it is not there. It must not be
// modified.
func (m *Manager) Node() *v1.Node {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.node
}

// see takes a new state of the node.
func (m *Manager) see(node *v1.Node) {
	if changed := m.note(node); changed != "" {
		m.options.Logger.Info("Exiting: the node's "+changed+" have changed", "node", m.options.Name,
			"nodeIPs", HostIPs(node), "podCIDRs", node.Spec.PodCIDRs, "nodeIPsBefore", m.nodeIPs, "podCIDRsBefore", m.podCIDRs)
		m.options.Exit(1)
	}
}

// note says what has changed of that which rules are made from, "" if nothing has. An object without addresses knows of none that were
// better than those of the start.
func (m *Manager) note(node *v1.Node) (changed string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.node = node
	m.wake()
	ips := HostIPs(node)
	switch {
	case !m.settled:
		return ""
	case m.options.WatchPodCIDRs && !slices.Equal(node.Spec.PodCIDRs, m.podCIDRs):
		return "pod ranges"
	case len(ips) > 0 && !slices.Equal(ips, m.nodeIPs):
		return "addresses"
	}
	return ""
}

// lose takes it that the node is gone.
func (m *Manager) lose() {
	m.lock.Lock()
	m.node = nil
	mustExit := m.settled
	m.lock.Unlock()
	if mustExit {
		m.options.Logger.Info("Exiting: the node was deleted", "node", m.options.Name)
		m.options.Exit(1)
	}
}

// wake does not block: one item stands for any number of changes.
func (m *Manager) wake() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func podCIDRsOf(node *v1.Node) []string {
	if node == nil {
		return nil
	}
	return node.Spec.PodCIDRs
}
