package live

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// called is an address and a port at which a service is called.
type called struct {
	addr  netip.Addr
	port  uint16
	proto inet.Proto
	local bool // it is the node's own
}

var protocolNumbers = map[corev1.Protocol]inet.Proto{
	corev1.ProtocolTCP: inet.TCP, corev1.ProtocolUDP: inet.UDP, corev1.ProtocolSCTP: inet.SCTP,
}

// calledOn are where services are called on a node.
func calledOn(objects []manifest.Object, node *corev1.Node) []called {
	own := internal(node)
	var out []called
	for _, s := range manifest.Of[*corev1.Service](objects) {
		addresses := slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs)
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, ingress.IP)
		}
		for i := range s.Spec.Ports {
			p := &s.Spec.Ports[i]
			proto := protocolNumbers[protocolOf(p)]
			for _, text := range addresses {
				if a, ok := parse(text); ok {
					out = append(out, called{a, uint16(p.Port), proto, false})
				}
			}
			for _, a := range own {
				if a.IsValid() && p.NodePort != 0 {
					out = append(out, called{a, uint16(p.NodePort), proto, true})
				}
			}
		}
	}
	return out
}

// before are the rules of others in the chains of table nat that hooks lead to, which stand before the rule that leads to kube-proxy's
// and could keep packets to services from it.
func before(node string, rules netfilter.RulesetView, services []called) []factRule {
	var out []factRule
	table := rules.Table("nat")
	if table == nil {
		return nil
	}
	for _, hook := range []string{"PREROUTING", "OUTPUT"} {
		chain, there := table.Chain(hook)
		if !there {
			continue
		}
		var found []factRule
		for i, f := range chain.Facts() {
			if provenance.BeginsServices(f.Jump) {
				out = append(out, found...)
				break
			}
			if provenance.OfRule("nat", hook, &f).IsKubernetes() || !takes(table, &f, true, services, map[string]bool{}) {
				continue
			}
			r := Rule{Node: node, Family: rules.Family, Table: "nat", Chain: hook, Text: chain.Text(i)}
			found = append(found, factRule{Rule: r, fact: f})
		}
	}
	return out
}

// takes says whether a rule may end the way of packets to some of the services through the table, or a rule that it leads to. Base says
// that it stands in a chain that a hook leads to, which a RETURN ends as well.
func takes(table netfilter.Table, f *netfilter.Fact, base bool, services []called, seen map[string]bool) bool {
	met := slices.DeleteFunc(slices.Clone(services), func(s called) bool { return !mayMeet(&f.Conditions, &s) })
	switch {
	case len(met) == 0:
		return false
	case f.Verdict == netfilter.Return:
		return base
	case f.Verdict != "", f.Translation.Of == netfilter.Destination:
		return true
	case f.Jump == "" || seen[f.Jump]:
		return false
	}
	seen[f.Jump] = true
	chain, there := table.Chain(f.Jump)
	if !there {
		return false
	}
	for _, next := range chain.Facts() {
		if takes(table, &next, false, met, seen) {
			return true
		}
	}
	return false
}

// mayMeet says whether a packet to a service may meet conditions. Types of addresses are asked of what is the node's own.
func mayMeet(c *netfilter.Conditions, s *called) bool {
	return (!c.Dst.IsValid() || c.Dst.Contains(s.addr)) && (c.Protocol == 0 || c.Protocol == uint8(s.proto)) &&
		(c.DstPorts == (netfilter.PortRange{}) || c.DstPorts.Min <= s.port && s.port <= c.DstPorts.Max) &&
		(s.local || !c.AsksFor("addrtype"))
}
