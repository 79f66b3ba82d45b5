package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/healthcheck"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Kernel is a node's kernel as its proxier meets it.
type Kernel struct {
	// Exec runs the iptables tools, nfacct and nft.
	Exec      exec.Interface
	Sysctls   proxier.Sysctls
	Network   proxier.Network
	Conntrack conntrack.Table
	// HoldLock has the tools find the lock of the legacy tools taken, until it is released; nil if they have none.
	HoldLock func() (release func(), err error)
	// Sleep lets time pass, for tools that take long; nil if the clock alone has to be moved.
	Sleep func(time.Duration)
}

// NewClock is the clock of a cluster: it starts with the year 2026, and only Step moves it.
func NewClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
}

// Feeder tells proxiers of a cluster's objects.
type Feeder interface {
	// Feed tells a proxier what is there, and from then on what changes, until remove is called.
	Feed(ctx context.Context, proxy config.Handler) (remove func(), err error)
}

// Node is one node with its proxier.
type Node struct {
	name   string
	kernel Kernel
	tools  *tools.Proxied
	clock  *clocktesting.FakeClock
	make   Proxier

	process Process // what the proxier was started with
	proxy   Proxy
	queue   *api.Queue
	holds   bool
	health  *healthcheck.ProxyServer
	due     atomic.Bool
	remove  func() // ends the feeding
}

// New returns a node that has no proxier yet.
func New(name string, kernel Kernel, clock *clocktesting.FakeClock) *Node {
	proxied := &tools.Proxied{
		Interface: kernel.Exec, Faults: &tools.Faults{}, Watch: tools.NewWatch(name), HoldLock: kernel.HoldLock, Sleep: kernel.Sleep,
	}
	if proxied.Sleep == nil {
		proxied.Sleep = clock.Step
	}
	return &Node{name: name, kernel: kernel, clock: clock, tools: proxied, make: Chainwalk}
}

// RunBy has another proxier than this project's own started on the node.
func (n *Node) RunBy(p Proxier) { n.make = p }

// Start starts an empty proxier, as a new process would, and feeds
// it; one that ran before is told nothing any more. The object is the node's own.
// The warnings say what in the configuration is likely to be a mistake.
func (n *Node) Start(
	ctx context.Context, kube Feeder, c *kubeproxyconfig.KubeProxyConfiguration, object *corev1.Node,
) (warnings []string, err error) {
	if n.remove != nil {
		n.remove()
		n.remove = nil
	}
	n.health = healthcheck.NewProxyServer(healthcheck.ProxyOptions{
		Timeout: 2 * syncPeriod(c), Clock: n.clock, Node: n, Metrics: uncounted{},
	})
	n.process = Process{
		Node: n.name, Configuration: c, Object: object, family: n.process.family,
		Kernel: n.proxied(), unwatched: n.kernel.Exec, Clock: n.clock, Health: heard{n.health, &n.due}, logger: klog.FromContext(ctx),
	}
	if n.proxy, warnings, err = n.make(n.process); err != nil {
		return nil, err
	}
	n.queue = api.NewQueue(n.name, n.proxy)
	if n.remove, err = kube.Feed(ctx, n.queue); err != nil {
		return nil, err
	}
	n.queue.Hold(n.holds)
	return warnings, nil
}

// syncPeriod is the one of a configuration's mode.
func syncPeriod(c *kubeproxyconfig.KubeProxyConfiguration) time.Duration {
	c = proxier.WithDefaults(c)
	if c.Mode == manifest.ModeNFTables {
		return c.NFTables.SyncPeriod.Duration
	}
	return c.IPTables.SyncPeriod.Duration
}

// proxied is the kernel with what goes wrong there.
func (n *Node) proxied() Kernel {
	kernel := n.kernel
	kernel.Exec = n.tools
	if kernel.Conntrack != nil {
		kernel.Conntrack = &tools.Conntrack{Table: n.kernel.Conntrack, Faults: n.tools.Faults, Watch: n.tools.Watch}
	}
	return kernel
}

// Node is the Node object as the proxier knows it.
func (n *Node) Node() *corev1.Node { return n.queue.Node() }

// uncounted counts no answers of the health check.
type uncounted struct{}

func (uncounted) CountHealthz(int) {}
func (uncounted) CountLivez(int)   {}

// hold says whether changes are held back from the proxier from here on. If not, the proxier gets what was held back.
func (n *Node) hold(holds bool) {
	n.holds = holds
	n.queue.Hold(holds)
}

// KeepInputs has Inputs keep what restores are given from here on.
func (n *Node) KeepInputs() { n.tools.KeepInputs = true }

// Inputs are the inputs of the restores since KeepInputs.
func (n *Node) Inputs() [][]byte { return n.tools.Inputs }

// Knowledge is what the proxier knows.
func (n *Node) Knowledge() *api.Knowledge { return n.queue.Knowledge() }

// Sync syncs the proxier. It looks first whether its rules were flushed, which a
// real one does every now and then.
func (n *Node) Sync() error {
	n.tools.Written = scenarios.Written{}
	n.due.Store(false)
	n.tools.Watch.Begin()
	defer n.tools.Watch.End()
	canaries, err := n.proxy.EnsureCanaries(), n.proxy.Sync()
	if canaries != nil && err == nil {
		return &CanariesError{canaries}
	}
	return errors.Join(canaries, err)
}

// CanariesError is the error of a sync that has written what there was to write, but could not look whether somebody flushed the rules.
type CanariesError struct{ err error }

// Error is why it could not look.
func (e *CanariesError) Error() string { return e.err.Error() }

// Unwrap is why it could not look.
func (e *CanariesError) Unwrap() error { return e.err }

// Run runs a tool on the node and returns what it prints. It does not break.
func (n *Node) Run(stdin string, argv ...string) (string, error) {
	text, err := tools.Run(n.kernel.Exec, stdin, argv...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.name, err)
	}
	return text, nil
}

// save is what iptables-save -c prints, ip6tables-save for ipv6.
func (n *Node) save(family scenarios.IPFamily) (string, error) {
	return n.Run("", tools.Name(family, "-save"), "-c")
}

// list is what nft list table prints of kube-proxy's table; empty if there is none.
func (n *Node) list(family scenarios.IPFamily) (string, error) {
	of := tools.NFTFamily(family)
	tables, err := n.Run("", "nft", "list", "tables", of)
	if err != nil || !slices.Contains(strings.Split(tables, "\n"), "table "+of+" "+tools.NFTTable) {
		return "", err
	}
	return n.Run("", "nft", "list", "table", of, tools.NFTTable)
}

// serviceHealth is what the proxier of a family tells its health check server.
func (n *Node) serviceHealth(family scenarios.IPFamily) map[string]int {
	of := corev1.IPv4Protocol
	if family == scenarios.FamilyIPv6 {
		of = corev1.IPv6Protocol
	}
	out := map[string]int{}
	for service, health := range n.proxy.Health(of) {
		out[service.String()] = health.LocalEndpoints
	}
	return out
}

// healthz says whether the proxier answers /healthz with status 200.
func (n *Node) healthz() bool { return n.health.Healthy() && n.health.NodeEligible() }
