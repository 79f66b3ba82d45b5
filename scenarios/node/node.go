package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/api"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// Kernel is a node's kernel as its proxier meets it.
type Kernel struct {
	// Exec runs the iptables tools and nfacct.
	Exec      exec.Interface
	Sysctls   proxier.Sysctls
	Network   proxier.Network
	Conntrack conntrack.Table
}

// NewClock is the clock of a cluster: it starts with the year 2026, and only Step moves it.
func NewClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
}

// Node is one node with its proxier.
type Node struct {
	name         string
	kernel       Kernel
	tools        *tools.Breakable
	clock        *clocktesting.FakeClock
	proxy        *proxier.DualStack
	registration *config.Registration
}

// New returns a node that has no proxier yet.
func New(name string, kernel Kernel, clock *clocktesting.FakeClock) *Node {
	return &Node{name: name, kernel: kernel, tools: &tools.Breakable{Interface: kernel.Exec}, clock: clock}
}

// Start starts a proxier that knows nothing yet, as a new process would, and feeds
// it; one that ran before is told nothing any more. The object is the node's own.
// The warnings say what in the configuration is likely to be a mistake.
func (n *Node) Start(
	ctx context.Context, kube *api.API, c *kubeproxyconfig.KubeProxyConfiguration, object *corev1.Node,
) (warnings []string, err error) {
	if n.registration != nil {
		n.registration.Remove()
		n.registration = nil
	}
	settings, err := proxier.FromConfiguration(c, n.name, object)
	if err != nil {
		return nil, err
	}
	for _, family := range []*proxier.Config{&settings.IPv4, &settings.IPv6} {
		if err := n.complete(family); err != nil {
			return nil, err
		}
		family.Logger = klog.FromContext(ctx)
	}
	if n.proxy, err = proxier.NewDualStack(settings.IPv4, settings.IPv6); err != nil {
		return nil, err
	}
	n.registration, err = kube.Feed(ctx, n.proxy)
	return settings.Warnings, err
}

// complete fills in what a configuration cannot say.
func (n *Node) complete(c *proxier.Config) (err error) {
	protocol := iptables.ProtocolIPv4
	if c.Family == corev1.IPv6Protocol {
		protocol = iptables.ProtocolIPv6
	}
	c.IPTables, err = iptables.New(n.tools, protocol, iptables.Options{Clock: n.clock})
	c.Sysctls, c.Network, c.Conntrack = n.kernel.Sysctls, n.kernel.Network, n.kernel.Conntrack
	c.NFAcct, c.Clock = proxier.NFAcctTool{Exec: n.kernel.Exec}, n.clock
	return err
}

// Sync syncs the proxier. It looks first whether its rules were flushed, which a
// real one does every now and then.
func (n *Node) Sync() error { return errors.Join(n.proxy.EnsureCanaries(), n.proxy.Sync()) }

// Run runs a tool on the node and returns what it prints. It does not break.
func (n *Node) Run(stdin string, argv ...string) (string, error) {
	text, err := tools.Run(n.kernel.Exec, stdin, argv...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.name, err)
	}
	return text, nil
}

// Save is what iptables-save -c prints, ip6tables-save for ipv6.
func (n *Node) Save(family scenarios.IPFamily) (string, error) {
	return n.Run("", tools.Name(family, "-save"), "-c")
}

// health is what the proxier of a family tells its health check server.
func (n *Node) health(family scenarios.IPFamily) map[string]int {
	proxy := n.proxy.IPv4
	if family == scenarios.FamilyIPv6 {
		proxy = n.proxy.IPv6
	}
	out := map[string]int{}
	for service, health := range proxy.Health() {
		out[service.String()] = health.LocalEndpoints
	}
	return out
}
