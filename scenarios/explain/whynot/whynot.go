package whynot

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	stories "github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// Answer is what the objects say about a packet that one node had.
type Answer struct {
	// Unreached are the endpoints that could have been expected and are in no outcome, and rules that nearly matched.
	Unreached []stories.Unreached
	// Notes are about what was reached, though the objects do not say so, and about NetworkPolicies that a node's rules do not have.
	Notes []string
}

// With is this answer and then another one, without what both say.
func (a Answer) With(b Answer) Answer {
	for _, u := range b.Unreached {
		if !slices.Contains(a.Unreached, u) {
			a.Unreached = append(a.Unreached, u)
		}
	}
	for _, note := range b.Notes {
		if !slices.Contains(a.Notes, note) {
			a.Notes = append(a.Notes, note)
		}
	}
	return a
}

// Question is about a packet that one node had.
type Question struct {
	// Spec is what the objects promise, Objects are the Services, Pods, Namespaces and NetworkPolicies among them, and Book has their names.
	Spec    *oracle.Spec
	Objects []manifest.Object
	Book    *names.Book
	// Host is the node, From the name of who sent the packet, and Outcomes is what the node did with it.
	Host     *packetsim.Host
	From     string
	In       inet.Input
	Outcomes []packetsim.Outcome
	// Newer says what of a service, by its NAMESPACE/NAME, the node's rules cannot know; empty if there is nothing of that kind.
	Newer func(service string) string
}

// asked is a question and what is said so far.
type asked struct {
	Question
	out Answer
}

// Answer says of the endpoints of the service that the packet is for which of them no outcome at the node reaches, and why. Of a packet
// that is for no service it says which one was nearly meant, and is false.
func (q Question) Answer() (Answer, bool) {
	w := &asked{Question: q}
	protocol := protocolOf(q.In.Proto)
	if protocol == "" {
		return Answer{}, false
	}
	a := oracle.Attempt{From: q.From, Protocol: protocol, To: netip.AddrPortFrom(q.In.Dst, q.In.DstPort)}
	if !q.In.Src.IsUnspecified() {
		a.Source = netip.AddrPortFrom(q.In.Src, q.In.SrcPort)
	}
	served, why, ok := q.Spec.Serve(a, q.Host.Name())
	if !ok {
		w.noService(why)
		return w.out, false
	}
	w.service(&served)
	return w.out, true
}

// Passage is a packet's passage through a host.
type Passage struct {
	Host    string
	In      inet.Input
	Outcome *packetsim.Outcome
}

// Along is the answer about the first host that a packet came to as one to a service, of all the ways that it can take; if there is none,
// about the first that has something to say. Ask is asked of a host with what it did with the packet.
func Along(ways [][]Passage, ask func(host string, in inet.Input, outcomes []packetsim.Outcome) (Answer, bool)) Answer {
	var nearly Answer
	if len(ways) == 0 {
		return nearly
	}
	for _, p := range ways[0] {
		out, served := ask(p.Host, p.In, outcomesAt(p.Host, ways))
		if served {
			return out
		}
		if len(nearly.Unreached) == 0 {
			nearly = out
		}
	}
	return nearly
}

// outcomesAt are what a host did with the packet when it first came there.
func outcomesAt(host string, ways [][]Passage) []packetsim.Outcome {
	var out []packetsim.Outcome
	for _, way := range ways {
		if i := slices.IndexFunc(way, func(p Passage) bool { return p.Host == host }); i >= 0 {
			out = append(out, *way[i].Outcome)
		}
	}
	return out
}

func protocolOf(p inet.Proto) corev1.Protocol {
	switch p {
	case inet.TCP:
		return corev1.ProtocolTCP
	case inet.UDP:
		return corev1.ProtocolUDP
	case inet.SCTP:
		return corev1.ProtocolSCTP
	}
	return ""
}

// noService says what is at an address that no service is served at.
func (w *asked) noService(why *oracle.Clause) {
	owner, ok := strings.CutPrefix(w.Book.Address(w.In.Dst), "service ")
	if !ok {
		return
	}
	what, reason := "service "+owner, "no such Service is there now"
	if why != nil {
		reason = why.Text
	} else {
		for _, s := range manifest.Of[*corev1.Service](w.Objects) {
			if s.Namespace+"/"+s.Name == owner {
				reason = fmt.Sprintf("it has no port %d of %s: it has %s", w.In.DstPort, strings.ToUpper(w.In.Proto.String()), names.PortsOf(s))
			}
		}
	}
	w.out.Unreached = append(w.out.Unreached, stories.Unreached{What: what, Why: reason})
	w.nearly(owner)
}

// service goes through the endpoints of the service that the packet is for.
func (w *asked) service(served *oracle.Served) {
	answer := &served.Answer
	if answer.Fate == oracle.ToEndpoint {
		for _, endpoint := range answer.Endpoints {
			if !w.reaches(endpoint) {
				w.add(endpoint, w.unreached(endpoint, answer))
			}
		}
	}
	for _, p := range served.Passed {
		if w.reaches(p.Endpoint) {
			w.out.Notes = append(w.out.Notes, fmt.Sprintf("%s is reached, though by the objects it should not be (%s): %s",
				w.named(p.Endpoint), p.Why, w.ledBy(p.Endpoint)))
			continue
		}
		w.add(p.Endpoint, p.Why)
	}
	if !served.Slices {
		service := answer.Service.String()
		w.out.Unreached = append(w.out.Unreached, stories.Unreached{What: "service " + service, Why: w.noSlices(service)})
	}
	w.stale(served)
	if len(w.out.Unreached) > 0 {
		service := answer.Service.String()
		if answer.Port != "" {
			service += ":" + answer.Port
		}
		w.nearly(service)
	}
}

func (w *asked) add(endpoint netip.AddrPort, why string) {
	w.out.Unreached = append(w.out.Unreached, stories.Unreached{What: w.named(endpoint), Why: why})
}

// named is an endpoint with the name of its pod.
func (w *asked) named(endpoint netip.AddrPort) string {
	text := endpoint.String()
	if endpoint.Port() == 0 {
		text = endpoint.Addr().String()
	}
	if name := w.Book.Address(endpoint.Addr()); name != "" && !strings.HasPrefix(name, "endpoint of ") {
		text += " (" + name + ")"
	}
	return text
}

// reaches says whether an outcome goes to an endpoint, whatever becomes of it on the way.
func (w *asked) reaches(endpoint netip.AddrPort) bool {
	return slices.ContainsFunc(w.Outcomes, func(o packetsim.Outcome) bool {
		final := o.Inside()
		return final.Dst == endpoint.Addr() && (final.DstPort == endpoint.Port() || endpoint.Port() == 0)
	})
}

// unreached says why a packet does not come to an endpoint that it may reach.
func (w *asked) unreached(endpoint netip.AddrPort, answer *oracle.Answer) string {
	translated := slices.ContainsFunc(w.Outcomes, func(o packetsim.Outcome) bool { return o.DNAT != "" })
	switch {
	case w.isKnown():
		return "the packet is of a connection that is known already, and such keep their endpoint"
	case !leadsTo(w.Host, endpoint):
		return fmt.Sprintf("missing: no rule of %s leads to it%s", w.Host.Name(), w.changed(answer))
	case w.isSticky():
		return "session affinity: the client is remembered for another endpoint"
	case !translated && len(w.Outcomes) > 0 && w.Outcomes[0].Verdict != packetsim.Accept:
		return "the packet ends before an endpoint is chosen: " + w.Outcomes[0].Summary()
	}
	return fmt.Sprintf("%s has rules that lead to it, and the packet does not come to them", w.Host.Name())
}

// changed says why the node may have no rule for an endpoint.
func (w *asked) changed(answer *oracle.Answer) string {
	if newer := w.Newer(answer.Service.String()); newer != "" {
		return " (" + newer + ")"
	}
	return " (kube-proxy there has not written it, or somebody has removed it)"
}

// isKnown says whether conntrack knew the packet's connection.
func (w *asked) isKnown() bool {
	return slices.ContainsFunc(w.Outcomes, func(o packetsim.Outcome) bool {
		return slices.ContainsFunc(o.Events, func(e packetsim.Event) bool { return e.Kind == packetsim.EventConntrack && e.Entry != nil })
	})
}

// isSticky says whether a rule remembered the client.
func (w *asked) isSticky() bool {
	return slices.ContainsFunc(w.Outcomes, func(o packetsim.Outcome) bool {
		return slices.ContainsFunc(o.Steps, func(s packetsim.Step) bool {
			return s.Rule != nil && slices.ContainsFunc(s.Rule.Fact.Memories, func(m netfilter.Memory) bool {
				return m.Kind == netfilter.Recent && m.Reads && !m.Writes && !m.Removes
			})
		})
	})
}

// noSlices says why a service has no endpoint at all.
func (w *asked) noSlices(service string) string {
	pods := manifest.Of[*corev1.Pod](w.Objects)
	for _, s := range manifest.Of[*corev1.Service](w.Objects) {
		if s.Namespace+"/"+s.Name != service {
			continue
		}
		if len(s.Spec.Selector) == 0 {
			return "no endpoint slice has an endpoint of it, and it has no selector by which Kubernetes would make one"
		}
		selector := labels.SelectorFromSet(s.Spec.Selector)
		matching := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
			return p.Namespace != s.Namespace || !selector.Matches(labels.Set(p.Labels))
		})
		text := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		switch {
		case len(pods) == 0:
			return fmt.Sprintf("no endpoint slice has an endpoint of it (selector %s)", text)
		case len(matching) == 0:
			return fmt.Sprintf("no endpoint slice has an endpoint of it: no pod has the labels of its selector, %s", text)
		}
		return fmt.Sprintf("no endpoint slice has an endpoint of it, though pods have the labels of its selector, %s: %s",
			text, podNames(matching))
	}
	return "no endpoint slice has an endpoint of it"
}

func podNames(pods []*corev1.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	return strings.Join(out, ", ")
}

// stale notes what is reached and is no endpoint of the service.
func (w *asked) stale(served *oracle.Served) {
	var seen []netip.AddrPort
	for i := range w.Outcomes {
		o := &w.Outcomes[i]
		final := o.Inside()
		to := netip.AddrPortFrom(final.Dst, final.DstPort)
		known := slices.Contains(served.Answer.Endpoints, to) ||
			slices.ContainsFunc(served.Passed, func(p oracle.Passed) bool {
				return p.Endpoint == to || p.Endpoint.Port() == 0 && p.Endpoint.Addr() == to.Addr()
			})
		if o.DNAT == "" || known || slices.Contains(seen, to) {
			continue
		}
		seen = append(seen, to)
		if taken := w.taker(to); taken != "" {
			w.out.Notes = append(w.out.Notes, fmt.Sprintf("%s is reached and is by the objects no endpoint of %s: %s", w.named(to),
				served.Answer.Service, taken))
			continue
		}
		w.out.Notes = append(w.out.Notes, fmt.Sprintf("stale: %s is reached and is by the objects no endpoint of %s: %s",
			w.named(to), served.Answer.Service, w.ledBy(to)))
	}
}

// ledBy says what led the packet to an endpoint that the objects do not have for it.
func (w *asked) ledBy(to netip.AddrPort) string {
	if taken := w.taker(to); taken != "" {
		return taken
	}
	return fmt.Sprintf("the rules of %s are older", w.Host.Name())
}

// taker is the rule of others that translated the packet to a place, in words; empty if there is none.
func (w *asked) taker(to netip.AddrPort) string {
	for i := range w.Outcomes {
		o := &w.Outcomes[i]
		if o.Final.Dst != to.Addr() || o.Final.DstPort != to.Port() && to.Port() != 0 {
			continue
		}
		step := packetsim.DecisionOf(o.Steps).Translation
		if step == nil {
			continue
		}
		writer := provenance.OfRule(step.Table, step.Chain, &step.Rule.Fact)
		if !writer.IsKubernetes() {
			return fmt.Sprintf("a rule of %s takes the packet before kube-proxy's rules can (%s)", cmp.Or(string(writer), "somebody else"),
				step.Text())
		}
	}
	return ""
}

// leadsTo says whether a node has a rule that translates destinations to an address and a port, and to no other.
func leadsTo(host *packetsim.Host, to netip.AddrPort) bool {
	for _, rules := range host.Rulesets(inet.FamilyOf(to.Addr())) {
		nat := rules.Table("nat")
		if nat == nil {
			continue
		}
		for chain := range nat.Unsorted() {
			for _, f := range chain.Facts() {
				if f.Translation.To() == to {
					return true
				}
			}
		}
	}
	return false
}
