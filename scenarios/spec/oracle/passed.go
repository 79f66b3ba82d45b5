package oracle

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Passed is an endpoint of a service that a packet to the service may not reach.
type Passed struct {
	// Endpoint is where it is. The port is 0 if no port of its slice is the service's.
	Endpoint netip.AddrPort
	// Why says in words of the API's fields why not.
	Why string
	// Clause is what the specification says of that.
	Clause *Clause
}

// Served is what a node promises for an attempt that has come to it.
type Served struct {
	// Answer is what may become of it; of several services at one address the first one's.
	Answer Answer
	// Passed are the endpoints of the service that it may not reach, in the order of the slices.
	Passed []Passed
	// Slices says that there is an endpoint at all, usable or not.
	Slices bool
}

// Serve says what a node promises for an attempt that has come to it, whatever way it took there, and which endpoints of the service it
// may not reach, and why. It is false if no service of the node is at the address; then the clause says why, if the address looks as if it
// were one's.
func (s *Spec) Serve(a Attempt, node string) (Served, *Clause, bool) {
	at := s.place(node)
	q, ok := s.question(&a)
	if at < 0 || !ok {
		return Served{}, nil, false
	}
	answer, decided := s.decide(&q, at, -1)
	if !decided || answer.port == nil {
		return Served{}, s.known[at].spec.services.left[place{q.To, q.protocol}], false
	}
	known := s.known[at]
	view := &known.spec.views[known.node]
	out := Served{Answer: answer}
	for i := range answer.port.endpoints {
		e := &answer.port.endpoints[i]
		out.Slices = true
		if answer.Fate == ToEndpoint && slices.Contains(answer.Endpoints, e.at) {
			continue
		}
		why, clause := answer.passes(e, view)
		out.Passed = append(out.Passed, Passed{e.at, why, clause})
	}
	for _, slice := range answer.port.slices {
		out.Slices = out.Slices || len(slice.Endpoints) > 0
		out.Passed = append(out.Passed, answer.port.unjoined(slice)...)
	}
	return out, nil, true
}

// passes says why an endpoint is not among those of an answer.
func (a *Answer) passes(e *endpoint, v *view) (string, *Clause) {
	switch {
	case a.port.doubt:
		return "two endpoint slices say different things of it", conflictingDuplicates
	case !e.ready && !e.serving && e.ending:
		return "terminating, and it serves no more", readyEndpoints
	case !e.ready && !e.ending:
		return "not ready", readyEndpoints
	case a.chosen == sourceRanges:
		return fmt.Sprintf("source range: %s is in none of %s (loadBalancerSourceRanges)", a.from, rangesInWords(a.port.ranges)), sourceRanges
	case e.node != v.name && a.isLocal():
		return fmt.Sprintf("policy Local: it is on %s and the packet on %s (%s)", orNoNode(e.node), v.name, a.policyField()), a.chosen
	case !e.ready:
		return "terminating, while others are ready", readyEndpoints
	case a.chosen == nodeHints:
		return fmt.Sprintf("hint of %s: the packet is on %s", hintedNodes(e), v.name), nodeHints
	case a.chosen == zoneHints:
		return fmt.Sprintf("hint of %s: %s is in zone %s", hintedZones(e), v.name, v.zone), zoneHints
	}
	return a.chosen.Text, a.chosen
}

// isLocal says whether the answer is one of a policy Local.
func (a *Answer) isLocal() bool {
	switch a.chosen {
	case localEndpoints, internalLocalDrops, externalLocalDrops:
		return true
	case terminatingFallback:
		if a.served == clusterIPServed {
			return a.port.internalLocal
		}
		return a.port.externalLocal && a.sourced == externalLocalKept
	}
	return false
}

func (a *Answer) policyField() string {
	if a.served == clusterIPServed {
		return "internalTrafficPolicy"
	}
	return "externalTrafficPolicy"
}

func orNoNode(name string) string {
	if name == "" {
		return "no node (nodeName is missing)"
	}
	return name
}

func hintedNodes(e *endpoint) string {
	var names []string
	for _, n := range e.forNodes {
		names = append(names, n.Name)
	}
	return "node " + strings.Join(names, ", ")
}

func hintedZones(e *endpoint) string {
	var names []string
	for _, z := range e.forZones {
		names = append(names, z.Name)
	}
	return "zone " + strings.Join(names, ", ")
}

func rangesInWords(ranges []netip.Prefix) string {
	var out []string
	for _, r := range ranges {
		out = append(out, r.String())
	}
	return strings.Join(out, ", ")
}

// unjoined are the endpoints of a slice that are none of the port's, and could have been taken for such.
func (p *port) unjoined(slice *discoveryv1.EndpointSlice) []Passed {
	why, clause := "", p.refuses(slice)
	switch clause {
	case nil:
		for i := range slice.Ports {
			if p.matches(&slice.Ports[i]) != 0 {
				return nil
			}
		}
		clause = portNamesMatch
		why = fmt.Sprintf("port name differs: endpoint slice %s has %s, the service port is %s", slice.Name, portsInWords(slice), p.inWords())
	case otherProxy:
		why = fmt.Sprintf("endpoint slice %s is another proxy's (label %s)", slice.Name, labelProxyName)
	case headlessLabel:
		why = fmt.Sprintf("endpoint slice %s is for no proxy (label %s)", slice.Name, labelHeadless)
	default:
		return nil // one of the other family is not expected
	}
	var out []Passed
	for i := range slice.Endpoints {
		if texts := slice.Endpoints[i].Addresses; len(texts) > 0 {
			if a := address(texts[0]); a.IsValid() && a.Is6() == p.v6 && !p.knows(a) {
				out = append(out, Passed{netip.AddrPortFrom(a, 0), why, clause})
			}
		}
	}
	return out
}

// knows says whether an endpoint of the port has an address.
func (p *port) knows(a netip.Addr) bool {
	return slices.ContainsFunc(p.endpoints, func(e endpoint) bool { return e.at.Addr() == a })
}

func (p *port) inWords() string { return fmt.Sprintf("%q of %s", p.name, p.protocol) }

func portsInWords(slice *discoveryv1.EndpointSlice) string {
	var out []string
	for i := range slice.Ports {
		name, protocol := "", "TCP"
		if slice.Ports[i].Name != nil {
			name = *slice.Ports[i].Name
		}
		if slice.Ports[i].Protocol != nil {
			protocol = string(*slice.Ports[i].Protocol)
		}
		out = append(out, fmt.Sprintf("%q of %s", name, protocol))
	}
	if len(out) == 0 {
		return "no port"
	}
	return strings.Join(out, ", ")
}
