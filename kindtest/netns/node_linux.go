package netns

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// node is one node with its proxier.
type node struct {
	*host
	tools        *tools.Exec
	proxy        *proxier.DualStack
	registration *config.Registration
	memory       memory
}

func newNode(h *host) *node {
	return &node{host: h, tools: &tools.Exec{Interface: h.exec}, memory: newMemory()}
}

// startProxy starts a proxier that knows nothing yet, as a new process would.
func (n *node) startProxy(ctx context.Context, s *session) error {
	object, err := s.api.Node(ctx, n.Name)
	if err == nil {
		err = n.newProxy(s, object)
	}
	if err != nil {
		return fmt.Errorf("start kube-proxy on %s: %w", n.Name, err)
	}
	n.registration, err = s.api.Feed(ctx, n.proxy)
	return err
}

func (n *node) newProxy(s *session, object *corev1.Node) error {
	settings, err := proxier.FromConfiguration(s.cluster.Configs[n.Name], n.Name, object)
	if err != nil {
		return err
	}
	for _, c := range []*proxier.Config{&settings.IPv4, &settings.IPv6} {
		protocol := iptables.ProtocolIPv4
		if c.Family == corev1.IPv6Protocol {
			protocol = iptables.ProtocolIPv6
		}
		if c.IPTables, err = iptables.New(n.tools, protocol, iptables.Options{Clock: s.clock}); err != nil {
			return err
		}
		c.Sysctls, c.Network, c.NFAcct, c.Clock = sysctls{n.ns}, addresses{n.ns}, proxier.NFAcctTool{Exec: n.exec}, s.clock
		c.Conntrack = connections{n.ns}
	}
	n.proxy, err = proxier.NewDualStack(settings.IPv4, settings.IPv6)
	return err
}

// sysctls lets a proxier read and set its namespace's kernel settings.
type sysctls struct{ ns *namespace }

// Get reads a setting.
func (s sysctls) Get(name string) (int, error) {
	value, err := s.ns.sysctl(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(value)
}

// Set sets a setting.
func (s sysctls) Set(name string, value int) error {
	return s.ns.do(func() error { return os.WriteFile(sysctlFile(name), []byte(strconv.Itoa(value)), 0o644) })
}

// connections lets a proxier list and delete its namespace's tracked connections.
type connections struct{ ns *namespace }

// Walk visits the UDP entries of a family.
func (c connections) Walk(family corev1.IPFamily, visit func(conntrack.Entry)) error {
	return c.ns.do(func() error { return conntrack.NewKernel().Walk(family, visit) })
}

// Delete deletes those of the entries that are there still.
func (c connections) Delete(family corev1.IPFamily, entries []conntrack.Entry) (deleted int, err error) {
	err = c.ns.do(func() error {
		deleted, err = conntrack.NewKernel().Delete(family, entries)
		return err
	})
	return deleted, err
}

// addresses tells a proxier its namespace's addresses.
type addresses struct{ ns *namespace }

// NodeAddresses lists the addresses of all devices.
func (a addresses) NodeAddresses() ([]netip.Addr, error) {
	list, err := a.ns.link.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, one := range list {
		if address, ok := netip.AddrFromSlice(one.IP); ok {
			out = append(out, address.Unmap())
		}
	}
	return out, nil
}

// preload restores the rules that are there before kube-proxy starts.
func (s *session) preload() error {
	for _, p := range s.cluster.Preload {
		for i := range s.cluster.Nodes {
			name := s.cluster.Nodes[i].Name
			if !p.IsFor(name) {
				continue
			}
			if _, err := run(s.nodes[name].exec, p.Save, tools.Name(p.Family, "-restore"), "--noflush"); err != nil {
				return fmt.Errorf("%s: preload: %w", p.Pos, err)
			}
		}
	}
	return nil
}

// Save prints a node's rules. What connections counted that were not kept is left out.
func (s *session) Save(_ context.Context, name string, family scenarios.IPFamily) (string, error) {
	n := s.nodes[name]
	text, err := run(n.exec, "", tools.Name(family, "-save"), "-c")
	if err != nil {
		return "", err
	}
	return n.memory.discountRules(family == scenarios.FamilyIPv6, text), nil
}

var accountingLine = regexp.MustCompile(`pkts = (\d+), bytes = \d+ \} = (\S+?);`)

// Accounting lists what a node's accounting objects have counted.
func (s *session) Accounting(_ context.Context, name string) (map[string]int, error) {
	n := s.nodes[name]
	text, err := run(n.exec, "", "nfacct", "list")
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, m := range accountingLine.FindAllStringSubmatch(text, -1) {
		packets, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fmt.Errorf("nfacct list: %w", err)
		}
		out[m[2]] = packets - n.memory.accounted[m[2]]
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

// Fault makes something go wrong on one node.
func (s *session) Fault(_ context.Context, f scenarios.Fault) error {
	n := s.nodes[f.Node]
	n.tools.RestoreFails += f.RestoreFails
	var lines [][]string
	for _, table := range f.Flush {
		for _, family := range tools.Families(s.cluster.IPFamily) {
			for _, option := range []string{"-F", "-X"} {
				lines = append(lines, []string{tools.Name(family, ""), "-t", table, option})
			}
		}
	}
	for _, line := range f.Run {
		lines = append(lines, strings.Fields(line))
	}
	for _, line := range lines {
		if _, err := run(n.exec, "", line...); err != nil {
			return fmt.Errorf("fault: %s: %w", n.Name, err)
		}
	}
	return n.rulesChanged()
}
