package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// preload are the rules of the nodes with a snapshot that kube-proxy does not write: those of the network plugin, of the kubelet and of
// whoever else is there. The notes tell of rules that a scenario cannot have.
func (c *Cluster) preload(d *draft) (out []preload, notes []string, err error) {
	if len(c.Snapshots) == 0 {
		return nil, nil, nil
	}
	s, err := d.scenario("")
	if err != nil {
		return nil, nil, err
	}
	resolved, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil, nil, err
	}
	for _, taken := range c.Snapshots {
		rulesets, err := taken.Rulesets()
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
			others := othersRules{rules: rulesets[i], devices: devices}
			save, left, err := others.save()
			if err != nil {
				return nil, nil, err
			}
			for _, rule := range left {
				notes = append(notes, taken.Hostname+": a scenario cannot have "+rule)
			}
			if save != "" {
				out = append(out, preload{scenarios.Preload{Nodes: []string{taken.Hostname}, Family: family, Save: save}, others})
			}
		}
	}
	return out, notes, nil
}

// simulatedDevices are the devices of a simulated node in the place of the real one's.
func simulatedDevices(cluster *scenarios.Cluster, node *labs.Attached) map[string]string {
	out := map[string]string{}
	for port, pod := range plan.Of(cluster).Pods {
		if port.Host == node.Hostname {
			out[node.Pods[pod]] = port.Device
		}
	}
	for _, a := range cluster.Node(node.Hostname).Addresses {
		if device, _ := labs.DeviceWith(node.NodeSnapshot, a); device != "" {
			out[device] = plan.Underlay
		}
	}
	return out
}

// preload are rules of a scenario, and what they were read from.
type preload struct {
	scenarios.Preload
	of othersRules
}

// othersRules are the chains and rules of a ruleset that are not kube-proxy's.
type othersRules struct {
	rules   netfilter.RulesetView
	devices map[string]string  // other names for devices
	renamer *anonymise.Renamer // hides chains, addresses and comments; nil: they stay
}

// save are the rules as iptables-save prints them, and the rules that a scenario cannot have: those that name an object, which it has
// not, and those that nobody knows, which its tools refuse. A table without any is left out. The error is a rule that cannot be hidden.
func (o *othersRules) save() (save string, left []string, err error) {
	var out strings.Builder
	for _, t := range o.rules.Tables {
		table, worth, none, err := o.table(t)
		if err != nil {
			return "", nil, err
		}
		left = append(left, none...)
		if worth {
			out.WriteString("*" + t.Name() + "\n" + table + "COMMIT\n")
		}
	}
	return out.String(), left, nil
}

// table are the lines of one table; worth says that some rule or policy is among them.
func (o *othersRules) table(t netfilter.Table) (lines string, worth bool, left []string, err error) {
	var chains, appended strings.Builder
	for chain := range t.Chains() {
		if provenance.WriterOf(chain.Name) == provenance.KubeProxy {
			continue
		}
		fmt.Fprintf(&chains, ":%s %s [0:0]\n", o.chain(chain.Name), cmp.Or(string(chain.Policy), "-"))
		worth = worth || chain.Policy != netfilter.Accept
		for i, rule := range chain.All() {
			f := &rule.Fact
			switch {
			case provenance.WriterOf(f.Jump) == provenance.KubeProxy:
			case f.Opaque || f.Remembers(netfilter.Set) || f.Remembers(netfilter.Accounting):
				left = append(left, rule.Text)
			default:
				line, err := o.rule(t, &chain, i)
				if err != nil {
					return "", false, nil, err
				}
				appended.WriteString(line + "\n")
				worth = true
			}
		}
	}
	return chains.String() + appended.String(), worth, left, nil
}

// rule is a rule of a chain. A hidden one has no comment.
func (o *othersRules) rule(t netfilter.Table, chain *netfilter.Chain, i int) (string, error) {
	args := chain.Args(i, o.renamer == nil)
	if o.renamer != nil {
		f := chain.Fact(i)
		var err error
		args, err = o.renamer.Rule(t.Name(), chain.Name, &f, args, func(word string) bool { _, is := t.Chain(word); return is })
		if err != nil {
			return "", fmt.Errorf("table %s: %w", t.Name(), err)
		}
	}
	return fakekernel.AppendedRule(o.chain(chain.Name), withDevices(args, o.devicesNow())), nil
}

// chain is the name of a chain, or another name that hides it.
func (o *othersRules) chain(name string) string {
	if o.renamer == nil {
		return name
	}
	return o.renamer.Chain(name)
}

// devicesNow are other names for devices as the rules call them.
func (o *othersRules) devicesNow() map[string]string {
	if o.renamer == nil {
		return o.devices
	}
	out := map[string]string{}
	for old, name := range o.devices {
		out[o.renamer.Device(old)] = name
	}
	return out
}

// withDevices are the arguments of a rule with other devices.
func withDevices(args []string, devices map[string]string) []string {
	out := slices.Clone(args)
	for i := 1; i < len(out); i++ {
		if name, ok := devices[out[i]]; ok && (out[i-1] == "-i" || out[i-1] == "-o") {
			out[i] = name
		}
	}
	return out
}
