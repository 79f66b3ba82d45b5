package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// SpecifiedSession is a session that can say by what the specification judges its cluster.
type SpecifiedSession interface {
	Session
	// Specified is the cluster as it is now, with the objects that the API holds.
	Specified(objects []manifest.Object) *oracle.Cluster
}

// Documented is a way in which a mode of kube-proxy differs from the one that a scenario was written for, as a document tells users.
type Documented struct {
	// Clause is the one of docs/specification.md.
	Clause string `json:"clause"`
	// Document has the Sentence.
	Document string `json:"document"`
	Sentence string `json:"sentence"`
}

// specs are a state of the cluster as the specification has it: in the mode of the play, and in the one that the scenario was written for.
type specs struct{ here, written *oracle.Spec }

// documented says which document allows the mode of the play to do with a first packet what it did, and not what the scenario expects; nil
// if none does.
func (r *runner) documented(a Attempt, ways []Way) *Documented {
	if !r.play.other() || !r.specified() {
		return nil
	}
	attempt := a.specified()
	clause := r.specs.here.Difference(r.specs.written, attempt)
	if clause == nil || clause.Sentence == (oracle.Sentence{}) || len(r.specs.here.Judge(attempt, waysOf(ways))) > 0 {
		return nil
	}
	return documentedBy(clause)
}

// documentedLater is documented for a datagram of a connection that was made by an attempt, which may be as a first one.
func (r *runner) documentedLater(a *Attempt, ways []Way) *Documented {
	if a == nil || a.To.Proto != "udp" {
		return nil
	}
	heard := slices.Clone(ways)
	for i := range heard {
		heard[i].Heard = true // nobody waits for an answer
	}
	return r.documented(*a, heard)
}

// documentedInvalid says which document allows the mode of the play to let a packet pass that conntrack finds invalid; nil where the
// scenario does not expect that it is dropped.
func (r *runner) documentedInvalid(e *Expect, ways []Way) *Documented {
	passes := func(w Way) bool { return w.End != Dropped && w.End != Rejected }
	if !r.play.other() || !e.Drop.Wanted || slices.ContainsFunc(ways, func(w Way) bool { return !passes(w) }) {
		return nil
	}
	return documentedBy(oracle.ByName("invalid-packet-passes"))
}

func documentedBy(c *oracle.Clause) *Documented {
	return &Documented{Clause: c.Name, Document: c.Sentence.Document, Sentence: c.Sentence.Text}
}

// specified is the attempt as the specification judges it.
func (a *Attempt) specified() oracle.Attempt {
	return oracle.Attempt{
		From: a.From, Source: netip.AddrPortFrom(a.Bind.Addr, a.Bind.Port), Protocol: corev1.Protocol(strings.ToUpper(a.To.Proto)),
		To: a.To.AddrPort, Via: a.Via,
	}
}

// unkept is an attempt of which nothing is kept if the mode of the play does not make the connection that the scenario keeps.
func (r *runner) unkept(a Attempt) Attempt {
	if a.Keep == "" || !r.play.other() || !r.specified() {
		return a
	}
	here, written := r.specs.here.Expect(a.specified()), r.specs.written.Expect(a.specified())
	if reaches(&written) && !reaches(&here) {
		a.Keep, a.Pick = "", netip.AddrPort{}
	}
	return a
}

// reaches says whether a packet may come to an endpoint by an answer.
func reaches(a *oracle.Answer) bool {
	for i := range a.Endpoints {
		if _, end := a.At(i); a.Fate == oracle.ToEndpoint && end != oracle.Dropped {
			return true
		}
	}
	return a.Open
}

// specified makes the specifications of the state that the cluster is in; false if the session cannot.
func (r *runner) specified() bool {
	session, ok := r.session.(SpecifiedSession)
	if ok && r.specs.here == nil {
		now := session.Specified(r.objects.List())
		written := *now
		written.Nodes = slices.Clone(now.Nodes)
		for i := range written.Nodes {
			written.Nodes[i].Config = manifest.InMode(now.Nodes[i].Config, kubeproxyconfig.ProxyMode(ModeIPTables))
		}
		r.specs = specs{oracle.New(now), oracle.New(&written)}
	}
	return ok
}

// waysOf are ways as the specification judges them.
func waysOf(ways []Way) []oracle.Way {
	out := make([]oracle.Way, len(ways))
	for i := range ways {
		w := &ways[i]
		out[i] = oracle.Way{
			Probability: w.Probability, End: oracle.End(w.End), Host: w.Host, Sender: w.Sender, Client: w.Client, Server: w.Server,
			Masqueraded: w.Masqueraded == Yes, Heard: w.Heard, With: w.With,
		}
	}
	return out
}

// String is what a report says of it.
func (d *Documented) String() string {
	return fmt.Sprintf("differs as documented (%s): %q (%s)", d.Clause, d.Sentence, d.Document)
}

// differing counts the checks that differ as documented, by their clauses.
type differing map[string]int

// add counts those of a result.
func (d differing) add(r *Result) {
	for i := range r.Checks {
		if c := &r.Checks[i]; c.Documented != nil {
			d[c.Documented.Clause]++
		}
	}
}

// String is a line; empty if there are none.
func (d differing) String() string {
	if len(d) == 0 {
		return ""
	}
	var parts []string
	sum := 0
	for _, clause := range slices.SortedFunc(maps.Keys(d),
		func(a, b string) int { return cmp.Or(cmp.Compare(d[b], d[a]), cmp.Compare(a, b)) }) {
		parts = append(parts, fmt.Sprintf("%s %d", clause, d[clause]))
		sum += d[clause]
	}
	return fmt.Sprintf("differ as documented (docs/specification.md): %s: %s\n", count(sum, "check"), strings.Join(parts, ", "))
}
