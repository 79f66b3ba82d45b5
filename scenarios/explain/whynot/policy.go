package whynot

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	stories "github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Policies says which NetworkPolicies stopped the packet, and which select an end of it and have no rule at the node, as kube-proxy
// writes none for them. They are asked about first packets only.
func (q Question) Policies() Answer {
	w := &asked{Question: q}
	p := newPolicies(q.Objects)
	if len(p.all) == 0 || w.isKnown() {
		return Answer{}
	}
	for i := range q.Outcomes {
		o := &q.Outcomes[i]
		final := o.Inside()
		ends := []end{
			{pod: p.pods[final.Dst], direction: networkingv1.PolicyTypeIngress, peer: final.Src, proto: final.Proto, port: final.DstPort},
			{pod: p.pods[final.Src], direction: networkingv1.PolicyTypeEgress, peer: final.Dst, proto: final.Proto, port: final.DstPort},
		}
		tool, direction := stoppedBy(o)
		for _, e := range ends {
			switch {
			case e.pod == nil || e.pod.Spec.HostNetwork:
			case tool == "":
				w.unheld(p, e)
			case direction == e.direction:
				w.stopped(p, e, tool)
			}
		}
	}
	return Answer{}.With(w.out)
}

// end is a pod at one end of a packet, and what its policies are asked.
type end struct {
	pod       *corev1.Pod
	direction networkingv1.PolicyType
	peer      netip.Addr
	proto     inet.Proto
	port      uint16
}

// stoppedBy is the writer of rules for policies in whose rules a packet ended, and for which direction of the pod that they are about.
func stoppedBy(o *packetsim.Outcome) (provenance.Writer, networkingv1.PolicyType) {
	last := packetsim.DecisionOf(o.Steps).Last
	if o.Verdict == packetsim.Accept || o.Reason != "" || last == nil || last.Rule == nil {
		return "", ""
	}
	writer := provenance.WriterOf(last.Chain)
	if !writer.HoldsPolicies() {
		return "", ""
	}
	for _, s := range slices.Backward(o.Steps) {
		f := &netfilter.Fact{} // of the end of a chain
		if s.Rule != nil {
			f = &s.Rule.Fact
		}
		switch provenance.GuardedSide(s.Chain, f, o.Final.Src, o.Final.Dst) {
		case netfilter.Destination:
			return writer, networkingv1.PolicyTypeIngress
		case netfilter.Source:
			return writer, networkingv1.PolicyTypeEgress
		}
	}
	return writer, ""
}

// stopped says of the policies that select a pod, at which the packet ended, why they do not let it pass.
func (w *asked) stopped(p *policies, e end, tool provenance.Writer) {
	selecting := p.selecting(e)
	for _, policy := range selecting {
		u := stories.Unreached{What: policyText(policy), Why: fmt.Sprintf("it selects pod %s (%s) and ", nameOf(e.pod), e.direction)}
		allows, open := p.allows(policy, e)
		switch rules := rulesOf(policy, e.direction); {
		case allows:
			u.Why += fmt.Sprintf("lets %s pass, but the rules of %s do not: they are older, or it is %s that errs", w.peerText(e), w.Host.Name(),
				tool)
		case open != "":
			u.Why += fmt.Sprintf("may let %s pass or not: %s", w.peerText(e), open)
		case rules == 0:
			u.Why += "allows nothing"
		case rules == 1:
			u.Why += fmt.Sprintf("its rule does not name %s", w.peerText(e))
		default:
			u.Why += fmt.Sprintf("none of its %d rules names %s", rules, w.peerText(e))
		}
		w.out.Unreached = append(w.out.Unreached, u)
	}
	if len(selecting) == 0 {
		w.out.Notes = append(w.out.Notes, fmt.Sprintf("the packet ends in rules of %s, but no NetworkPolicy of the objects selects pod %s (%s)",
			tool, nameOf(e.pod), e.direction))
	}
}

// unheld notes the policies that select a pod of the node and that no rule of the node belongs to.
func (w *asked) unheld(p *policies, e end) {
	if e.pod.Spec.NodeName != w.Host.Name() {
		return // its own node holds them
	}
	for _, policy := range p.selecting(e) {
		held, tool := w.holds(policy)
		if held {
			continue
		}
		note := fmt.Sprintf("%s selects pod %s; no rule of %s belongs to it", policyText(policy), nameOf(e.pod), w.Host.Name())
		if tool != "" {
			note = fmt.Sprintf("%s selects pod %s; no rule of %s on %s is known to belong to it", policyText(policy), nameOf(e.pod), tool,
				w.Host.Name())
		}
		w.out.Notes = append(w.out.Notes, note)
	}
}

// holds says whether a rule of the node belongs to a policy, and whose rules for policies there are.
func (w *asked) holds(policy *networkingv1.NetworkPolicy) (held bool, tool provenance.Writer) {
	for _, rules := range w.Host.Rulesets(inet.FamilyOf(w.In.Dst)) {
		filter := rules.Table("filter")
		if filter == nil {
			continue
		}
		for chain := range filter.Chains() {
			writer := provenance.WriterOf(chain.Name)
			if !writer.HoldsPolicies() {
				continue
			}
			tool = writer
			for _, f := range chain.Facts() {
				held = held || w.Book.Rule("filter", chain.Name, &f) == "policy "+policy.Namespace+"/"+policy.Name
			}
		}
	}
	return held, tool
}

// peerText is the other end, and what it asks for: "10.244.1.3 (pod shop/client), tcp 8080".
func (w *asked) peerText(e end) string {
	text := w.named(netip.AddrPortFrom(e.peer, 0)) + ", " + e.proto.String()
	if e.proto.HasPorts() {
		text += fmt.Sprintf(" %d", e.port)
	}
	return text
}

func nameOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

func policyText(p *networkingv1.NetworkPolicy) string {
	return "NetworkPolicy " + p.Namespace + "/" + p.Name
}

// rulesOf is how many rules a policy has for a direction.
func rulesOf(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) int {
	if direction == networkingv1.PolicyTypeEgress {
		return len(p.Spec.Egress)
	}
	return len(p.Spec.Ingress)
}

// newPolicies has the policies of objects, and what they select by.
func newPolicies(objects []manifest.Object) *policies {
	p := &policies{
		all: manifest.Of[*networkingv1.NetworkPolicy](objects), pods: map[netip.Addr]*corev1.Pod{}, namespaces: map[string]*corev1.Namespace{},
	}
	for _, pod := range manifest.Of[*corev1.Pod](objects) {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue // its address may be another's by now
		}
		for _, ip := range pod.Status.PodIPs {
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				p.pods[a.Unmap()] = pod
			}
		}
	}
	for _, n := range manifest.Of[*corev1.Namespace](objects) {
		p.namespaces[n.Name] = n
	}
	return p
}
