package live

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/names"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	stories "github.com/chainwalk/chainwalk/scenarios/story"
)

// WhyNot is what the objects say about a packet that one node had.
type WhyNot struct {
	// Unreached are the endpoints that could have been expected and are in no outcome.
	Unreached []stories.Unreached
	// Notes are about what was reached, though the objects do not say so.
	Notes []string
}

// whyNot is a question about one packet.
type whyNot struct {
	view     *View
	book     *names.Book
	host     *packetsim.Host
	in       packetsim.Input
	outcomes []packetsim.Outcome
	out      WhyNot
}

// WhyNot says of the endpoints of the service that a packet is for which of them no outcome at a node reaches, and why: what the
// specification says of the objects, or what the node's rules and what it remembers make of them. Of a packet that is for no service it
// says which one was nearly meant, and is false.
func (v *View) WhyNot(host *packetsim.Host, in packetsim.Input, outcomes []packetsim.Outcome, book *names.Book) (WhyNot, bool) {
	w := &whyNot{view: v, book: book, host: host, in: in, outcomes: outcomes}
	protocol := protocolOf(in.Proto)
	if v.exam.topology.Node(host.Name()) == nil || protocol == "" {
		return WhyNot{}, false
	}
	a := oracle.Attempt{From: v.clientOf(host.Name(), &in), Protocol: protocol, To: at(in.Dst, in.DstPort)}
	if !in.Src.IsUnspecified() {
		a.Source = at(in.Src, in.SrcPort)
	}
	served, why, ok := v.exam.spec.Serve(a, host.Name())
	if !ok {
		w.noService(why)
		return w.out, false
	}
	w.service(&served)
	return w.out, true
}

func protocolOf(p packetsim.Proto) corev1.Protocol {
	switch p {
	case packetsim.TCP:
		return corev1.ProtocolTCP
	case packetsim.UDP:
		return corev1.ProtocolUDP
	case packetsim.SCTP:
		return corev1.ProtocolSCTP
	}
	return ""
}

// clientOf is who sends a packet that a node has.
func (v *View) clientOf(node string, in *packetsim.Input) string {
	if in.Local || in.Src.IsUnspecified() {
		return node
	}
	for i := range v.exam.topology.Outside {
		if m := &v.exam.topology.Outside[i]; slices.Contains(m.Addresses, in.Src) {
			return m.Name
		}
	}
	return v.exam.clientOf(node, in.Src)
}

// noService says what is at an address that no service is served at.
func (w *whyNot) noService(why *oracle.Clause) {
	owner, ok := strings.CutPrefix(w.book.Address(w.in.Dst), "service ")
	if !ok {
		return
	}
	what, reason := "service "+owner, ""
	if why != nil {
		reason = why.Text
	} else {
		for _, s := range w.view.exam.cluster.services() {
			if s.Namespace+"/"+s.Name == owner {
				reason = fmt.Sprintf("it has no port %d of %s: it has %s", w.in.DstPort, strings.ToUpper(w.in.Proto.String()), names.PortsOf(s))
			}
		}
	}
	w.out.Unreached = append(w.out.Unreached, stories.Unreached{What: what, Why: reason})
	w.nearly(owner)
}

// service goes through the endpoints of the service that the packet is for.
func (w *whyNot) service(served *oracle.Served) {
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
			w.out.Notes = append(w.out.Notes, fmt.Sprintf("%s is reached, though by the objects it should not be (%s): the rules of %s are older",
				w.named(p.Endpoint), p.Why, w.host.Name()))
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

func (w *whyNot) add(endpoint netip.AddrPort, why string) {
	w.out.Unreached = append(w.out.Unreached, stories.Unreached{What: w.named(endpoint), Why: why})
}

// named is an endpoint with the name of its pod.
func (w *whyNot) named(endpoint netip.AddrPort) string {
	text := endpoint.String()
	if endpoint.Port() == 0 {
		text = endpoint.Addr().String()
	}
	if name := w.book.Address(endpoint.Addr()); name != "" && !strings.HasPrefix(name, "endpoint of ") {
		text += " (" + name + ")"
	}
	return text
}

// reaches says whether an outcome goes to an endpoint, whatever becomes of it on the way.
func (w *whyNot) reaches(endpoint netip.AddrPort) bool {
	return slices.ContainsFunc(w.outcomes, func(o packetsim.Outcome) bool {
		return o.Final.Dst == endpoint.Addr() && (o.Final.DstPort == endpoint.Port() || endpoint.Port() == 0)
	})
}

// unreached says why a packet does not come to an endpoint that it may reach.
func (w *whyNot) unreached(endpoint netip.AddrPort, answer *oracle.Answer) string {
	translated := slices.ContainsFunc(w.outcomes, func(o packetsim.Outcome) bool { return o.DNAT != "" })
	switch {
	case w.isKnown():
		return "the packet is of a connection that is known already, and such keep their endpoint"
	case !leadsTo(w.host, endpoint):
		return fmt.Sprintf("missing: no rule of %s leads to it%s", w.host.Name(), w.changed(answer))
	case w.isSticky():
		return "session affinity: the client is remembered for another endpoint"
	case !translated && len(w.outcomes) > 0 && w.outcomes[0].Verdict != packetsim.Accept:
		return "the packet ends before an endpoint is chosen: " + w.outcomes[0].Summary()
	}
	return fmt.Sprintf("%s has rules that lead to it, and the packet does not come to them", w.host.Name())
}

// changed says what of the service is newer than the snapshot.
func (w *whyNot) changed(answer *oracle.Answer) string {
	for _, taken := range w.view.exam.cluster.Snapshots {
		if taken.Hostname != w.host.Name() {
			continue
		}
		for _, note := range w.view.exam.cluster.newerThan(taken) {
			if strings.Contains(note, " "+answer.Service.String()) {
				return " (" + note + ")"
			}
		}
	}
	return " (kube-proxy there has not written it, or somebody has removed it)"
}

// isKnown says whether conntrack knew the packet's connection.
func (w *whyNot) isKnown() bool {
	return slices.ContainsFunc(w.outcomes, func(o packetsim.Outcome) bool {
		return slices.ContainsFunc(o.Events, func(e packetsim.Event) bool { return e.Kind == packetsim.EventConntrack && e.Entry != nil })
	})
}

// isSticky says whether a rule remembered the client.
func (w *whyNot) isSticky() bool {
	return slices.ContainsFunc(w.outcomes, func(o packetsim.Outcome) bool {
		return slices.ContainsFunc(o.Steps, func(s packetsim.Step) bool {
			return s.Rule != nil && slices.ContainsFunc(s.Rule.Matches, func(m fakeipt.Match) bool {
				recent, ok := m.(*fakeipt.MatchRecent)
				return ok && recent.Mode == fakeipt.RecentRCheck
			})
		})
	})
}

// noSlices says why a service has no endpoint at all.
func (w *whyNot) noSlices(service string) string {
	c := w.view.exam.cluster
	for _, s := range c.services() {
		if s.Namespace+"/"+s.Name != service {
			continue
		}
		if len(s.Spec.Selector) == 0 {
			return "no endpoint slice has an endpoint of it, and it has no selector by which Kubernetes would make one"
		}
		selector := labels.SelectorFromSet(s.Spec.Selector)
		matching := slices.DeleteFunc(c.pods(), func(p *corev1.Pod) bool {
			return p.Namespace != s.Namespace || !selector.Matches(labels.Set(p.Labels))
		})
		text := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		switch {
		case len(c.pods()) == 0:
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
func (w *whyNot) stale(served *oracle.Served) {
	var seen []netip.AddrPort
	for i := range w.outcomes {
		o := &w.outcomes[i]
		to := at(o.Final.Dst, o.Final.DstPort)
		known := slices.Contains(served.Answer.Endpoints, to) ||
			slices.ContainsFunc(served.Passed, func(p oracle.Passed) bool {
				return p.Endpoint == to || p.Endpoint.Port() == 0 && p.Endpoint.Addr() == to.Addr()
			})
		if o.DNAT == "" || known || slices.Contains(seen, to) {
			continue
		}
		seen = append(seen, to)
		w.out.Notes = append(w.out.Notes, fmt.Sprintf("stale: %s is reached and is by the objects no endpoint of %s: the rules of %s are older",
			w.named(to), served.Answer.Service, w.host.Name()))
	}
}

// leadsTo says whether a node has a rule that translates destinations to an address and a port.
func leadsTo(host *packetsim.Host, to netip.AddrPort) bool {
	text := "--to-destination " + to.String()
	family := packetsim.FamilyOf(to.Addr())
	for _, kernel := range []*fakeipt.Kernel{host.Netfilter(), host.Netfilter().Beside()} {
		if kernel == nil {
			continue
		}
		rules, err := rulesetOf(kernel, family)
		if err != nil {
			return false
		}
		for _, chain := range rules {
			if slices.ContainsFunc(chain, func(rule string) bool { return strings.HasSuffix(rule, text) || strings.Contains(rule, text+" ") }) {
				return true
			}
		}
	}
	return false
}
