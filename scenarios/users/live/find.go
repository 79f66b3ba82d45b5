package live

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// shownPackets is how many of the packets that suffer from one thing a report shows.
const shownPackets = 3

// shownWays is how many of a packet's ways a report tells.
const shownWays = 2

// find gives names to what is wrong.
func (e *exam) find(all []suffering) error {
	places := map[string]int{}
	for _, s := range all {
		f, err := e.explain(s)
		if err != nil {
			return err
		}
		key := fmt.Sprint(f.Service, f.Missing, f.Foreign, f.Moved, f.Deciding, f.Heals)
		place, known := places[key]
		if !known {
			place = len(e.report.Findings)
			places[key] = place
			if f.Packets[0].Way, err = e.way(s); err != nil {
				return err
			}
			e.report.Findings = append(e.report.Findings, *f)
			continue
		}
		e.report.Findings[place].add(f)
	}
	e.findStale()
	slices.SortStableFunc(e.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(b.Suffering, a.Suffering))
	})
	return nil
}

// add joins what another connection suffers.
func (f *Finding) add(other *Finding) {
	f.Suffering++
	f.attempts = append(f.attempts, other.attempts...)
	if len(f.Packets) < shownPackets {
		f.Packets = append(f.Packets, other.Packets...)
	}
	for _, c := range other.Clauses {
		if !slices.ContainsFunc(f.Clauses, func(b Broken) bool { return b.Clause == c.Clause }) {
			f.Clauses = append(f.Clauses, c)
		}
	}
}

// compare heals a copy of the nodes and keeps what is other there.
func (e *exam) compare() error {
	hosts, err := e.hosts(e.cluster.hostOptions)
	if err != nil {
		return err
	}
	e.rules = map[string]difference{}
	for _, object := range e.cluster.nodes() {
		host := hosts[object.Name]
		if host == nil {
			continue
		}
		if err := e.cluster.heal(host, object, e.topology.Configs[object.Name]); err != nil {
			return err
		}
		have := e.lab.Network.Host(object.Name).Host
		var sum difference
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			sum.add(changed(object.Name, family, have, host))
		}
		e.rules[object.Name] = sum
		for i := range e.report.Nodes {
			if n := &e.report.Nodes[i]; n.Name == object.Name {
				n.Missing, n.Foreign = len(sum.missing), len(sum.foreign)
			}
		}
	}
	e.healed, err = newLab(e.topology, e.nodes, hosts)
	return err
}

// explain says what one attempt suffers from.
func (e *exam) explain(s suffering) (*Finding, error) {
	f := &Finding{Suffering: 1, attempts: []suffering{s}}
	expected := e.spec.Expect(s.attempt)
	if expected.Service.Name != "" {
		f.Service = expected.Service.String()
	}
	for _, v := range s.violations {
		if !slices.ContainsFunc(f.Clauses, func(b Broken) bool { return b.Clause == v.Clause.Name }) {
			f.Clauses = append(f.Clauses, Broken{Clause: v.Clause.Name, Says: v.Clause.Text, Source: v.Clause.Source})
		}
	}
	f.Packets = []Packet{{Packet: s.String(), Want: s.violations[0].Want, Got: s.violations[0].Got}}
	return f, e.blame(f, s)
}

// blame finds the rules that make the difference between the nodes as they are and as they should be: those that the
// packets meet on one of them only. Where there is none, it is the rules that decided.
func (e *exam) blame(f *Finding, s suffering) error {
	_, is, err := e.lab.try(e.spec, s.errand, true)
	if err != nil {
		return err
	}
	wrong, would, err := e.healed.try(e.spec, s.errand, true)
	var opaque *packetsim.OpaqueError
	if errors.As(err, &opaque) {
		wrong, err = s.violations, nil // nobody can say whether a sync heals it
	}
	if err != nil {
		return err
	}
	f.Heals = len(wrong) == 0
	met, wouldMeet := matched(is), matched(would)
	for _, node := range slices.Sorted(maps.Keys(e.rules)) {
		d := e.rules[node]
		f.Missing = append(f.Missing, e.attributed(among(d.missing, wouldMeet))...)
		f.Foreign = append(f.Foreign, e.attributed(among(d.foreign, met))...)
		if f.Heals {
			f.Moved = append(f.Moved, e.attributed(among(d.moved, met))...)
		}
	}
	if len(f.Missing)+len(f.Foreign) > 0 {
		f.Moved = nil
	}
	if !f.Heals || len(f.Missing)+len(f.Foreign)+len(f.Moved) == 0 {
		f.decided(deciding(wrongOf(is, would)))
	}
	return nil
}

// decided takes the rules that decided in: those that are not kube-proxy's are foreign.
func (f *Finding) decided(rules []factRule) {
	for i := range rules {
		r := rules[i].Rule
		if rules[i].writer().IsKubernetes() || strings.HasPrefix(r.Text, "-P ") {
			f.Deciding = append(f.Deciding, r)
			continue
		}
		r.Why = "not kube-proxy's, which leaves it alone"
		f.Foreign = append(f.Foreign, r)
	}
}

// attributed are the rules, each with whose it is.
func (e *exam) attributed(rules []factRule) []Rule {
	known := map[string]bool{}
	for _, s := range e.cluster.services() {
		known[s.Namespace+"/"+s.Name] = true
	}
	for i := range rules {
		switch service := rules[i].service(); {
		case service == "":
		case known[service]:
			rules[i].Why = "of " + service
		default:
			rules[i].Why = "stale: there is no service " + service
		}
	}
	return plain(rules)
}

// among are the rules that packets met, each once.
func among(rules []factRule, met map[Rule]bool) []factRule {
	var out []factRule
	seen := map[Rule]bool{}
	for _, r := range rules {
		if met[r.Rule] && !seen[r.Rule] {
			seen[r.Rule] = true
			out = append(out, r)
		}
	}
	return out
}

// matched are the rules that the packets of stories matched, there and back.
func matched(stories []story) map[Rule]bool {
	out := map[Rule]bool{}
	for _, s := range stories {
		for _, j := range s.journeys {
			eachStep(j, func(host string, family netfilter.Family, step *packetsim.Step) {
				if step.Rule != nil {
					out[ruleOf(host, family, step)] = true
				}
			})
		}
	}
	return out
}

// ruleOf is the rule of a step, or a command for its policy.
func ruleOf(host string, family netfilter.Family, s *packetsim.Step) Rule {
	text := s.Text()
	if s.Rule == nil {
		text = "-P " + s.Chain + " " + string(s.Policy)
	}
	return Rule{Node: host, Family: family, Table: s.Table, Chain: s.Chain, Text: text, Dialect: s.Dialect}
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

// deciding are the last rules that packets met, or the policies; none where the kernel decided without a rule.
func deciding(stories []story) []factRule {
	var out []factRule
	for _, s := range stories {
		hops := s.journeys[0].Hops
		for h := len(hops) - 1; h >= 0; h-- {
			steps := hops[h].Outcome.Steps
			if len(steps) == 0 {
				continue
			}
			if hops[h].Outcome.Reason != "" {
				break // no rule decided
			}
			last := &steps[len(steps)-1]
			r := factRule{Rule: ruleOf(hops[h].Host, inet.FamilyOf(hops[h].Input.Dst), last)}
			if last.Rule != nil {
				r.fact = last.Rule.Fact
			}
			if !slices.ContainsFunc(out, func(known factRule) bool { return known.Rule == r.Rule }) {
				out = append(out, r)
			}
			break
		}
	}
	return out
}

// way tells what the hosts on the way did with the packet that suffers, on those of its ways that it would not take after a
// sync of kube-proxy.
func (e *exam) way(s suffering) ([]string, error) {
	_, stories, err := e.lab.try(e.spec, s.errand, true)
	if err != nil {
		return nil, err
	}
	_, would, err := e.healed.try(e.spec, s.errand, true)
	var opaque *packetsim.OpaqueError
	if err != nil && !errors.As(err, &opaque) {
		return nil, err
	}
	wrong := wrongOf(stories, would)
	if len(wrong) > shownWays {
		wrong = wrong[:shownWays]
	}
	var out []string
	for _, told := range wrong {
		out = append(out, told.lines()...)
	}
	return out, nil
}

// wrongOf are the ways that are not as they would be, otherwise those on which nobody is reached, otherwise all.
func wrongOf(stories, would []story) []story {
	other := slices.DeleteFunc(slices.Clone(stories), func(told story) bool {
		return slices.ContainsFunc(would, func(right story) bool { return right.result == told.result })
	})
	if len(other) > 0 {
		return other
	}
	lost := slices.DeleteFunc(slices.Clone(stories), func(told story) bool { return told.made })
	if len(lost) > 0 {
		return lost
	}
	return stories
}

// lines tell a story.
func (s story) lines() []string {
	out := []string{fmt.Sprintf("with the chance %.4g:", s.probability)}
	for h := range s.journeys[0].Hops {
		hop := &s.journeys[0].Hops[h]
		out = append(out, fmt.Sprintf("  %s: %s", hop.Host, hop.Input))
		for k := range hop.Outcome.Steps {
			step := &hop.Outcome.Steps[k]
			backend := step.Dialect
			if backend != "" {
				backend += " "
			}
			out = append(out, strings.TrimRight(fmt.Sprintf("    %s%s  %s", backend, step, step.Text()), " "))
		}
	}
	return append(out, "  "+s.result)
}
