package oracle

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// chanceTolerance is what choosing by multiples of 2^-31 may be off by.
const chanceTolerance = 1.0 / (1 << 28)

// wrong is what a judge finds in a way.
type wrong struct {
	clause *Clause
	what   string
}

// Judge says what of the ways that an attempt took is not allowed.
func (s *Spec) Judge(a Attempt, ways []Way) []Violation {
	answer := s.expect(&a)
	return s.judge(&a, &answer, ways)
}

func (s *Spec) judge(a *Attempt, answer *Answer, ways []Way) []Violation {
	found, ok := s.check(a, answer, ways)
	if ok {
		return nil
	}
	for i := range answer.Others {
		if _, ok := s.check(a, &answer.Others[i], ways); ok {
			return nil
		}
	}
	v := Violation{Clause: found.clause, Attempt: *a, Want: answer.String(), Got: inWords(ways)}
	if found.what != "" {
		v.Got += ": " + found.what
	}
	return []Violation{v}
}

// check holds all ways to one answer.
func (s *Spec) check(a *Attempt, answer *Answer, ways []Way) (wrong, bool) {
	if answer.Open {
		return wrong{}, true
	}
	if len(ways) == 0 {
		return wrong{clause: answer.because(), what: "it took no way at all"}, false
	}
	s.shares = append(s.shares[:0], make([]float64, len(answer.Endpoints))...)
	for i := range ways {
		if clause, what := s.way(a, answer, &ways[i]); clause != nil {
			return wrong{clause: clause, what: what}, false
		}
	}
	if answer.Fate != ToEndpoint || answer.Loose || answer.flow != nil || answer.remembered {
		return wrong{}, true
	}
	return s.chances(answer)
}

// because is the clause that a packet breaks that has another fate.
func (a *Answer) because() *Clause {
	if a.Fate == ToEndpoint || a.Fate == Untouched {
		return a.served
	}
	return a.chosen
}

// way holds one way to an answer. It returns the clause that is broken, nil if none is, and what is wrong.
func (s *Spec) way(a *Attempt, answer *Answer, w *Way) (*Clause, string) {
	if answer.Loose && (w.End == Dropped || w.End == Rejected) {
		return nil, ""
	}
	switch answer.Fate {
	case ToEndpoint:
		if answer.flow != nil {
			return answer.flow.continues(w)
		}
		return s.reaches(answer, w)
	case Reject:
		if w.End != Rejected {
			return answer.chosen, ""
		}
		if !w.Heard && !answer.later && answer.silenced == nil {
			return answer.chosen, "the client does not hear it"
		}
	case Drop:
		if answer.chosen == loopbackFromOutside {
			return s.staysOut(answer, w)
		}
		if w.End != Dropped && (w.End != Lost || answer.chosen != invalidPacketDropped) {
			return answer.chosen, ""
		}
	case Untouched:
		return passes(a, answer, w)
	}
	return nil, ""
}

// reaches holds a way to the endpoints of an answer.
func (s *Spec) reaches(answer *Answer, w *Way) (*Clause, string) {
	i, found := slices.BinarySearchFunc(answer.Endpoints, w.Server, netip.AddrPort.Compare)
	if !found {
		if answer.port.isEndpoint(w.Server) {
			return answer.chosen, ""
		}
		return answer.served, ""
	}
	s.shares[i] += w.Probability
	host, end := answer.At(i)
	if end == Dropped && w.End == Lost && answer.net.byAddr[w.Server.Addr()] == nil {
		return nil, "" // before anybody could stop it: nobody has the address
	}
	if end == Lost {
		if w.End == Lost || w.End == Refused || w.End == Dropped && answer.stopped != nil { // by a node that it comes by in search of nobody
			return nil, ""
		}
		return answer.served, "nobody has the address of the endpoint"
	}
	if answer.hairpinsElsewhere(i) && (w.End == Lost || answer.stopped != nil && (w.End == Delivered || w.End == Dropped)) {
		return nil, "" // whether rules of others stop it is for its source to say, which is open
	}
	if w.End != end || w.Host != host {
		return answer.misses(i, w), fmt.Sprintf("want it to be %s by %s", end, host)
	}
	if end == Dropped {
		return nil, ""
	}
	if clause, what := source(answer, i, w); clause != nil {
		return clause, what
	}
	if !w.Heard && answer.Heard(i) {
		return repliesComeBack, "the client does not hear the answer"
	}
	return nil, ""
}

// misses is the clause that a way breaks that ends elsewhere or otherwise than it must with the endpoint at a place of Endpoints.
func (a *Answer) misses(endpoint int, w *Way) *Clause {
	switch {
	case a.stoppedAt(endpoint) != "":
		return a.policy()
	case a.stopped != nil && a.source == Masqueraded && w.End == Dropped && !a.unaccepted:
		return passesForward
	}
	return a.served
}

// isEndpoint says whether the port has an endpoint, usable or not.
func (p *port) isEndpoint(at netip.AddrPort) bool {
	return slices.ContainsFunc(p.endpoints, func(e endpoint) bool { return e.at == at })
}

// source holds a way to the source that the endpoint must see.
func source(answer *Answer, i int, w *Way) (*Clause, string) {
	kept := w.Client.Addr() == w.Sender.Addr()
	ofNode := answer.decide.has(w.Client.Addr())
	why := answer.sourced
	if answer.Endpoints[i].Addr() == answer.from {
		why = hairpin
	}
	switch answer.Source(i) {
	case Kept:
		if !kept || w.Masqueraded {
			return why, fmt.Sprintf("the source became %s", w.Client)
		}
	case Masqueraded:
		if !ofNode {
			return why, fmt.Sprintf("the endpoint sees %s, which is no address of %s", w.Client.Addr(), answer.Node)
		}
	default:
		if !kept && !ofNode {
			return ownProcess, fmt.Sprintf("the source became %s", w.Client)
		}
	}
	return nil, ""
}

// chances holds the chances of all endpoints to the same share.
func (s *Spec) chances(answer *Answer) (wrong, bool) {
	want := 1 / float64(len(answer.Endpoints))
	for i, share := range s.shares {
		if share == 0 {
			return wrong{clause: answer.chosen, what: fmt.Sprintf("%s is left out", answer.Endpoints[i])}, false
		}
	}
	for i, share := range s.shares {
		if math.Abs(share-want) > chanceTolerance {
			what := fmt.Sprintf("%s has the chance %.9g, not %.9g", answer.Endpoints[i], share, want)
			return wrong{clause: equalChances, what: what}, false
		}
	}
	return wrong{}, true
}

// passes holds a way to that of a packet of no service.
func passes(a *Attempt, answer *Answer, w *Way) (*Clause, string) {
	switch {
	case w.Server != a.To:
		return answer.served, fmt.Sprintf("the destination became %s", w.Server)
	case w.Client != w.Sender || w.Masqueraded:
		return answer.served, fmt.Sprintf("the source became %s", w.Client)
	case answer.End == Dropped:
		if w.End == Lost && answer.mayBeLost || w.End == Dropped && w.Host == answer.Host {
			return nil, ""
		}
		return answer.chosen, ""
	case answer.Host == "":
		if w.End == Rejected || w.End == Dropped {
			return answer.served, ""
		}
		return nil, ""
	case w.End != answer.End || w.Host != answer.Host:
		return answer.served, ""
	case !w.Heard && !answer.Loose && !answer.later && answer.silenced == nil && answer.client.has(w.Sender.Addr()):
		return answer.served, "the client does not hear the answer"
	}
	return nil, ""
}

// staysOut holds a way to that of a packet that no node takes. What is translated before a node looks for whom it is, may be
// translated here too; then it is as any other packet to a node port, and comes to an endpoint of one.
func (s *Spec) staysOut(answer *Answer, w *Way) (*Clause, string) {
	if w.End == Dropped || w.End == Lost || w.End == Rejected {
		return nil, ""
	}
	for _, p := range s.services.ports {
		if p.nodePort != 0 && p.isEndpoint(w.Server) {
			return nil, ""
		}
	}
	if !w.Server.Addr().IsLoopback() {
		return nodePortServed, "no node port has that endpoint"
	}
	return answer.chosen, ""
}

// inWords says in a few words what was seen.
func inWords(ways []Way) string {
	out := make([]string, 0, len(ways))
	for i := range ways {
		out = append(out, ways[i].String())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}

// String says in words what became of the packet.
func (w *Way) String() string {
	var text string
	switch w.End {
	case Delivered, Refused:
		text = fmt.Sprintf("%s at %s as %s from %s", w.End, w.Host, w.Server, w.Client.Addr())
	case Rejected:
		text = fmt.Sprintf("rejected on %s with %s", w.Host, w.With)
	case Lost:
		text = fmt.Sprintf("lost at %s as %s", w.Host, w.Server)
	default:
		text = fmt.Sprintf("%s on %s", w.End, w.Host)
	}
	if w.Heard {
		return text
	}
	return text + ", not heard"
}
