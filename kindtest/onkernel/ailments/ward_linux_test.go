package ailments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Ward is a small cluster on this machine's kernel.
type Ward struct {
	Options
	// Objects are what the API server has now.
	Objects Objects

	machines map[string]*machine
	macs     map[[2]string]string // of devices, by machine and name
}

// New builds a ward. Its nodes have no rules of kube-proxy yet.
func New(o Options) (*Ward, error) {
	objects, err := newObjects(o.Families)
	if err != nil {
		return nil, err
	}
	w := &Ward{Options: o, Objects: objects, machines: map[string]*machine{}, macs: map[[2]string]string{}}
	if err := errors.Join(w.build(), w.listen()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close gives all namespaces up.
func (w *Ward) Close() error {
	var errs []error
	for _, m := range w.machines {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

// nodeNames are the names of the nodes.
var nodeNames = []string{"node1", "node2"}

// configuration is kube-proxy's.
func (w *Ward) configuration() *kubeproxyconfig.KubeProxyConfiguration {
	var ranges []string
	for _, v6 := range w.Families.each() {
		ranges = append(ranges, pair{"10.244.0.0/16", "fd00:10:244::/56"}.of(v6))
	}
	c := &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: strings.Join(ranges, ",")}
	if w.Configure != nil {
		w.Configure(c)
	}
	return c
}

// configurationOf is that of a node's kube-proxy.
func (w *Ward) configurationOf(node string) *kubeproxyconfig.KubeProxyConfiguration {
	c := w.configuration()
	if mode, own := w.Modes[node]; own {
		c.Mode = kubeproxyconfig.ProxyMode(mode)
	}
	return c
}

// SyncRules has a node's kube-proxy write its rules for the objects, as it does when it starts, and with a configuration changed by change.
func (w *Ward) SyncRules(node string, change func(*kubeproxyconfig.KubeProxyConfiguration)) error {
	config := w.configurationOf(node)
	if change != nil {
		change(config)
	}
	config.HostnameOverride = node
	rules, err := sim.Rules(sim.RulesInput{Objects: w.Objects, Configuration: config, Node: w.Objects.node(node), Dialect: w.Dialect})
	if err != nil {
		return err
	}
	if config.Mode == "nftables" {
		return w.loadTables(node, rules)
	}
	if len(config.NodePortAddresses) == 0 { // it serves them at loopback addresses, too
		if err := w.machines[node].SetSysctl("net.ipv4.conf.all.route_localnet", "1"); err != nil {
			return err
		}
	}
	for _, v6 := range Dual.each() { // also those of the family that the cluster does not use
		family, tool := netfilter.IPv4, "iptables"
		if v6 {
			family, tool = netfilter.IPv6, "ip6tables"
		}
		var save bytes.Buffer
		if err := rules.Save(family, &save); err != nil {
			return err
		}
		m := w.machines[node]
		if err := m.account(save.String()); err != nil {
			return err
		}
		if _, err := m.Output([]string{tool + "-" + string(w.Dialect) + "-restore", "--noflush"}, save.String()); err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
	}
	return nil
}

// loadTables gives a node the tables that its kube-proxy wrote in mode nftables, in the place of those that it has.
func (w *Ward) loadTables(node string, rules *sim.NodeRules) error {
	for _, family := range netfilter.Families() {
		of := "ip"
		if family == netfilter.IPv6 {
			of = "ip6"
		}
		var text bytes.Buffer
		fmt.Fprintf(&text, "add table %[1]s kube-proxy\ndelete table %[1]s kube-proxy\n", of)
		if err := rules.Listing(family, &text); err != nil {
			return err
		}
		if _, err := w.machines[node].Output([]string{"nft", "-f", "-"}, text.String()); err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
	}
	return nil
}

// accounting is what a rule says that counts its packets in an accounting object.
var accounting = regexp.MustCompile(`--nfacct-name +(\S+)`)

// account makes the accounting objects that rules name, as kube-proxy does before it writes them.
func (m *machine) account(rules string) error {
	for _, found := range accounting.FindAllStringSubmatch(rules, -1) {
		if slices.Contains(m.accounts, found[1]) {
			continue
		}
		m.accounts = append(m.accounts, found[1])
		if err := m.run("nfacct add " + found[1]); err != nil {
			return err
		}
	}
	return nil
}

// Run runs command lines of the form "MACHINE: PROGRAM WORDS...". The iptables tools have the ward's dialect; {node1} and {node2}
// stand for the paths of the nodes' namespaces.
func (w *Ward) Run(lines ...string) error {
	paths := strings.NewReplacer("{node1}", w.machines["node1"].Path(), "{node2}", w.machines["node2"].Path())
	for _, line := range lines {
		line = paths.Replace(line)
		name, command, _ := strings.Cut(line, ": ")
		m := w.machines[name]
		if m == nil {
			return fmt.Errorf("%q: the ward has no machine %q", line, name)
		}
		if err := m.run(command); err != nil {
			return err
		}
	}
	return nil
}

// How long a connection is given. What is expected to come may take its time on a busy machine.
const (
	patience   = 5 * time.Second
	impatience = 300 * time.Millisecond
)

// Ask makes a connection of a family. The answer that is wanted decides how long it waits.
func (w *Ward) Ask(t *Try, v6 bool, want string) (answer, error) {
	to, err := t.target(w.Objects, v6)
	if err != nil {
		return answer{}, err
	}
	c := call{proto: "tcp", to: to, bytes: t.Bytes, stray: t.Stray, keep: t.Keep, wait: patience}
	if t.UDP {
		c.proto = "udp"
	}
	if t.SourcePort != 0 {
		c.from = netip.AddrPortFrom(t.source(v6), t.SourcePort)
	}
	if isLost(want) {
		c.wait = impatience
	}
	return w.machines[t.From].ask(c)
}

// Snapshots takes one of each node.
func (w *Ward) Snapshots(ctx context.Context) ([]*snapshot.NodeSnapshot, error) {
	var out []*snapshot.NodeSnapshot
	for _, name := range nodeNames {
		m := w.machines[name]
		err := m.Do(func() error {
			taken, err := snapshot.Take(ctx, m.Exec())
			if err != nil {
				return err
			}
			taken.Hostname = name
			out = append(out, taken)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// Cluster is what somebody who looks at the ward from outside has: the objects, kube-proxy's configuration and the snapshots.
func (w *Ward) Cluster(ctx context.Context) (*live.Cluster, error) {
	snapshots, err := w.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := w.Objects.again()
	if err != nil {
		return nil, err
	}
	cluster := &live.Cluster{Objects: objects, Config: w.configuration(), Snapshots: snapshots}
	for node := range w.Modes {
		cluster.NodeConfigs = map[string]*kubeproxyconfig.KubeProxyConfiguration{node: w.configurationOf(node)}
	}
	return cluster, nil
}
