package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// kernels are the nodes' kernels as a session changes them: their settings, and rules that are none of the proxy's. What they had before
// is put back at the end.
type kernels struct {
	backend *Backend
	cluster *scenarios.Cluster
	mapping *Mapping

	mu       sync.Mutex
	settings map[string]map[string]string // before, by node
	saved    map[string]map[string]string // what the tools print, by node and tool
}

func newKernels(b *Backend, c *scenarios.Cluster, m *Mapping) *kernels {
	return &kernels{backend: b, cluster: c, mapping: m, settings: map[string]map[string]string{}, saved: map[string]map[string]string{}}
}

// prepare gives the nodes their settings and the rules that are there before a proxy. It says on which nodes the proxy is to begin anew.
func (k *kernels) prepare(ctx context.Context) (changed []string, err error) {
	err = together(k.cluster.Nodes, func(n scenarios.Node) error {
		node := k.mapping.Node(n.Name)
		anew, err := k.setDefaults(ctx, node, n.Sysctls)
		if err != nil {
			return err
		}
		before, err := k.set(ctx, node, n.Sysctls)
		preloaded := false
		for i := range k.cluster.Preload {
			if p := &k.cluster.Preload[i]; err == nil && p.IsFor(n.Name) {
				preloaded, err = true, k.preload(ctx, node, p)
			}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if len(before) > 0 {
			k.settings[node] = before
		}
		if len(before) > 0 || preloaded || anew {
			changed = append(changed, node)
		}
		return err
	})
	slices.Sort(changed)
	return changed, err
}

// liberal is a setting that a proxy may be told to make, and that stays when the proxy has gone. Every scenario begins without it.
const liberal = "net.netfilter.nf_conntrack_tcp_be_liberal"

// setDefaults gives a node the settings that an earlier scenario's proxy may have changed, but for those that the scenario gives. It says
// whether it had others, which a proxy looks at when it starts.
func (k *kernels) setDefaults(ctx context.Context, node string, given map[string]string) (changed bool, err error) {
	if _, ok := given[liberal]; ok || k.backend.facts.Foreign != nil { // which has made it for good
		return false, nil
	}
	before, err := k.set(ctx, node, map[string]string{liberal: "0"})
	return len(before) > 0, err
}

// localnet is the setting by which a kernel routes loopback addresses, which proxies make and never take back.
const localnet = "net.ipv4.conf.all.route_localnet"

// unroute takes the setting back on nodes whose proxies are about to start anew with another configuration.
func (k *kernels) unroute(ctx context.Context, nodes []string) error {
	return together(nodes, func(node string) error {
		_, err := k.set(ctx, node, map[string]string{localnet: "0"})
		return err
	})
}

// unguard takes away the rule that guards the setting, on nodes that do not have it: the proxy before may have left it, and no proxy
// looks for it unless it needs it.
func (k *kernels) unguard(ctx context.Context, nodes []string) error {
	const script = `if [ "$(sysctl -n "$1")" = 0 ]; then iptables -w -F KUBE-FIREWALL 2>/dev/null; fi; true`
	return together(nodes, func(node string) error {
		_, err := run(ctx, k.backend.relays[node], "", "sh", "-c", script, "unguard", localnet)
		return err
	})
}

// set gives a node settings, and says what those were that it changes.
func (k *kernels) set(ctx context.Context, node string, settings map[string]string) (before map[string]string, err error) {
	before = map[string]string{}
	for _, name := range sorted(settings) {
		was, err := run(ctx, k.backend.relays[node], "", "sysctl", "-n", name)
		if err != nil {
			return before, err
		}
		if was = strings.TrimSpace(was); was == settings[name] {
			continue
		}
		before[name] = was
		if _, err := run(ctx, k.backend.relays[node], "", "sysctl", "-qw", name+"="+settings[name]); err != nil {
			return before, err
		}
	}
	return before, nil
}

// clusterPorts are the ports of the control plane, the kubelet, and the proxy's health and metrics.
const clusterPorts = "2379,2380,6443,10249,10250,10256,10257,10259"

// guard lets in what the cluster needs where INPUT is closed: what a node says to itself, the control plane, the kubelet, the
// proxy's health and metrics, and the sentinel's answer.
func guard() string {
	return "*filter\n-I INPUT -i lo -j ACCEPT\n" +
		"-I INPUT -p tcp -m multiport --dports " + clusterPorts + " -j ACCEPT\n" +
		"-I INPUT -p tcp -m multiport --sports " + clusterPorts + " -j ACCEPT\n" +
		fmt.Sprintf("-I INPUT -p tcp -m tcp --sport %d -j ACCEPT\nCOMMIT\n", sentinelPort)
}

// closes finds commands that close a chain of a node's own packets, with the table, if it is given, and the chain.
var closes = lazyregexp.New(`(?:-t (\w+) )?-P (PREROUTING|INPUT|OUTPUT|POSTROUTING) DROP`)

// openFor are the commands that let in or out by a chain what the cluster needs, before it is closed: what guard has, and what goes to
// the sentinel.
func (k *kernels) openFor(command string) (commands []string) {
	found := closes().FindStringSubmatch(command)
	if found == nil {
		return nil
	}
	tool, _, _ := strings.Cut(command, " ")
	table, chain, loopback := cmp.Or(found[1], "filter"), found[2], "-i lo"
	if chain == "OUTPUT" || chain == "POSTROUTING" {
		loopback = "-o lo"
	}
	rules := []string{loopback, "-p tcp -m multiport --ports " + clusterPorts, fmt.Sprintf("-p tcp -m multiport --ports %d", sentinelPort)}
	for _, ip := range k.backend.sentinel.ips {
		if ip.Is6() == strings.HasPrefix(tool, "ip6") {
			rules = append(rules, "-d "+ip.String())
		}
	}
	for _, rule := range rules {
		commands = append(commands, fmt.Sprintf("%s -w -t %s -I %s %s -j ACCEPT", tool, table, chain, rule))
	}
	return commands
}

// closed finds what closes INPUT: its policy, or a rule of its own that stops the rest.
var closed = lazyregexp.New(`(?m)^(:INPUT DROP|-A INPUT .*-j (DROP|REJECT))`)

// preload adds rules to a node.
func (k *kernels) preload(ctx context.Context, node string, p *scenarios.Preload) error {
	if err := k.save(ctx, node); err != nil {
		return err
	}
	rules, err := k.mapping.toText(p.Save)
	if err != nil {
		return err
	}
	if closed().MatchString(rules) {
		rules = guard() + rules
	}
	family := p.Family
	if family == "" {
		family = scenarios.FamilyIPv4
	}
	restore := tools.Of(tools.Name(family, "-restore"), p.Dialect, k.cluster.Dialect)
	_, err = run(ctx, k.backend.relays[node], strings.TrimRight(rules, "\n")+"\n", restore, "-w", "--noflush")
	if err != nil {
		return fmt.Errorf("%s: preload: %w", node, err)
	}
	return nil
}

// save remembers a node's rules as they are before the scenario changes them behind the proxy's back.
func (k *kernels) save(ctx context.Context, node string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.saved[node] != nil {
		return nil
	}
	saved := map[string]string{}
	for _, v6 := range families(k.cluster.IPFamily) {
		for _, of := range k.cluster.Dialects() {
			tool := tools.Of(tools.Name(familyName(v6), "-save"), scenarios.DialectRef(of), k.cluster.Dialect)
			text, err := run(ctx, k.backend.relays[node], "", tool, "-c")
			if err != nil {
				return err
			}
			saved[tool] = text
		}
	}
	k.saved[node] = saved
	return nil
}

// run runs the commands of a fault on a node.
func (k *kernels) run(ctx context.Context, node string, commands []string, of scenarios.DialectRef) error {
	if len(commands) == 0 {
		return nil
	}
	if err := k.save(ctx, node); err != nil {
		return err
	}
	for _, text := range commands {
		mapped, err := k.mapping.toText(text)
		if err != nil {
			return err
		}
		for _, line := range append(k.openFor(mapped), mapped) {
			words := strings.Fields(line)
			words[0] = tools.Of(words[0], of, k.cluster.Dialect)
			if _, err := run(ctx, k.backend.relays[node], "", words...); err != nil {
				return fmt.Errorf("%s: %w", node, err)
			}
		}
	}
	return nil
}

// putBack gives the nodes what they had. Their proxies begin anew where rules were changed, since they take what they wrote to be there.
func (k *kernels) putBack(ctx context.Context) error {
	var errs []error
	for node, before := range k.settings {
		_, err := k.set(ctx, node, before)
		errs = append(errs, err)
	}
	var nodes []string
	for _, node := range sorted(k.saved) {
		nodes = append(nodes, node)
		for tool, before := range k.saved[node] {
			now, err := run(ctx, k.backend.relays[node], "", tool)
			if err == nil {
				text := before + emptied(before, now)
				_, err = run(ctx, k.backend.relays[node], text, strings.TrimSuffix(tool, "-save")+"-restore", "-w", "-c")
			}
			errs = append(errs, err)
		}
	}
	for node := range k.settings {
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	clear(k.settings)
	clear(k.saved)
	if len(nodes) > 0 {
		errs = append(errs, k.backend.hands.RestartProxy(ctx, nodes))
	}
	return errors.Join(errs...)
}

// emptied are the tables that are saved now and were not before, as they are without rules: to restore what was saved before does not
// reach them.
func emptied(before, now string) string {
	var out strings.Builder
	for _, table := range strings.SplitAfter(now, "COMMIT\n") {
		at := strings.Index("\n"+table, "\n*")
		if at < 0 {
			continue
		}
		name, rest, _ := strings.Cut(table[at:], "\n")
		if strings.Contains("\n"+before, "\n"+name+"\n") {
			continue
		}
		out.WriteString(name + "\n")
		for line := range strings.Lines(rest) {
			if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(line, ":") && words[1] != "-" {
				out.WriteString(words[0] + " ACCEPT [0:0]\n")
			}
		}
		out.WriteString("COMMIT\n")
	}
	return out.String()
}
