package live

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// proxyOf is the service proxy that a node runs, by its snapshot.
func proxyOf(taken *snapshot.NodeSnapshot) (Proxy, error) {
	rulesets, err := taken.Rulesets()
	if err != nil {
		return Proxy{}, err
	}
	s := provenance.Signs{Chains: chainsWithRules(rulesets)}
	for i := range taken.NFTables {
		s.Tables = append(s.Tables, taken.NFTables[i].Family+" "+taken.NFTables[i].Name)
	}
	for i := range taken.Devices {
		s.Devices = append(s.Devices, taken.Devices[i].Name)
	}
	for line := range strings.Lines(taken.IPSets) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "create" {
			s.Sets = append(s.Sets, words[1])
		}
	}
	found := provenance.ServiceProxyOf(s)
	return Proxy{Name: found.Name, Seen: found.Seen, Walked: found.InRules}, nil
}

// findProxies finds the nodes that run another service proxy than those whose rules are walked.
func (e *exam) findProxies() error {
	for name, node := range e.nodes {
		found, err := proxyOf(node.NodeSnapshot)
		if err != nil {
			return err
		}
		if !found.Walked {
			e.others[name] = found.Name
		}
	}
	return nil
}

func chainsWithRules(rulesets []netfilter.RulesetView) []string {
	var out []string
	for _, rules := range rulesets {
		for _, table := range rules.Tables {
			for chain := range table.Chains() {
				if chain.Len() > 0 {
					out = append(out, chain.Name)
				}
			}
		}
	}
	return out
}

// noteModes notes the nodes that do not run kube-proxy in the mode that its configuration says.
func (e *exam) noteModes() error {
	config, err := e.cluster.config()
	if err != nil || config == nil {
		return err
	}
	for i := range e.report.Nodes {
		n := &e.report.Nodes[i]
		own := config
		if one := e.cluster.NodeConfigs[n.Name]; one != nil {
			own = one
		}
		mode := cmp.Or(string(own.Mode), "iptables")
		if n.Judged && n.Proxy.Name != "" && !strings.HasSuffix(n.Proxy.Name, "in mode "+mode) {
			e.report.Notes = append(e.report.Notes, fmt.Sprintf("kube-proxy is configured for mode %s, and %s runs %s (%s)",
				mode, n.Name, n.Proxy.Name, n.Proxy.Seen))
		}
	}
	return nil
}

// walked says whether packets are walked through what the service proxy of a node does.
func (e *exam) walked(node string) bool { return e.others[node] == "" }

// decidedByOther is the node with another service proxy that decides about an attempt; empty if none does. What pods send one another it
// leaves alone.
func (e *exam) decidedByOther(a oracle.Attempt) string {
	if len(e.others) == 0 || e.pods[a.From] != nil && e.betweenPods(a) {
		return ""
	}
	for _, node := range []string{e.clientNode(a), a.Via, e.hostOf(a.To.Addr())} {
		if !e.walked(node) {
			return node
		}
	}
	return ""
}

// betweenPods says whether an attempt goes to a pod's own address.
func (e *exam) betweenPods(a oracle.Attempt) bool {
	answer := e.spec.Expect(a)
	return answer.Service.Name == "" && answer.Fate == oracle.Untouched && e.pods[answer.Host] != nil
}

// clientNode is the node that an attempt begins at; empty if it comes from outside.
func (e *exam) clientNode(a oracle.Attempt) string {
	if pod := e.pods[a.From]; pod != nil {
		return pod.Node
	}
	if e.directory.nodes[a.From] != nil {
		return a.From
	}
	return ""
}

// Silent says that nothing can be said of the services, since every node that is known runs a proxy whose work is not walked, and that
// nothing else is wrong there; or since no node that was asked has given a snapshot.
func (r *Report) Silent() bool {
	known, walked := 0, 0
	for i := range r.Nodes {
		if r.Nodes[i].Judged {
			known++
			if r.Nodes[i].Proxy.Walked {
				walked++
			}
		}
	}
	return known > 0 && walked == 0 && len(r.Findings) == 0 || known == 0 && r.LacksSnapshot()
}
