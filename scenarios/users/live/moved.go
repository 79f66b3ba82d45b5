package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// movedErrand is an errand that is treated differently after a change.
type movedErrand struct {
	errand
	was, is       distribution
	wrong, broken []oracle.Violation // what is not as promised before, and after
	unserved      bool               // the client was served before, and is not after
}

// movedGroups collect the differences by what makes them.
type movedGroups struct {
	migration *migration
	by        map[string]*Moved
	keys      []string
	findings  map[string]bool
}

// rulesOfOthers begins the codes of causes that are a rule or a policy: each has a repair of its own.
const rulesOfOthers = "CW1"

// add finds what makes the difference, and counts it there.
func (g *movedGroups) add(p *movedErrand) error {
	m := g.migration
	clause := m.clauseOf(p)
	documented := clause != nil && len(p.broken) == 0 &&
		(clause.Sentence != (oracle.Sentence{}) || clause.Force == oracle.Unspecified && !p.unserved)
	stopped, err := m.stopped(p)
	if err != nil {
		return err
	}
	if m.changesMode() && isOfOthers(&stopped) {
		clause, documented = oracle.ByName("firewall-decides"), true
	}
	if !documented && len(p.wrong) > 0 {
		m.out.WrongBefore++
		return nil
	}
	if !documented && len(p.broken) > 0 {
		clause = p.broken[0].Clause
	}
	name := ""
	if clause != nil {
		name = clause.Name
	}
	key := name + " " + string(stopped.Code)
	if strings.HasPrefix(string(stopped.Code), rulesOfOthers) {
		key = name + " " + stopped.Key()
	}
	if !documented {
		key = "! " + key
	}
	one := g.by[key]
	if one == nil {
		if one, err = g.open(p, clause, documented, stopped); err != nil {
			return err
		}
		g.by[key] = one
		g.keys = append(g.keys, key)
		if g.findings == nil {
			g.findings = map[string]bool{}
		}
		g.findings[key] = !documented
	}
	one.Ways++
	if p.unserved {
		one.Unserved++
	}
	if answer := m.before.spec.Expect(p.attempt); answer.Service.Name != "" {
		one.services[answer.Service.String()] = true
	}
	return nil
}

// clauseOf is the clause by which the modes differ about an errand, or which leaves open what becomes of it; nil if there is none.
func (m *migration) clauseOf(p *movedErrand) *oracle.Clause {
	if p.act == actInvalid && m.changesMode() {
		return oracle.ByName("invalid-packet-passes")
	}
	if p.act == actMartian && m.changesMode() { // to a node port, which mode iptables serves at loopback addresses
		return oracle.ByName("no-node-port-at-loopback")
	}
	differs := m.after.spec.Difference(m.before.spec, p.attempt)
	if differs != nil && differs.Sentence != (oracle.Sentence{}) {
		return differs
	}
	for _, side := range []*exam{m.after, m.before} {
		answer := side.spec.Expect(p.attempt)
		for _, c := range answer.Clauses() {
			if c.Force == oracle.Unspecified {
				return c
			}
		}
	}
	return differs
}

// changesMode says whether a node changes its mode.
func (m *migration) changesMode() bool {
	return slices.ContainsFunc(m.out.Nodes, func(n MigratedNode) bool { return n.Why == "" && n.From != "" && n.From != n.To })
}

// stopped is what stops an errand after the change, if its client was served before, or else if rules of others do; without a code if
// nothing does.
func (m *migration) stopped(p *movedErrand) (cause.Cause, error) {
	told, err := m.after.lab.tell(m.after.spec, p.errand)
	if err != nil {
		return cause.Cause{}, err
	}
	toService := m.after.spec.Expect(p.attempt).Fate == oracle.ToEndpoint
	for i := range told {
		if told[i].made() {
			continue
		}
		found := m.after.stopOf(&told[i], toService).cause
		if found.Code != "" && (p.unserved || isOfOthers(&found)) {
			return found, nil
		}
	}
	return cause.Cause{}, nil
}

// isOfOthers says whether a cause is a firewall.
func isOfOthers(c *cause.Cause) bool { return c.Code == cause.Policy || c.Code == cause.ForeignDrop }

// open begins a difference with its first packet.
func (g *movedGroups) open(p *movedErrand, clause *oracle.Clause, documented bool, stopped cause.Cause) (*Moved, error) {
	out := &Moved{Cause: stopped, services: map[string]bool{}, Set: stopped.Remedy}
	switch {
	case documented:
		out.Clause, out.Says, out.Sentence, out.Document = clause.Name, clause.Text, clause.Sentence.Text, clause.Sentence.Document
		out.Document = cmp.Or(out.Document, "docs/specification.md, by "+strings.Join(clause.Source, ", "))
		out.Set = cmp.Or(remedies[clause.Name], out.Set)
	case len(p.broken) > 0:
		out.Clause, out.Says = clause.Name, "After the change this does not hold: "+clause.Text
	default:
		if clause != nil {
			out.Clause, out.Document = clause.Name, strings.Join(clause.Source, ", ")
			out.Set = cmp.Or(remedies[clause.Name], out.Set)
		}
		out.Says = fmt.Sprintf("Before the change %s, and afterwards %s: no document says so, and the Service API allows both.", p.was.short(),
			p.is.short())
	}
	out.Example = &MovedPacket{Packet: p.String(), Before: p.was.String(), After: p.is.String()}
	for _, side := range []struct {
		exam  *exam
		lines *[]string
		told  *[]story
	}{
		{g.migration.before, &out.Example.WayBefore, &out.Example.before}, {g.migration.after, &out.Example.WayAfter, &out.Example.after},
	} {
		told, err := side.exam.lab.tell(side.exam.spec, p.errand)
		if err != nil {
			return nil, err
		}
		*side.told = told[:min(len(told), shownWays)]
		for i := range told[:min(len(told), 1)] {
			*side.lines = append(*side.lines, told[i].lines()...)
		}
	}
	return out, nil
}

// conclude puts the differences in order: those by which somebody is not served any longer come first, then those of most packets.
func (g *movedGroups) conclude() {
	out := g.migration.out
	for _, key := range slices.Sorted(slices.Values(g.keys)) {
		one := g.by[key]
		one.Services = slices.Sorted(maps.Keys(one.services))
		if g.findings[key] {
			out.Findings = append(out.Findings, *one)
		} else {
			out.Documented = append(out.Documented, *one)
		}
	}
	for _, list := range [][]Moved{out.Findings, out.Documented} {
		slices.SortStableFunc(list, func(a, b Moved) int {
			return cmp.Or(cmp.Compare(b.Unserved, a.Unserved), cmp.Compare(b.Ways, a.Ways))
		})
	}
}

// remedies are what to set so that packets fare as in mode iptables, by the clauses by which mode nftables does otherwise.
var remedies = map[string]string{
	"node-port-at-primary-addresses": `nodePortAddresses: ["0.0.0.0/0", "::/0"] in kube-proxy's configuration serves node ports at all ` +
		"addresses of the node but loopback ones",
	"no-node-port-at-loopback": "no setting of v1.36 brings it back: call an address of the node, or the cluster IP (from v1.37, see the " +
		"feature gate KubeProxyNFTablesLocalhostNodePorts)",
	"unused-port-rejected":          "nothing: the client sees a refusal at once, where it waited for an answer before",
	"unassigned-cluster-ip-dropped": "nothing: no service has that address",
	"firewall-decides": "let the firewall accept what kube-proxy has translated, and its answers: iptables -I FORWARD -m conntrack " +
		"--ctstate DNAT,ESTABLISHED,RELATED -j ACCEPT (in a table of nftables: ct status dnat accept, ct state established,related accept)",
	"invalid-packet-passes": "conntrack.tcpBeLiberal: true in kube-proxy's configuration",
	"hairpin-of-another-node": "call the cluster IP, or the node port of the client's own node: where a pod comes back to itself by another " +
		"node, mode nftables does not masquerade it",
}
