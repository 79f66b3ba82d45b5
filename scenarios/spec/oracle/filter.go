package oracle

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Filter is what rules of others in a node's table filter let pass, of one family. Its zero value lets everything pass.
type Filter struct {
	// Input and Forward are the chains with a policy of DROP; nil: that chain lets everything pass. Packets of connections that are known
	// pass by INPUT in any case; those that FORWARD has are for the service proxy to let pass.
	Input, Forward []Pass
	// Replies says that FORWARD itself lets packets of known connections pass. It says something where Forward is given.
	Replies bool
}

// Stops says whether there are packets that do not pass.
func (f *Filter) Stops() bool { return f.Input != nil || f.Forward != nil }

// Pass is a rule that lets first packets pass. Its zero value is for all of them.
type Pass struct {
	From, To netip.Prefix    // not given: all addresses
	Protocol corev1.Protocol // empty: every protocol
	Port     uint16          // the destination's; 0: every port
	Loopback bool            // only what the node sends to itself
	Nothing  bool            // a rule for packets of known connections alone
	// Translated is only for packets of connections whose destination the node has translated, their answers among them.
	Translated bool
}

// filters are a node's filters, by family: IPv4 first.
type filters [2]Filter

func (f *filters) any() bool { return f[0].Stops() || f[1].Stops() }

// passing is a first packet at a node: what it has there, and where it is to go.
type passing struct {
	node     int
	protocol corev1.Protocol
	from     netip.Addr
	to       netip.AddrPort
	input    bool // it is for the node itself
	loopback bool // and the node has sent it
	// translated says that the node has translated its destination.
	translated bool
}

// stops says whether rules of others on the packet's node stop it.
func (s *Spec) stops(p *passing) bool {
	f := &s.views[p.node].filter[family(p.to.Addr())]
	rules := f.Forward
	if p.input {
		rules = f.Input
	}
	if rules == nil {
		return false
	}
	for i := range rules {
		if rules[i].lets(p) {
			return false
		}
	}
	return true
}

func (r *Pass) lets(p *passing) bool {
	return !r.Nothing && (!r.Loopback || p.loopback) && (!r.Translated || p.translated) && (r.Protocol == "" || r.Protocol == p.protocol) &&
		(r.Port == 0 || r.Port == p.to.Port()) &&
		(!r.From.IsValid() || r.From.Contains(p.from)) && (!r.To.IsValid() || r.To.Contains(p.to.Addr()))
}

// filtered takes into account what rules of others stop of the packets of an answer, on the nodes that they pass.
func (s *Spec) filtered(a *Answer, q *question, first, second int) {
	if !s.filtering {
		return
	}
	s.filterOne(a, q, first, second)
	for i := range a.Others {
		s.filterOne(&a.Others[i], q, first, second)
	}
}

func (s *Spec) filterOne(a *Answer, q *question, first, second int) {
	decide := s.place(a.Node)
	for _, node := range [2]int{first, second} {
		if node < 0 || node == decide {
			break
		}
		if s.stopsOnTheWay(a, q, node) {
			a.unaccepted = s.modeOn(node) == NFTables
			a.stop(s.views[node].name)
			return
		}
	}
	s.silences(a, q.To.Addr().Is6(), first, second)
	if a.Fate != ToEndpoint || a.Open {
		return
	}
	a.unaccepted = s.modeOn(a.decide.node) == NFTables
	a.stopped = make([]string, len(a.Endpoints))
	for i := range a.Endpoints {
		a.stopped[i] = s.stopsToEndpoint(a, q, i)
	}
}

// modeOn is the mode of a node's proxy.
func (s *Spec) modeOn(node int) Mode {
	known := s.known[node]
	return known.spec.views[known.node].mode
}

// stopsReplies says whether rules of others on a node stop packets of known connections that it forwards.
func (s *Spec) stopsReplies(node int, v6 bool) bool {
	f := &s.views[node].filter[familyOf(v6)]
	return f.Forward != nil && !f.Replies && s.modeOn(node) == NFTables
}

// silences notes that rules of others may stop the answers at the nodes that a packet passes, where no proxy lets them pass.
func (s *Spec) silences(a *Answer, v6 bool, nodes ...int) {
	for i := range a.Endpoints {
		nodes = append(nodes, s.network.nodeBefore(a.Endpoints[i].Addr()))
	}
	decide := s.place(a.Node)
	for _, node := range nodes {
		if node >= 0 && s.stopsReplies(node, v6) && (node != decide || a.Fate != ToEndpoint || !s.letsTranslated(node, v6)) {
			a.silenced = firewallDecides
		}
	}
}

// letsTranslated says whether rules of others on a node let all packets of connections pass that it has translated.
func (s *Spec) letsTranslated(node int, v6 bool) bool {
	return slices.Contains(s.views[node].filter[familyOf(v6)].Forward, Pass{Translated: true})
}

// stoppedOf is stopped for some of the answer's Endpoints.
func (a *Answer) stoppedOf(endpoints []netip.AddrPort) []string {
	if a.stopped == nil {
		return nil
	}
	out := make([]string, len(endpoints))
	for i, endpoint := range endpoints {
		out[i] = a.stopped[slices.Index(a.Endpoints, endpoint)]
	}
	return out
}

// stop has the packet end at a node's chain of policy DROP.
func (a *Answer) stop(node string) {
	a.chosen, a.sourced, a.Open, a.Loose = a.policy(), nil, false, false
	if a.Fate == Untouched {
		a.mayBeLost = a.Host == ""
		a.Host, a.End = node, Dropped
		return
	}
	a.Fate = Drop
}

// stopsOnTheWay says whether an untranslated packet is stopped at a node that it passes or comes to.
func (s *Spec) stopsOnTheWay(a *Answer, q *question, node int) bool {
	here := &s.network.hosts[node]
	own := q.client.kind == aNode && q.client.node == node
	p := passing{node: node, protocol: q.Protocol, from: q.from, to: q.To, input: here.has(q.To.Addr()) || q.To.Addr().IsLoopback(),
		loopback: own}
	switch {
	case own && !p.input: // it is sent, and not forwarded
		return false
	case p.input && a.served == healthPortOpen && s.modeOn(node) == IPTables:
		return false
	}
	return s.stops(&p)
}

// stopsToEndpoint is the node at which a packet is stopped that is translated to the endpoint at a place of Endpoints; empty if it is not.
func (s *Spec) stopsToEndpoint(a *Answer, q *question, endpoint int) string {
	at := a.Endpoints[endpoint]
	p := passing{node: a.decide.node, protocol: q.Protocol, from: q.from, to: at, input: a.decide.has(at.Addr()), translated: true}
	p.loopback = q.client.kind == aNode && q.client.node == p.node
	masqueraded := !p.input && (a.source == Masqueraded || at.Addr() == a.from)
	marked := masqueraded && !q.unmarked && s.modeOn(p.node) == IPTables
	if (p.input || !p.loopback && !marked) && s.stops(&p) {
		return s.views[p.node].name
	}
	next := s.network.nodeBefore(at.Addr())
	if p.input || next < 0 || next == p.node {
		return ""
	}
	if masqueraded && !q.unmarked {
		p.from = a.decide.address(at.Addr().Is6())
	}
	p.node, p.input, p.loopback, p.translated = next, s.network.hosts[next].has(at.Addr()), false, false
	if s.stops(&p) {
		return s.views[next].name
	}
	return ""
}
