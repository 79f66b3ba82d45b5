package live

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// shownPackets is how many of the packets that suffer from one thing a report has.
const shownPackets = 3

// shownRules is how many rules of a kind a finding has; the rest it counts.
const shownRules = 50

// groups put together what suffers from one thing.
type groups struct {
	exam   *exam
	by     map[string]*group
	memory network.Memory // of the ways of what suffers, which few findings show
	// unjudged has what turned out not to be judged; the report names it behind what was so from the start.
	unjudged Report
}

// group is a finding that is not complete.
type group struct {
	Finding
	unit                              unit
	missing, foreign, moved, deciding map[Rule]*factRule
	nodes, services                   map[string]bool
	inside                            int  // of those that suffer, how many are of pods and nodes
	gone                              bool // a rule of nftables led some to who is no endpoint of the service
}

func newGroups(e *exam) *groups { return &groups{exam: e, by: map[string]*group{}} }

// of is the group of a key.
func (g *groups) of(key string) *group {
	if g.by[key] == nil {
		g.by[key] = &group{
			missing: map[Rule]*factRule{}, foreign: map[Rule]*factRule{}, moved: map[Rule]*factRule{}, deciding: map[Rule]*factRule{},
			nodes: map[string]bool{}, services: map[string]bool{},
		}
	}
	return g.by[key]
}

// add puts an errand that suffers to others that suffer from the same.
func (g *groups) add(s *suffering) error {
	joined := map[*group]bool{}
	if len(s.stops) == 0 || s.differs {
		g.byUnits(s, joined)
	}
	for i := range s.stops {
		g.byStop(s, &s.stops[i], joined)
	}
	for one := range joined {
		if len(one.Packets) == 0 {
			if err := g.tellAgain(s); err != nil {
				return err
			}
		}
		one.suffers(g.exam, s)
	}
	s.ways = nil
	return nil
}

// tellAgain tells the ways of an errand whose ways a finding shows: with all that happened to the packets, and in memory of their own.
func (g *groups) tellAgain(s *suffering) error {
	again := &suffering{errand: s.errand}
	err := g.exam.diagnose(again)
	s.ways = again.ways
	return err
}

// byUnits joins the groups of the rules that are other than kube-proxy's.
func (g *groups) byUnits(s *suffering, joined map[*group]bool) {
	for _, kind := range []struct {
		rules []*factRule
		into  func(*group) map[Rule]*factRule
	}{
		{s.missing, func(one *group) map[Rule]*factRule { return one.missing }},
		{s.foreign, func(one *group) map[Rule]*factRule { return one.foreign }},
		{s.moved, func(one *group) map[Rule]*factRule { return one.moved }},
	} {
		for _, r := range kind.rules {
			u := g.exam.units.of(r)
			one := g.of(u.key)
			one.unit, one.Heals = u, true
			one.nodes[r.Node] = true
			kind.into(one)[r.Rule] = r
			one.gone = one.gone || r.native() && u.service != "" && g.exam.leadsAstray(s)
			joined[one] = true
		}
	}
}

// leadsAstray says whether a way of a connection to a service led to somebody who is none of its endpoints.
func (e *exam) leadsAstray(s *suffering) bool {
	known := e.serving(s.answer.Service.String(), s.answer.Port)
	for i := range s.ways {
		for _, hop := range s.ways[i].journeys[0].Hops {
			to, err := netip.ParseAddrPort(hop.Outcome.DNAT)
			if err == nil && s.answer.Service.Name != "" && !slices.Contains(known, to) {
				return true
			}
		}
	}
	return false
}

// byStop joins the group of what stopped one way.
func (g *groups) byStop(s *suffering, by *stop, joined map[*group]bool) {
	c := by.cause
	switch {
	case c.Code == cause.PolicyRules:
		g.exam.policies++
		return
	case c.Code == cause.NoSnapshot:
		g.unjudged.leaveOut("which leave what is known: "+c.Says, 1)
		return
	case g.exam.isMasked(s, c.Code):
		g.exam.masked++
		return
	case (c.Code == cause.Policy || c.Code == cause.ForeignDrop) && !g.exam.promises(s):
		g.exam.intended++
		return
	case c.Code == "" && by.rule.Text == "":
		c = cause.Cause{Code: cause.Unexplained, What: s.wrong[0].Clause.Name, Says: "No rule and no setting explains it."}
	case c.Code == "":
		if by.rule.translatesSource() && !g.exam.promises(s) {
			g.exam.intended++
			return
		}
		c = causeOfRule(&by.rule)
	}
	one := g.of(c.Key())
	if one.Code == "" {
		one.Cause = c
	}
	for _, node := range []string{c.Host, by.rule.Node} {
		if node != "" {
			one.nodes[node] = true
		}
	}
	if by.rule.isForeign() {
		by.rule.Why = "not kube-proxy's, which leaves it alone"
		keep(one.foreign, &by.rule)
	} else if by.rule.Text != "" {
		keep(one.deciding, &by.rule)
	}
	joined[one] = true
}

// keep adds a copy of a rule, unless the rule is there.
func keep(rules map[Rule]*factRule, r *factRule) {
	if rules[r.Rule] == nil {
		kept := *r
		rules[r.Rule] = &kept
	}
}

// isMasked says whether a way ends otherwise than it should since rules of others translated its source.
func (e *exam) isMasked(s *suffering, code cause.Code) bool {
	switch code {
	case "", cause.LocalOnly, cause.SourceRange, cause.Wrong:
		return s.sourceIsOthers()
	case cause.NoRoute, cause.Astray, cause.NobodyListens:
		return !e.promises(s) && s.sourceIsOthers()
	}
	return false
}

// sourceIsOthers says whether rules of others translated the source of a packet on its way there, as network plugins do with what leaves
// the pods' network: who is then asked does not know the client, and may answer as it would a node.
func (s *suffering) sourceIsOthers() bool {
	for i := range s.ways {
		found := false
		eachStep(s.ways[i].journeys[0], func(_ string, _ netfilter.Family, step *packetsim.Step) {
			if step.Rule != nil {
				of := step.Rule.Fact.Translation.Of
				foreign := !provenance.OfRule(step.Table, step.Chain, &step.Rule.Fact).IsKubernetes()
				found = found || of == netfilter.Source && foreign
			}
		})
		if found {
			return true
		}
	}
	return false
}

// translatesSource says whether a rule of others translates the source of packets, as network plugins do with what leaves the cluster.
func (r *factRule) translatesSource() bool {
	return r.isForeign() && r.fact.Translation.Of == netfilter.Source
}

// isForeign says whether neither kube-proxy nor the kubelet wrote a rule. A policy is not foreign.
func (r *factRule) isForeign() bool {
	policy := strings.HasPrefix(r.Text, "-P ") || r.native() && strings.HasPrefix(r.Text, "policy ")
	return r.Text != "" && !policy && !r.writer().IsKubernetes()
}

// causeOfRule is the cause of packets that nothing stopped and that go where they should not: the rule that led them there.
func causeOfRule(r *factRule) cause.Cause {
	c := cause.Cause{Code: cause.Wrong, Host: r.Node, Family: r.Family, What: r.command(), Owner: string(r.writer())}
	c.Says = fmt.Sprintf("A rule of %s %s, which is kube-proxy's, does what the objects do not promise.", r.Table, r.Chain)
	if r.isForeign() {
		c.Code = cause.ForeignNAT
		c.Says = fmt.Sprintf("A rule of %s %s, which is %s's, translates packets.", r.Table, r.Chain, cmp.Or(c.Owner, "somebody else"))
		c.Remedy = strings.Replace(r.command(), " -A ", " -D ", 1)
		if r.native() {
			c.Remedy = fmt.Sprintf("nft -a list chain %s %s, and nft delete rule %s %s handle N", r.Table, r.Chain, r.Table, r.Chain)
		}
	}
	return c
}

// promises says whether somebody is promised that what he sends comes through: by the objects, or among nodes and pods by the network that
// Kubernetes asks for. What rules of others stop or translate beside that is their owner's matter.
func (e *exam) promises(s *suffering) bool {
	if s.act != actConnect {
		return true
	}
	inside := e.isInside(s.attempt.From)
	switch s.answer.Fate {
	case oracle.ToEndpoint:
		return inside || !e.clusterIPs[s.attempt.To.Addr()]
	case oracle.Untouched:
		return s.answer.IsHealthPort() || inside && e.pods[s.answer.Host] != nil
	}
	return false
}

// isInside says whether a client is a node or a pod.
func (e *exam) isInside(client string) bool {
	return e.pods[client] != nil || e.directory.nodes[client] != nil
}

// counts counts an errand that suffers.
func (f *group) counts(e *exam, s *suffering) {
	f.Suffering++
	if e.isInside(s.attempt.From) {
		f.inside++
	}
	if s.answer.Service.Name != "" {
		f.services[s.answer.Service.String()] = true
	}
	for _, v := range s.wrong {
		if !slices.ContainsFunc(f.Clauses, func(b Broken) bool { return b.Clause == v.Clause.Name }) {
			f.Clauses = append(f.Clauses, Broken{Clause: v.Clause.Name, Says: v.Clause.Text, Source: v.Clause.Source})
		}
	}
}

// suffers counts an errand, and keeps the first ones.
func (f *group) suffers(e *exam, s *suffering) {
	f.counts(e, s)
	if len(f.Packets) < shownPackets {
		packet := Packet{Packet: s.String(), Want: s.wrong[0].Want, Got: s.wrong[0].Got}
		if len(f.Packets) == 0 {
			packet.told = s.ways[:min(len(s.ways), shownWays)]
			for i := range packet.told {
				packet.Ways = append(packet.Ways, s.ways[i].summary())
				packet.Way = append(packet.Way, s.ways[i].lines()...)
			}
		}
		f.Packets = append(f.Packets, packet)
	}
	if s.live != nil && s.live.replies != nil && !slices.Contains(f.Stopped, *s.live.replies) {
		if len(f.Stopped) < shownRules {
			f.Stopped = append(f.Stopped, *s.live.replies)
		} else {
			f.MoreStopped++
		}
	}
	if len(f.attempts) < maxWitnesses {
		f.attempts = append(f.attempts, s)
	}
}

// findings are the groups, the worst first.
func (g *groups) findings() []Finding {
	var all []*group
	for _, key := range slices.Sorted(maps.Keys(g.by)) {
		one := g.by[key]
		if one.Code == "" {
			one.Cause = one.causeOfUnit(g.exam)
		}
		all = append(all, one)
	}
	all = joinFamilies(all)
	for _, one := range all {
		one.complete(g.exam)
	}
	slices.SortStableFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(sign(b.inside), sign(a.inside)), cmp.Compare(len(b.services), len(a.services)),
			cmp.Compare(b.Suffering, a.Suffering))
	})
	out := []Finding{}
	for _, one := range all {
		out = append(out, one.Finding)
	}
	return out
}

func sign(n int) int { return min(n, 1) }

// complete fills in what follows from all that suffers.
func (f *group) complete(e *exam) {
	f.Nodes, f.Services = sorted(f.nodes), sorted(f.services)
	f.Outside = f.inside == 0
	f.Missing, f.MoreMissing = e.attributed(f.missing)
	f.Foreign, f.MoreForeign = e.attributed(f.foreign)
	f.Moved, f.MoreMoved = e.attributed(f.moved)
	f.Deciding, _ = e.attributed(f.deciding)
}

// attributed are the first of some rules, each with whose it is, and the number of the others.
func (e *exam) attributed(rules map[Rule]*factRule) (out []Rule, more int) {
	keys := slices.SortedFunc(maps.Keys(rules), func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Family, b.Family), cmp.Compare(a.Table, b.Table),
			cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Text, b.Text))
	})
	for _, key := range keys[:min(len(keys), shownRules)] {
		r := rules[key].Rule
		if r.Why == "" {
			r.Why = e.ownerOf(rules[key])
		}
		out = append(out, r)
	}
	return out, len(keys) - len(out)
}

// ownerOf says of which service a rule is.
func (e *exam) ownerOf(r *factRule) string {
	switch service := e.units.service(r); {
	case service == "":
		return ""
	case e.services[service]:
		return "of " + service
	case provenance.IsOfServicePort(service):
		return "stale: there is no service with the chain " + service
	default:
		return "stale: there is no service " + service
	}
}
