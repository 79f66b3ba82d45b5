package sim

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// node is one node with its kernel and its proxier.
type node struct {
	name         string
	host         *packetsim.Host
	kernel       *fakeipt.Kernel
	exec         *tools.Exec
	proxy        *proxier.DualStack
	registration *config.Registration
}

// startProxy starts a proxier that knows nothing yet, as a new process would.
func (n *node) startProxy(ctx context.Context, s *session) error {
	object, err := s.api.Node(ctx, n.name)
	if err != nil {
		return fmt.Errorf("start kube-proxy on %s: %w", n.name, err)
	}
	if n.proxy, _, err = n.newProxy(s.cluster.Configs[n.name], object, s.clock); err != nil {
		return fmt.Errorf("start kube-proxy on %s: %w", n.name, err)
	}
	n.registration, err = s.api.Feed(ctx, n.proxy)
	return err
}

// newProxy makes a proxier of a configuration, and tells what is odd about that.
func (n *node) newProxy(c *kubeproxyconfig.KubeProxyConfiguration, object *corev1.Node, clk clock.WithDelayedExecution) (*proxier.DualStack, []string, error) {
	settings, err := proxier.FromConfiguration(c, n.name, object)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range []*proxier.Config{&settings.IPv4, &settings.IPv6} {
		protocol := iptables.ProtocolIPv4
		if c.Family == corev1.IPv6Protocol {
			protocol = iptables.ProtocolIPv6
		}
		if c.IPTables, err = iptables.New(n.exec, protocol, iptables.Options{Clock: clk}); err != nil {
			return nil, nil, err
		}
		c.Sysctls, c.Network, c.NFAcct, c.Clock = sysctls{n.host}, addresses{n.host}, accounting{n.kernel}, clk
		c.Conntrack = connections{n.host}
	}
	proxy, err := proxier.NewDualStack(settings.IPv4, settings.IPv6)
	return proxy, settings.Warnings, err
}

// sysctls lets a proxier read and set its host's kernel settings.
type sysctls struct{ host *packetsim.Host }

func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }

// Get reads a setting; one that nobody has set has the kernel's default, 0.
func (s sysctls) Get(name string) (int, error) {
	value, ok := s.host.Sysctl(dotted(name))
	if !ok {
		return 0, nil
	}
	return strconv.Atoi(value)
}

// Set sets a setting.
func (s sysctls) Set(name string, value int) error {
	return s.host.SetSysctl(dotted(name), strconv.Itoa(value))
}

// addresses tells a proxier its host's addresses.
type addresses struct{ host *packetsim.Host }

// NodeAddresses lists the addresses of all devices.
func (a addresses) NodeAddresses() ([]netip.Addr, error) {
	var out []netip.Addr
	for _, device := range a.host.Config().Devices {
		for _, address := range device.Addresses {
			out = append(out, address.Prefix.Addr())
		}
	}
	return out, nil
}

// accounting makes the kernel's accounting objects.
type accounting struct{ kernel *fakeipt.Kernel }

// Ensure makes an object that is not there.
func (a accounting) Ensure(name string) error {
	if _, ok := a.kernel.NFAcct().Get(name); ok {
		return nil
	}
	return a.kernel.NFAcct().Add(name)
}

// run runs a tool on the node.
func (n *node) run(stdin string, argv ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	if status := n.kernel.Run(argv, strings.NewReader(stdin), &stdout, &stderr); status != 0 {
		return "", fmt.Errorf("%s: %s: exit status %d: %s", n.name, strings.Join(argv, " "), status, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Save prints a node's rules.
func (s *session) Save(_ context.Context, name string, family scenarios.IPFamily) (string, error) {
	return s.nodes[name].run("", tools.Name(family, "-save"), "-c")
}

// Accounting lists what a node's accounting objects have counted.
func (s *session) Accounting(_ context.Context, name string) (map[string]int, error) {
	out := map[string]int{}
	for _, object := range s.nodes[name].kernel.NFAcct().List() {
		out[object.Name] = int(object.Packets)
	}
	return out, nil
}

// Health is what the proxier of the cluster's first family tells its health check server.
func (s *session) Health(_ context.Context, name string) (map[string]int, error) {
	proxy := s.nodes[name].proxy.IPv4
	if s.cluster.IPFamily == scenarios.FamilyIPv6 {
		proxy = s.nodes[name].proxy.IPv6
	}
	out := map[string]int{}
	for service, health := range proxy.Health() {
		out[service.String()] = health.LocalEndpoints
	}
	return out, nil
}
