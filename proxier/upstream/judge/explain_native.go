package judge

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// nativeExplanations are those of mode nftables alone.
func nativeExplanations() []Explanation {
	return []Explanation{
		{
			Name: "cluster-ip-answers-nothing",
			Case: "nftables/cluster-ip-answers-nothing.yaml",
			Why: "kube-proxy refuses every packet to a cluster IP whose port is no Service's, also an echo request, which has no port. " +
				"Ours refuses TCP, UDP and SCTP, and lets the rest pass on, as mode iptables does, also where ServiceCIDRs are known.",
			native:     true,
			everywhere: true,
			holds: func(_ *run, d *Difference, _ []*Difference) bool {
				return d.Kind == "rules" && d.where == "chain cluster-ips-check" && sameButAll(d, protocolsWithPorts, "ip daddr != @cluster-ips ",
					"ip6 daddr != @cluster-ips ")
			},
		},
		{
			Name: "firewall-without-endpoints",
			Case: "nftables/firewall-without-endpoints.yaml",
			Why: "kube-proxy writes the firewall of a LoadBalancer with source ranges also where the service has no endpoint, and drops " +
				"what is not in the ranges before it can be refused. Ours refuses all of it, as mode iptables does.",
			native: true,
			holds:  func(r *run, d *Difference, all []*Difference) bool { return r.idleFirewall(d, all) },
		},
		{
			Name: "hairpin-of-unplaced",
			Case: "nftables/hairpin-of-unplaced.yaml",
			Why: "An endpoint without nodeName may be a pod of this node. kube-proxy takes it for another node's: a pod that reaches itself " +
				"through the service gets its own address as the client, and no answer. Ours masquerades it.",
			native: true,
			since:  36,
			holds:  func(r *run, d *Difference, _ []*Difference) bool { return r.unplacedHairpin(d) },
		},
		{
			Name: "hairpin-of-other-nodes",
			Case: "nftables/hairpin-of-other-nodes.yaml",
			Why: "Until v1.35 kube-proxy masquerades every endpoint that reaches itself through a service, on whichever node it is. Ours " +
				"does so for those that may be pods of this node, as kube-proxy does for its own since v1.36 (kubernetes#136499).",
			native: true,
			until:  35,
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				return d.Kind == "packets" && r.returnsElsewhere(d.packet)
			},
		},
		{
			Name: "written-as-until-v1.35",
			Case: "nftables/written-as-until-v1.35.yaml",
			Why: "Until v1.35 kube-proxy has a chain for each endpoint, writes into it and into the chains of services what is masqueraded, " +
				"and marks that by a jump to the chain mark-for-masquerade. Since v1.36 (kubernetes#135800, kubernetes#136499), as in ours, " +
				"chain services and the set hairpin-connections say so for all services. Where this is so, the fates of all packets are " +
				"compared, not the rules. What is sent to a port of a cluster IP that no service has is marked by ours before it is refused.",
			native:     true,
			everywhere: true,
			until:      35,
			holds: func(r *run, d *Difference, _ []*Difference) bool {
				if d.Kind == "packets" {
					return r.sameButMark(d.packet)
				}
				return d.Kind == "rules" && writtenOtherwise(d.where) && r.treatedAlike(d.family)
			},
		},
		{
			Name: "cleanup-in-deleted-table",
			Case: "nftables/cleanup-in-deleted-table.yaml",
			Why: "kube-proxy deletes the chains that went out of use in the last sync by their names, before it looks what is there. " +
				"If somebody has deleted the table meanwhile, that fails, and is counted. Ours looks first.",
			native: true,
			holds: func(_ *run, d *Difference, _ []*Difference) bool {
				return d.Kind == "metrics" && strings.Contains(d.where, "nftables_cleanup_failures_total") && d.ours[0] == "0" && d.theirs[0] == "1"
			},
		},
		{
			Name: "comment-kept",
			Case: "nftables/comment-kept.yaml",
			Why: "kube-proxy compares keys and values of elements, and not their comments. If a port gets another name while its service has no " +
				"endpoint, the element keeps the comment that names the former one. Ours writes it again.",
			native: true,
			holds: func(_ *run, d *Difference, _ []*Difference) bool {
				return d.onlyComments && strings.HasPrefix(d.where, "map ")
			},
		},
	}
}

// idleFirewall says whether a difference is the firewall of a service port without endpoints, which only kube-proxy has, or a packet that
// it drops.
func (r *run) idleFirewall(d *Difference, all []*Difference) bool {
	switch {
	case d.Kind == "packets":
		refused := !slices.ContainsFunc(d.ours, func(line string) bool { return !strings.Contains(line, " reject ") })
		dropped := !slices.ContainsFunc(d.theirs, func(line string) bool { return !strings.Contains(line, " drop ") })
		return refused && dropped && slices.ContainsFunc(all, func(other *Difference) bool {
			return other.Kind == "rules" && strings.HasPrefix(other.where, "chain firewall-") && r.idleFirewall(other, all)
		})
	case d.Kind != "rules":
		return false
	case d.where == "map firewall-ips":
		ours, theirs := elementsOf(d.ours), elementsOf(d.theirs)
		for key, target := range ours {
			if theirs[key] != target {
				return false
			}
			delete(theirs, key)
		}
		for _, target := range theirs {
			if !r.idle("chain "+strings.TrimPrefix(target, "goto "), d.family) {
				return false
			}
		}
		return true
	}
	return strings.HasPrefix(d.where, "chain firewall-") && d.ours == nil && r.idle(d.where, d.family)
}

// idle says whether the service port of a chain is there and has no endpoint that is used: none that is ready, or terminates and serves.
func (r *run) idle(chain string, family v1.IPFamily) bool {
	service, port := ofChain(r.objects, chain)
	if service == nil {
		return false
	}
	return !slices.ContainsFunc(r.objects.SortedSlices(), func(s *discovery.EndpointSlice) bool {
		return s.Namespace == service.Namespace && s.Labels[discovery.LabelServiceName] == service.Name &&
			s.AddressType == discovery.AddressType(family) && peers.BothFollow(s) && hasPort(s, port) && slices.ContainsFunc(s.Endpoints, isUsed)
	})
}

func hasPort(s *discovery.EndpointSlice, port *v1.ServicePort) bool {
	return slices.ContainsFunc(s.Ports, func(p discovery.EndpointPort) bool {
		return p.Name != nil && *p.Name == port.Name && p.Port != nil && p.Protocol != nil && *p.Protocol == port.Protocol
	})
}

// isUsed says whether a service may lead to an endpoint. Conditions that are not said are those of an endpoint that is ready.
func isUsed(e discovery.Endpoint) bool {
	c := &e.Conditions
	ready := c.Ready == nil || *c.Ready
	return ready || c.Terminating != nil && *c.Terminating && (c.Serving == nil || *c.Serving)
}

// unplacedHairpin says whether ours has more hairpin connections, of endpoints without a node.
func (r *run) unplacedHairpin(d *Difference) bool {
	if d.Kind == "packets" {
		address, masqueraded := hairpinOf(d.ours)
		other, also := hairpinOf(d.theirs)
		return masqueraded && !also && address == other && r.unplaced(address)
	}
	if d.Kind != "rules" || d.where != hairpinSet {
		return false
	}
	ours, theirs := hairpins(d.ours), hairpins(d.theirs)
	for key := range theirs {
		if !ours[key] {
			return false
		}
	}
	for key := range ours {
		address, _, _ := strings.Cut(key, " ")
		if !theirs[key] && !r.unplaced(parse(address)) {
			return false
		}
	}
	return true
}

// toEndpoint is where a packet goes.
var toEndpoint = regexp.MustCompile(` Dst:(\S+) `)

// hairpinOf is where the only outcome of a packet leads, and whether it is masqueraded.
func hairpinOf(lines []string) (to netip.Addr, masqueraded bool) {
	if len(lines) != 1 {
		return netip.Addr{}, false
	}
	if found := toEndpoint.FindStringSubmatch(lines[0]); found != nil {
		to = parse(found[1])
	}
	return to, strings.Contains(lines[0], " masqueraded ")
}

// hairpins are the elements of the set, as nft lists them.
func hairpins(lines []string) map[string]bool {
	all := map[string]bool{}
	for _, line := range lines {
		text := strings.Trim(strings.TrimPrefix(line, "elements = {"), " ,}")
		if strings.Count(text, " . ") == 3 && !strings.HasPrefix(text, "type ") {
			all[text] = true
		}
	}
	return all
}

// unplaced says whether an endpoint with this address has no node.
func (r *run) unplaced(address netip.Addr) bool {
	return slices.ContainsFunc(r.objects.SortedSlices(), func(s *discovery.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discovery.Endpoint) bool { return e.NodeName == nil && parse(e.Addresses[0]) == address })
	})
}

// protocolsWithPorts is what ours says of packets to cluster IPs before it refuses them.
const protocolsWithPorts = "meta l4proto { tcp, udp, sctp } "

// sameButAll says whether ours are theirs without some parts.
func sameButAll(d *Difference, parts ...string) bool {
	return slices.EqualFunc(d.ours, d.theirs, func(a, b string) bool {
		for _, part := range parts {
			a = strings.ReplaceAll(a, part, "")
		}
		return a == b
	})
}

// sameBut says whether ours are theirs where a part of each line is another one.
func sameBut(d *Difference, ours, theirs string) bool {
	return slices.EqualFunc(d.ours, d.theirs, func(a, b string) bool { return strings.ReplaceAll(a, ours, theirs) == b })
}
