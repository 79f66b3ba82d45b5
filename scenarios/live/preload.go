package live

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/controller"
	labs "github.com/chainwalk/chainwalk/scenarios/lab"
	"github.com/chainwalk/chainwalk/scenarios/names"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// preload are the rules of the nodes with a snapshot that kube-proxy does not write: those of the network plugin, of the kubelet and of
// whoever else is there. The notes tell of rules that a scenario cannot have.
func (c *Cluster) preload(d *draft) (out []scenarios.Preload, notes []string, err error) {
	s, err := d.scenario("")
	if err != nil {
		return nil, nil, err
	}
	resolved, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil, nil, err
	}
	for _, taken := range c.Snapshots {
		opaque, err := opaqueLines(taken)
		if err != nil {
			return nil, nil, err
		}
		devices := simulatedDevices(resolved, labs.Attach(taken, resolved.Pods, isLive))
		for i := range taken.IPTables {
			rules := &taken.IPTables[i]
			family := scenarios.FamilyIPv4
			if rules.Family == netfilter.IPv6 {
				family = scenarios.FamilyIPv6
			}
			if c.Dialect != "" && c.Dialect != rules.Dialect || d.topology.IPFamily != scenarios.FamilyDual && d.topology.IPFamily != family {
				continue
			}
			save, left := othersRules(rules, devices, opaque[rules])
			for _, rule := range left {
				notes = append(notes, taken.Hostname+": a scenario cannot have "+rule)
			}
			if save != "" {
				out = append(out, scenarios.Preload{Nodes: []string{taken.Hostname}, Family: family, Save: save})
			}
		}
	}
	return out, notes, nil
}

// simulatedDevices are the devices of a simulated node in the place of the real one's.
func simulatedDevices(cluster *scenarios.Cluster, node *labs.Node) map[string]string {
	out := map[string]string{}
	for port, pod := range plan.Of(cluster).Pods {
		if port.Host == node.Hostname {
			out[node.Pods[pod]] = port.Device
		}
	}
	for _, a := range cluster.Node(node.Hostname).Addresses {
		if device, _ := labs.DeviceWith(node.Node, a); device != "" {
			out[device] = plan.Underlay
		}
	}
	return out
}

// isKubeProxys reports whether kube-proxy makes a chain. Those of the kubelet have names like it, and so has the one that both fill.
func isKubeProxys(chain string) bool {
	kubelets := []string{"KUBE-KUBELET-CANARY", "KUBE-IPTABLES-HINT", "KUBE-MARK-DROP", "KUBE-FIREWALL"}
	return strings.HasPrefix(chain, "KUBE-") && !slices.Contains(kubelets, chain)
}

// opaqueLines are the lines of rules with extensions that nobody knows.
func opaqueLines(taken *snapshot.Node) (map[*snapshot.Rules]map[int]bool, error) {
	out := map[*snapshot.Rules]map[int]bool{}
	hosts := map[netfilter.Dialect]*packetsim.Host{}
	for i := range taken.IPTables {
		rules := &taken.IPTables[i]
		if hosts[rules.Dialect] == nil {
			host, err := snapshot.NewHost(taken, snapshot.HostOptions{Dialect: rules.Dialect})
			if err != nil {
				return nil, err
			}
			hosts[rules.Dialect] = host
		}
		lines := map[int]bool{}
		for _, table := range fakeipt.First(hosts[rules.Dialect].Netfilter()).Ruleset(rules.Family).Tables() {
			for chain := range table.Unsorted() {
				for _, rule := range chain.Rules {
					if opaque := rule.Opaque(); opaque != nil {
						lines[opaque.Line] = true
					}
				}
			}
		}
		out[rules] = lines
	}
	return out, nil
}

// othersRules are the tables of a ruleset with the chains and rules that are not kube-proxy's, and the rules that a scenario cannot have:
// those that name an object, which it has not, and those on the lines that are opaque, which its tools refuse. A table without any is left
// out.
func othersRules(rules *snapshot.Rules, devices map[string]string, opaque map[int]bool) (save string, left []string) {
	var out, table strings.Builder
	worth := false
	number := 0
	for line := range strings.Lines(rules.Save) {
		number++
		line = strings.TrimRight(line, "\n")
		if _, rule, counted := strings.Cut(line, "] "); counted && strings.HasPrefix(line, "[") {
			line = rule
		}
		switch {
		case strings.HasPrefix(line, "*"):
			table.Reset()
			table.WriteString(line + "\n")
			worth = false
		case strings.HasPrefix(line, ":"):
			chain, policy, _ := strings.Cut(line[1:], " ")
			if !isKubeProxys(chain) {
				table.WriteString(line + "\n")
				worth = worth || !strings.HasPrefix(policy, "ACCEPT")
			}
		case line == "COMMIT" && worth:
			out.WriteString(table.String() + "COMMIT\n")
		case !strings.HasPrefix(line, "-A ") || isKubeProxys(chainOf(line)) || isKubeProxys(names.TargetOf(line)):
		case opaque[number] || strings.Contains(line, "--match-set ") || strings.Contains(line, "--nfacct-name "):
			left = append(left, line)
		default:
			table.WriteString(withDevices(line, devices) + "\n")
			worth = true
		}
	}
	return out.String(), left
}

// withDevices is a rule with other devices.
func withDevices(rule string, devices map[string]string) string {
	words := strings.Split(rule, " ")
	for i := 1; i < len(words); i++ {
		if name, ok := devices[words[i]]; ok && (words[i-1] == "-i" || words[i-1] == "-o") {
			words[i] = name
		}
	}
	return strings.Join(words, " ")
}

// rules gives addresses and chains of rules other names, and takes comments out.
func (r *renamer) rules(save string) string {
	var out strings.Builder
	own := map[string]bool{}
	for line := range strings.Lines(save) {
		if chain, policy, _ := strings.Cut(strings.TrimPrefix(line, ":"), " "); strings.HasPrefix(line, ":") {
			own[chain] = strings.HasPrefix(policy, "-") && !strings.HasPrefix(chain, "KUBE-")
			line = ":" + r.chain(chain, own) + " " + policy
		}
		if strings.HasPrefix(line, "-A ") {
			words := strings.Fields(comment.ReplaceAllString(line, ""))
			for i := 1; i < len(words); i++ {
				words[i] = r.word(r.chain(words[i], own))
			}
			line = strings.Join(words, " ") + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// chain is the new name of a chain that somebody made; any other word stays.
func (r *renamer) chain(word string, own map[string]bool) string {
	if own[word] {
		return r.name("CHAIN", word)
	}
	return word
}

// word is a word of a rule with other addresses.
func (r *renamer) word(old string) string {
	if to, err := netip.ParseAddrPort(old); err == nil {
		return netip.AddrPortFrom(r.address(to.Addr()), to.Port()).String()
	}
	if first, last, ok := strings.Cut(old, "-"); ok && first != "" && last != "" {
		return r.text(first) + "-" + r.text(last)
	}
	return r.text(old)
}
