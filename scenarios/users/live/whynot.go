package live

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// WhyNot says of the endpoints of the service that a packet is for which of them no outcome at a node reaches, and why. Of a packet that is
// for no service it says which one was nearly meant, and is false. What NetworkPolicies have to do with it is said of any packet.
func (v *View) WhyNot(host *packetsim.Host, in inet.Input, outcomes []packetsim.Outcome, book *names.Book) (whynot.Answer, bool) {
	if host == nil || v.exam.topology.Node(host.Name()) == nil {
		return whynot.Answer{}, false
	}
	q := v.question(host, in, outcomes, book)
	out, served := q.Answer()
	return out.With(q.Policies()), served
}

// DoubtOfProxy is the function of that name for a packet that a node has, by the objects.
func (v *View) DoubtOfProxy(node string, in inet.Input) (packetsim.Doubt, bool) {
	return v.exam.doubtOfProxy(v.attemptAt(node, &in))
}

// attemptAt is the attempt that a packet is which a node has.
func (v *View) attemptAt(node string, in *inet.Input) oracle.Attempt {
	return oracle.Attempt{
		From: v.clientOf(node, in), Source: at(in.Src, in.SrcPort), Protocol: oracleProtocol(in.Proto), To: at(in.Dst, in.DstPort), Via: node,
	}
}

// CausesAt are what stopped a packet at a node, or the reply to it: what the service lacks by its objects, or what ended it there.
func (v *View) CausesAt(node *snapshot.NodeSnapshot, in inet.Input, outcomes []packetsim.Outcome) []cause.Cause {
	asked := v.attemptAt(node.Hostname, &in)
	if other := v.exam.otherProxy(asked); other != nil {
		return []cause.Cause{*other}
	}
	found := cause.OfOutcomes(node.Hostname, in, outcomes, node)
	if v.exam.spec.Expect(asked).Service.Name != "" && len(found) == 0 {
		if taken, ok := cause.TakenAt(node.Hostname, in, outcomes); ok {
			found = append(found, taken)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if lacks := v.exam.lacks(asked); lacks != nil {
		return []cause.Cause{*lacks}
	}
	return found
}

func (v *View) question(host *packetsim.Host, in inet.Input, outcomes []packetsim.Outcome, book *names.Book) whynot.Question {
	return whynot.Question{
		Spec: v.exam.spec, Objects: v.exam.cluster.Objects, Book: book,
		Host: host, From: v.clientOf(host.Name(), &in), In: in, Outcomes: outcomes,
		Newer: func(service string) string { return v.exam.cluster.changedSince(host.Name(), service) },
	}
}

// clientOf is who sends a packet that a node has.
func (v *View) clientOf(node string, in *inet.Input) string {
	if in.Local || in.Src.IsUnspecified() || in.Src.IsLoopback() {
		return node
	}
	for i := range v.exam.topology.Outside {
		if m := &v.exam.topology.Outside[i]; slices.Contains(m.Addresses, in.Src) {
			return m.Name
		}
	}
	if owner := v.exam.cluster.nodeWith(in.Src); owner != "" {
		return owner
	}
	return v.exam.clientOf(node, in.Src)
}

// changedSince says what of a service is newer than a node's snapshot; empty if nothing is.
func (c *Cluster) changedSince(node, service string) string {
	taken := c.snapshotOf(node)
	if taken == nil {
		return ""
	}
	for _, note := range c.newerThan(taken) {
		if strings.Contains(note, " "+service) {
			return note
		}
	}
	return ""
}

// WhyNotFollowed is WhyNot for a connection that was followed: of the first node with a snapshot that its first packet came to as one to a
// service. What NetworkPolicies have to do with it each node says.
func (v *View) WhyNotFollowed(f *Followed, book *names.Book) whynot.Answer {
	ways := make([][]whynot.Passage, len(f.Connections))
	for i := range f.Connections {
		for k := range f.Connections[i].Forward.Hops {
			hop := &f.Connections[i].Forward.Hops[k]
			ways[i] = append(ways[i], whynot.Passage{Host: hop.Host, In: hop.Input, Outcome: &hop.Outcome})
		}
	}
	isNode := func(name string) bool { return f.hosts[name] != nil && v.exam.topology.Node(name) != nil }
	var policies whynot.Answer
	out := whynot.Along(ways, func(name string, in inet.Input, outcomes []packetsim.Outcome) (whynot.Answer, bool) {
		if !isNode(name) {
			return whynot.Answer{}, false
		}
		return v.question(f.hosts[name], in, outcomes, book).Answer()
	})
	for _, way := range ways {
		for _, p := range way {
			if isNode(p.Host) {
				policies = policies.With(v.question(f.hosts[p.Host], p.In, []packetsim.Outcome{*p.Outcome}, book).Policies())
			}
		}
	}
	return out.With(policies)
}
