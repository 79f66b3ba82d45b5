package oracle

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Fate is what becomes of a packet at the service proxies.
type Fate string

// The fates.
const (
	ToEndpoint Fate = "endpoint"  // it is translated to one of Answer.Endpoints
	Reject     Fate = "reject"    // it is refused by a rule, and the client hears it
	Drop       Fate = "drop"      // it is dropped by a rule
	Untouched  Fate = "untouched" // it passes as it was sent
)

// Source says which source an endpoint sees.
type Source string

// The sources.
const (
	Kept        Source = "kept"        // that of the client
	Masqueraded Source = "masqueraded" // an address of the node that decides
	Either      Source = "either"
)

// Answer is what may become of an attempt.
type Answer struct {
	Fate Fate
	// Node is the node that decides, empty for a packet that no service is about.
	Node string
	// Service and Port are the service port that the packet is for; empty if it is for none.
	Service types.NamespacedName
	Port    string
	// Endpoints are the endpoints that the packet may reach, each with the same chance, in order of their addresses. Not to be changed.
	Endpoints []netip.AddrPort
	// Host is where an untouched packet ends, and End how; empty and Lost if nobody has the address.
	Host string
	End  End
	// Open says that the specification leaves it open what becomes of the packet: anything may.
	Open bool
	// Loose says that some of it is open: the Endpoints may have other chances, or be rejected or dropped, and nobody need hear an answer.
	Loose bool
	// Others are answers that are allowed as well. They have no others themselves.
	Others []Answer

	port   *port
	decide *host // the node
	client *host
	from   netip.Addr
	source Source
	net    *network
	// stopped are the nodes at which rules of others stop packets to each of Endpoints, empty for those that they let pass; nil: to none.
	stopped []string
	// mayBeLost says that a packet that is stopped may be lost before, since it is for nobody.
	mayBeLost bool
	// remembered says that the endpoints are remembered ones.
	remembered bool
	// later says that it is for a later packet of a flow, which nobody answers.
	later bool
	// flow is the flow that the answer continues.
	flow    *Flow
	served  *Clause // why the place is served, or is not
	chosen  *Clause // why these endpoints, or the fate
	sourced *Clause // why this source
	odd     *Clause // what else plays a part
	// silenced says why the client need not hear an answer, and nil if it must.
	silenced *Clause
	// mode is the one of the node.
	mode Mode
	// unaccepted says that the node accepts nothing for rules of others.
	unaccepted bool
}

// Source is the source that the endpoint at a place of Endpoints sees.
func (a *Answer) Source(endpoint int) Source {
	if a.flow != nil {
		return Either
	}
	at := a.Endpoints[endpoint].Addr()
	switch {
	case a.decide.has(at) && a.source == Kept && a.from != at:
		return Kept
	case a.decide.has(at):
		return Either // it never leaves the node, so nothing needs to bring its answer back
	case a.hairpinsElsewhere(endpoint):
		return Either
	case at == a.from:
		return Masqueraded
	}
	return a.source
}

// hairpinsElsewhere says whether the endpoint at a place of Endpoints has sent the packet, and is on another node than the one that
// decides, which need not know of it.
func (a *Answer) hairpinsElsewhere(endpoint int) bool {
	at := a.net.byAddr[a.Endpoints[endpoint].Addr()]
	return a.mode == NFTables && at != nil && a.Endpoints[endpoint].Addr() == a.from && at.node != a.decide.node && a.source == Kept
}

// Heard says whether the client must hear the answer of the endpoint at a place of Endpoints;
// otherwise it may not, as the network leads the answer past the node that translated.
func (a *Answer) Heard(endpoint int) bool {
	if a.Loose || a.later || a.flow != nil || a.silenced != nil || !a.client.has(a.from) && !a.from.IsLoopback() {
		return false
	}
	at := a.net.byAddr[a.Endpoints[endpoint].Addr()]
	switch {
	case at == nil || a.stoppedAt(endpoint) != "" || a.hairpinsElsewhere(endpoint):
		return false
	case a.Source(endpoint) == Masqueraded, a.client.node == a.decide.node, at.node == a.decide.node:
		return true
	}
	return false
}

// policy is the clause by which rules of others stop packets.
func (a *Answer) policy() *Clause {
	if a.unaccepted {
		return firewallDecides
	}
	return droppedByPolicy
}

// At says where and how a packet to the endpoint at a place of Endpoints ends.
func (a *Answer) At(endpoint int) (host string, end End) {
	if node := a.stoppedAt(endpoint); node != "" {
		return node, Dropped
	}
	if a.flow != nil {
		return a.net.ends(a.flow.attempt.Protocol, a.Endpoints[endpoint])
	}
	return a.net.ends(a.port.protocol, a.Endpoints[endpoint])
}

// stoppedAt is the node at which rules of others stop a packet to the endpoint at a place of Endpoints; empty if none does.
func (a *Answer) stoppedAt(endpoint int) string {
	if a.stopped == nil {
		return ""
	}
	return a.stopped[endpoint]
}

// IsHealthPort says that the packet is for a health check node port, which the service proxy of the node keeps open.
func (a *Answer) IsHealthPort() bool { return a.served == healthPortOpen }

// Clauses are the clauses that decided.
func (a *Answer) Clauses() []*Clause {
	out := make([]*Clause, 0, 8)
	add := func(c *Clause) {
		if c != nil && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	add(a.served)
	add(a.chosen)
	add(a.sourced)
	add(a.odd)
	add(a.silenced)
	if a.port != nil {
		for _, c := range a.port.notes {
			add(c)
		}
	}
	a.ofEndpoints(add)
	for i := range a.Others {
		for _, c := range a.Others[i].Clauses() {
			add(c)
		}
	}
	return out
}

// ofEndpoints adds the clauses that depend on single endpoints.
func (a *Answer) ofEndpoints(add func(*Clause)) {
	if a.Fate != ToEndpoint || a.Open || a.flow != nil {
		return
	}
	if len(a.Endpoints) > 1 && !a.Loose {
		add(equalChances)
	}
	for i, at := range a.Endpoints {
		switch {
		case a.stoppedAt(i) != "":
			add(a.policy())
			continue
		case a.stopped != nil && a.source == Masqueraded && !a.unaccepted:
			add(passesForward)
		}
		switch {
		case a.decide.has(at.Addr()):
			add(ownProcess)
		case a.hairpinsElsewhere(i):
			add(hairpinElsewhere)
		case at.Addr() == a.from:
			add(hairpin)
		}
		if a.Heard(i) {
			add(repliesComeBack)
		} else if _, end := a.At(i); end != Lost {
			add(answerPastTheNode)
		}
	}
}

// Agrees says whether a node may do the same for two answers: they allow one thing alike, or one of them leaves something open.
func (a *Answer) Agrees(o *Answer) bool {
	return a.allows(func(one *Answer) bool {
		return o.allows(func(other *Answer) bool {
			return one.Open || one.Loose || other.Open || other.Loose || one.inWords() == other.inWords()
		})
	})
}

// allows says whether one of the answers that are allowed is such.
func (a *Answer) allows(such func(one *Answer) bool) bool {
	return such(a) || slices.ContainsFunc(a.Others, func(o Answer) bool { return such(&o) })
}

// String says in words what is allowed.
func (a *Answer) String() string {
	out := a.inWords()
	if a.Open {
		return out
	}
	for i := range a.Others {
		out += fmt.Sprintf(", or %s", &a.Others[i])
	}
	return out
}

// inWords is the answer without the others.
func (a *Answer) inWords() string {
	if a.Open {
		return "anything"
	}
	var out strings.Builder
	switch a.Fate {
	case ToEndpoint:
		a.endpointsInWords(&out)
	case Untouched:
		fmt.Fprintf(&out, "it passes untouched%s", a.endInWords())
	default:
		out.WriteString(map[Fate]string{Reject: "it is rejected", Drop: "it is dropped"}[a.Fate])
		if a.Node != "" {
			out.WriteString(" on " + a.Node)
		}
	}
	return out.String()
}

func (a *Answer) endpointsInWords(out *strings.Builder) {
	if a.flow != nil {
		fmt.Fprintf(out, "it goes on to %s", a.Endpoints[0])
		return
	}
	out.WriteString(a.Service.String())
	if a.Port != "" {
		out.WriteString(":" + a.Port)
	}
	out.WriteString(" sends it to ")
	for i, at := range a.Endpoints {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(out, "%s (%s)", at, a.Source(i))
	}
	if len(a.Endpoints) > 1 && !a.Loose {
		out.WriteString(", equally often")
	}
}

func (a *Answer) endInWords() string {
	if a.Host == "" {
		return ""
	}
	return fmt.Sprintf(" and is %s by %s", a.End, a.Host)
}
