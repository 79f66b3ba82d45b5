package live

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// shownWays is how many of a packet's ways a report tells.
const shownWays = 2

// find gives a name to what is wrong with one that suffers.
func (g *groups) find(s *suffering) error {
	g.exam.lab.memory = &g.memory
	err := g.exam.diagnose(s)
	g.exam.lab.memory = nil
	if err == nil {
		err = g.add(s)
	}
	g.memory.Release()
	return err
}

// conclude writes down what was found.
func (e *exam) conclude(g *groups) {
	for _, u := range g.unjudged.Unjudged {
		e.report.leaveOut(u.Why, u.Connections)
	}
	e.findStale(g)
	e.report.Findings = g.findings()
	e.say()
}

// suffering is an errand that suffers, and from what.
type suffering struct {
	errand
	answer oracle.Answer
	wrong  []oracle.Violation
	// heals says that the packets would be right after kube-proxy has written its rules anew.
	heals bool
	// missing, foreign and moved are rules in which the nodes differ from what kube-proxy would leave, and which made the difference.
	missing, foreign, moved []*factRule
	// differs says that a sync of kube-proxy changes where the ways end, be it not for the better of all.
	differs bool
	// stops name what stopped each way, or the rule that decided. It is empty if kube-proxy's rules alone explain it.
	stops []stop

	ways []story // those that are not as they should be
}

// diagnose finds what makes the difference between the nodes as they are and as kube-proxy would leave them: the rules that the packets
// meet on one of them only. Where there is none, it is what stopped the packets, or the rules that decided.
func (e *exam) diagnose(s *suffering) error {
	s.answer = e.spec.Expect(s.attempt)
	is, err := e.lab.tell(e.spec, s.errand)
	if err != nil {
		return err
	}
	would := is
	if e.meetsChanged(s.errand, is) {
		var still []oracle.Violation
		var after []story
		err := e.afterSync(func(healed *lab) (err error) {
			still, after, err = healed.try(e.spec, s.errand, true)
			return err
		})
		var opaque *packetsim.OpaqueError
		if err != nil && !errors.As(err, &opaque) {
			return err
		}
		would, s.heals = after, err == nil && len(still) == 0 // a rule that chainwalk does not know may still stop it
		e.compareWays(s, is, would)
		s.ways = otherThan(is, would)
		s.differs = len(s.ways)+len(otherThan(would, is)) > 0
	}
	if len(s.ways) == 0 {
		s.ways = lostOf(is)
	}
	if s.heals && len(s.missing)+len(s.foreign)+len(s.moved) > 0 {
		return nil
	}
	stopped := s.ways
	if len(s.missing)+len(s.foreign) > 0 {
		stopped = lostOf(would) // what is left when kube-proxy has done its part
	}
	for i := range stopped {
		s.addStop(e.stopOf(&stopped[i], s.answer.Fate == oracle.ToEndpoint))
	}
	return nil
}

// meetsChanged says whether an errand's packets come to a node that a sync changes. For an errand after a connection any such node counts:
// the connection's own packets are not told.
func (e *exam) meetsChanged(p errand, told []story) bool {
	if p.act != actConnect {
		return len(e.hostsHealed) > 0
	}
	for i := range told {
		for _, j := range told[i].journeys {
			if j != nil && j.Any(func(host string) bool { return e.hostsHealed[host] != nil }) {
				return true
			}
		}
	}
	return false
}

// compareWays finds the rules that are met on the nodes as they are or as they should be, and not on both.
func (e *exam) compareWays(s *suffering, is, would []story) {
	var missing, foreign, moved picked
	e.eachOther(would, func(d difference, r *Rule, place int) { missing.pick(d.missing, r, place) })
	e.eachOther(is, func(d difference, r *Rule, place int) {
		foreign.pick(d.foreign, r, place)
		moved.pick(d.moved, r, place)
	})
	s.missing, s.foreign = missing.sorted(), foreign.sorted()
	if s.heals && len(s.missing)+len(s.foreign) == 0 {
		s.moved = moved.sorted()
	}
}

// picked are rules of differences that packets met, each once.
type picked []pickedRule

type pickedRule struct {
	*factRule
	place int
}

// pick takes a rule that a packet met, if it stands at its place in a list.
func (p *picked) pick(list []factRule, r *Rule, place int) {
	if place >= len(list) || list[place].Rule != *r {
		return
	}
	if one := (pickedRule{&list[place], place}); !slices.Contains(*p, one) {
		*p = append(*p, one)
	}
}

// eachOther goes through the rules that the packets of stories met and in which their node differs, each with its
// place in one of the lists.
func (e *exam) eachOther(stories []story, do func(d difference, r *Rule, place int)) {
	differs := func(node string) bool { return len(e.rules[node].places) > 0 }
	eachMet(stories, differs, func(r *Rule) {
		d := e.rules[r.Node]
		if place, there := d.places[*r]; there {
			do(d, r, place)
		}
	})
}

// sorted are the rules by their nodes, in the order of the lists.
func (p picked) sorted() []*factRule {
	slices.SortFunc(p, func(a, b pickedRule) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.place, b.place))
	})
	out := make([]*factRule, len(p))
	for i := range p {
		out[i] = p[i].factRule
	}
	return out
}

// stop is what stopped a way of an errand.
type stop struct {
	// cause is empty if nothing stopped the way, which only goes elsewhere than it should.
	cause cause.Cause
	// rule is the rule or policy that decided; without a text if none did.
	rule factRule
}

// addStop adds what stopped a way, unless another way was stopped by the same.
func (s *suffering) addStop(one stop) {
	if !slices.ContainsFunc(s.stops, func(o stop) bool { return o.rule.Rule == one.rule.Rule && o.cause == one.cause }) {
		s.stops = append(s.stops, one)
	}
}

// stopOf is what stopped a connection, or a packet of one. Of a connection to a service it is also who took it elsewhere.
func (e *exam) stopOf(s *story, toService bool) (out stop) {
	var found bool
	out.rule, _ = s.decided()
	switch {
	case s.connection != nil:
		if j := s.unheard(); j != nil {
			return e.stopOf(&story{journeys: []*network.Journey{j}}, false)
		}
		if out.cause, found = cause.Taken(s.connection); !found && toService && s.untranslated() {
			out.cause, found = cause.Bypassed(s.connection)
		}
		if found {
			out.rule = s.ruleOf(&out.cause)
		} else {
			out.cause, _ = cause.Of(s.connection, e.world())
		}
	case len(s.journeys[0].Hops) > 0:
		if out.cause, found = e.world().TooLong(s.journeys[0], s.journeys[0].Hops[0].Host); found {
			return out
		}
		hops := s.journeys[0].Hops
		if there := &hops[0]; there.Outcome.Back != nil { // this host has stopped the reply
			of := cause.OfOutcomes(there.Host, there.Input, []packetsim.Outcome{there.Outcome}, e.world().Node(there.Host))
			if len(of) > 0 {
				out.cause = of[0]
			}
			return out
		}
		last := &hops[len(hops)-1]
		out.cause, _ = cause.OfOutcome(last.Host, last.Input, &last.Outcome, e.world().Node(last.Host))
	}
	return out
}

// untranslated says that the first packet ended where it was sent to.
func (s *story) untranslated() bool {
	first := &s.connection.Forward
	return len(first.Hops) > 0 && first.Packet.Dst == first.Hops[0].Input.Dst && first.Packet.DstPort == first.Hops[0].Input.DstPort
}

// ruleOf is the rule that a cause names, of those that the packets met.
func (s *story) ruleOf(c *cause.Cause) (out factRule) {
	eachStep(s.journeys[0], func(host string, family netfilter.Family, step *packetsim.Step) {
		if step.Rule == nil || host != c.Host {
			return
		}
		if r := ruleOf(host, family, step); r.command() == c.What {
			out = factRule{Rule: r, fact: step.Rule.Fact}
		}
	})
	return out
}

// unheard is the answer of a host that rejected the packet, if that did not come to the client; nil if it did or if there is none.
func (s *story) unheard() *network.Journey {
	forward := &s.connection.Forward
	if s.connection.Refused || forward.End != network.EndRejected {
		return nil
	}
	for i := range forward.Answers {
		if a := &forward.Answers[i]; a.End != network.EndDelivered && len(a.Hops) > 0 {
			return a
		}
	}
	return nil
}

// eachMet goes through the rules of some nodes that the packets of stories matched, and the elements by which these held, there and back. A
// rule is only there until the next one.
func eachMet(stories []story, of func(node string) bool, do func(*Rule)) {
	var r Rule
	met := func(host string, family netfilter.Family, step *packetsim.Step) {
		if !of(host) {
			return
		}
		if step.Rule != nil {
			r = ruleOf(host, family, step)
			do(&r)
		}
		for i := range step.Elements {
			r = elementOf(host, family, step, &step.Elements[i])
			do(&r)
		}
	}
	for i := range stories {
		for _, j := range stories[i].journeys {
			eachStep(j, met)
		}
	}
}

// ruleOf is the rule of a step, or a command for its policy.
func ruleOf(host string, family netfilter.Family, s *packetsim.Step) Rule {
	text := s.Text()
	if s.Family != "" {
		if s.Rule == nil {
			text = "policy " + strings.ToLower(string(s.Policy))
		}
		return Rule{Node: host, Family: family, Table: s.Family + " " + s.Table, Chain: s.Chain, NativeChain: s.Chain, Text: text}
	}
	if s.Rule == nil {
		text = "-P " + s.Chain + " " + string(s.Policy)
	}
	return Rule{Node: host, Family: family, Table: s.Table, Chain: s.Chain, Text: text, Dialect: s.Dialect}
}

// elementOf is an element by which the rule of a step held.
func elementOf(host string, family netfilter.Family, s *packetsim.Step, e *packetsim.SetElement) Rule {
	return Rule{Node: host, Family: family, Table: s.Family + " " + s.Table, Chain: "@" + e.Set, NativeChain: "@" + e.Set,
		Text: e.Rule.Text}
}

// eachStep goes along a journey, and those of the answers and copies that it caused.
func eachStep(j *network.Journey, do func(host string, family netfilter.Family, step *packetsim.Step)) {
	if j == nil {
		return
	}
	for i := range j.Hops {
		hop := &j.Hops[i]
		for k := range hop.Outcome.Steps {
			do(hop.Host, inet.FamilyOf(hop.Input.Dst), &hop.Outcome.Steps[k])
		}
	}
	for i := range j.Answers {
		eachStep(&j.Answers[i], do)
	}
	for i := range j.Copies {
		eachStep(&j.Copies[i], do)
	}
}

// decided is the last rule or policy that a packet which was lost met; of a connection that is made, the last that translated it. False:
// the kernel decided without a rule.
func (s *story) decided() (out factRule, found bool) {
	var at *network.Hop
	var last *packetsim.Step
	for _, j := range s.journeys {
		for h := 0; j != nil && h < len(j.Hops); h++ {
			hop := &j.Hops[h]
			for k := range hop.Outcome.Steps {
				step := &hop.Outcome.Steps[k]
				if !s.made() || step.Rule != nil && step.Rule.Fact.Translation.Of != "" {
					at, last = hop, step
				}
			}
			if hop.Outcome.Reason != "" {
				return factRule{}, false
			}
		}
		if s.made() {
			break
		}
	}
	if last == nil {
		return factRule{}, false
	}
	out.Rule = ruleOf(at.Host, inet.FamilyOf(at.Input.Dst), last)
	if last.Rule != nil {
		out.fact = last.Rule.Fact
	}
	return out, true
}

// otherThan are the ways that end otherwise than they would.
func otherThan(stories, would []story) []story {
	right := map[string]bool{}
	for i := range would {
		right[would[i].result()] = true
	}
	var other []story
	for i := range stories {
		if !right[stories[i].result()] {
			other = append(other, stories[i])
		}
	}
	return other
}

// lostOf are the ways on which nobody is reached, otherwise all.
func lostOf(stories []story) []story {
	if !slices.ContainsFunc(stories, func(told story) bool { return told.made() }) {
		return stories
	}
	var lost []story
	for i := range stories {
		if !stories[i].made() {
			lost = append(lost, stories[i])
		}
	}
	if len(lost) == 0 {
		return stories
	}
	return lost
}
