package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Proxy is the proxier of a node, of both families.
type Proxy interface {
	config.Handler
	// Sync makes the rules what the proxier was told.
	Sync() error
	// EnsureCanaries looks whether somebody flushed the rules; the next Sync writes everything then.
	EnsureCanaries() error
	// Health is what the proxier of a family tells the health checks of services.
	Health(family corev1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth
}

// Process is what a proxier is started with: its flags and its machine.
type Process struct {
	Node          string
	Configuration *kubeproxyconfig.KubeProxyConfiguration
	// Object is the node's own as it is when the proxier starts.
	Object *corev1.Node
	// family is the one that the proxier serves; empty: both.
	family corev1.IPFamily
	// Kernel is the node's with what goes wrong there.
	Kernel Kernel
	// unwatched runs its tools for what is no part of a sync: nothing goes wrong there, and nobody counts. Nil: as Kernel does.
	unwatched exec.Interface
	Clock     *clocktesting.FakeClock
	// Health is told whether the rules follow the API.
	Health proxier.Health
	// marks counts the decisions of this project's own proxier. Nil: nobody counts.
	marks  *mark.Recorder
	logger klog.Logger
}

// Proxier makes an empty proxier. The warnings say what in its configuration is likely to be a mistake.
type Proxier func(Process) (proxy Proxy, warnings []string, err error)

// Chainwalk is this project's own proxier.
func Chainwalk(p Process) (Proxy, []string, error) {
	settings, err := proxier.FromConfiguration(p.Configuration, p.Node, p.Object)
	if err != nil {
		return nil, nil, err
	}
	for _, family := range []*proxier.Config{&settings.IPv4, &settings.IPv6} {
		family.SyncPeriod = settings.SyncPeriod
		if p.family != "" && p.family != family.Family {
			continue
		}
		if err := p.complete(family); err != nil {
			return nil, nil, err
		}
	}
	proxy, err := p.start(settings)
	return proxy, settings.Warnings, err
}

// Counted is Chainwalk with a count of its decisions.
func Counted(marks *mark.Recorder) Proxier {
	return func(p Process) (Proxy, []string, error) {
		p.marks = marks
		return Chainwalk(p)
	}
}

func (p *Process) start(settings *proxier.Settings) (Proxy, error) {
	switch p.family {
	case corev1.IPv4Protocol:
		one, err := proxier.New(settings.IPv4)
		return &oneFamily{one, p.family}, err
	case corev1.IPv6Protocol:
		one, err := proxier.New(settings.IPv6)
		return &oneFamily{one, p.family}, err
	}
	both, err := proxier.NewDualStack(settings.IPv4, settings.IPv6)
	return &dualStack{both}, err
}

// complete fills in what a configuration cannot say.
func (p *Process) complete(c *proxier.Config) error {
	rules, err := p.ofMode(p.Configuration.Mode, c.Family, p.Kernel.Exec)
	if err != nil {
		return fmt.Errorf("the tools: %w", err)
	}
	p.leaveOther(c.Family)
	c.Rules = rules
	c.Sysctls, c.Network, c.Conntrack = p.Kernel.Sysctls, p.Kernel.Network, p.Kernel.Conntrack
	c.Clock, c.Health, c.Marks, c.Logger = p.Clock, p.Health, p.marks, p.logger
	return nil
}

// ofMode are the rules that a proxier writes in a mode.
func (p *Process) ofMode(mode kubeproxyconfig.ProxyMode, family corev1.IPFamily, tool exec.Interface) (proxier.Rules, error) {
	if mode == manifest.ModeNFTables {
		tools, err := nftables.New(tool, family, nftables.Options{Clock: p.Clock, TimeLimit: -1})
		return proxier.NFTables{Tools: tools}, err
	}
	protocol := iptables.ProtocolIPv4
	if family == corev1.IPv6Protocol {
		protocol = iptables.ProtocolIPv6
	}
	tools, err := iptables.New(tool, protocol, iptables.Options{Clock: p.Clock, TimeLimit: -1})
	return proxier.IPTables{Tools: tools, Counters: proxier.NFAcctTool{Exec: tool}}, err
}

// leaveOther removes what a proxier in the other mode has left, as kube-proxy does when it starts. A node without the tools of that
// mode has nothing of it.
func (p *Process) leaveOther(family corev1.IPFamily) {
	other := manifest.ModeNFTables
	if p.Configuration.Mode == other {
		other = manifest.ModeIPTables
	}
	tool := p.unwatched
	if tool == nil {
		tool = p.Kernel.Exec
	}
	if rules, err := p.ofMode(other, family, tool); err == nil {
		proxier.Cleanup(p.logger, rules)
	}
}

// dualStack is this project's proxier as a Proxy.
type dualStack struct{ *proxier.DualStack }

// Health is that of a family.
func (d *dualStack) Health(family corev1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth {
	if family == corev1.IPv6Protocol {
		return d.IPv6.Health()
	}
	return d.IPv4.Health()
}

// oneFamily is this project's proxier of one family as a Proxy.
type oneFamily struct {
	*proxier.Proxier
	family corev1.IPFamily
}

// Health is that of the family; of the other one there is nothing.
func (o *oneFamily) Health(family corev1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth {
	if family != o.family {
		return nil
	}
	return o.Proxier.Health()
}
