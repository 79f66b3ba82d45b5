package live

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// say puts the answer and what is no finding into words.
func (e *exam) say() {
	r := e.report
	e.noteUnheard()
	e.noteSelfCalls()
	r.Assumed = e.assumedRoutes().texts()
	if e.policies > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("rules for NetworkPolicies stop %s, as they are meant to", plural(e.policies, "way")))
	}
	if e.intended > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("foreign rules stop or translate %s that no object promises", plural(e.intended, "way")))
	}
	if e.masked > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("foreign rules translate the source of %s, which end differently than with their own source: "+
			"network plugins do so with packets that leave the pods' network", plural(e.masked, "way")))
	}
	if none := e.withoutEndpoint(); len(none) > 0 {
		p := printer{}
		r.Notes = append(r.Notes,
			fmt.Sprintf("%s without an endpoint, which kube-proxy rejects: %s", plural(len(none), "service"), p.names(none)))
	}
	r.Answer = r.withoutSnapshot() + r.answer()
}

// answer is the whole answer in one line.
func (r *Report) answer() string {
	judged, others := 0, nodeLines(nil)
	for _, line := range nodeLines(r.Nodes) {
		if line.runs == "" {
			judged += line.judged
			continue
		}
		others = append(others, line)
	}
	p := printer{}
	beside := ""
	for _, line := range others {
		beside += fmt.Sprintf("; services by %s were not judged, which runs %s", p.names(line.nodes), line.runs)
	}
	switch n := len(r.Findings); {
	case r.Silent() && beside == "":
		return "nothing can be said of any node"
	case r.Silent():
		return fmt.Sprintf("nothing can be said of services: %s", strings.TrimPrefix(beside, "; "))
	case n == 1:
		return fmt.Sprintf("1 thing is wrong: %s", r.Findings[0].answer()) + beside
	case n > 1:
		return fmt.Sprintf("%d things are wrong; the worst: %s", n, r.Findings[0].answer()) + beside
	case r.NotFollowed > 0 || len(r.Doubts) > 0:
		return fmt.Sprintf("undecided: %snothing is wrong with %s on %s%s", r.open(), plural(r.Connections, "connection"),
			plural(judged, "node"), r.assuming()) + beside
	}
	return fmt.Sprintf("nothing is wrong%s: %s judged on %s%s", r.assuming(), plural(r.Connections, "connection"),
		plural(judged, "node"), beside)
}

// open is what was not followed, and the first of what was not walked.
func (r *Report) open() string {
	text := ""
	if r.NotFollowed > 0 {
		text = fmt.Sprintf("%s of %s were not followed, and may meet what is not walked or not known; ", thousands(r.NotFollowed),
			plural(r.Connections, "connection"))
	}
	if len(r.Doubts) > 0 {
		text += "unless " + r.Doubts[0].Unless + ", "
	}
	return text
}

// assuming is what of the network was taken for granted.
func (r *Report) assuming() string {
	if len(r.Assumed) == 0 {
		return ""
	}
	return ", if " + strings.Join(r.Assumed, ", and if ")
}

// State is an answer in a word, with the colour that goes with it: good, bad or open.
type State struct{ Word, Colour string }

// State is the answer in a word.
func (r *Report) State() State {
	switch {
	case len(r.Findings) > 0:
		return State{"wrong", "bad"}
	case len(r.Doubts) > 0 || r.NotFollowed > 0 || r.Silent() || r.LacksSnapshot():
		return State{"undecided", "open"}
	}
	return State{"right", "good"}
}

// answer is the sentence of a finding with its code.
func (f *Finding) answer() string {
	return fmt.Sprintf("%s (%s): %s", f.says(), f.Code, f.blast())
}

// withoutEndpoint are the services that are served by kube-proxy, and have no endpoint that serves.
func (e *exam) withoutEndpoint() []string {
	serves := map[string]bool{}
	for _, s := range e.cluster.slices() {
		for i := range s.Endpoints {
			if len(servingAt(&s.Endpoints[i], 0)) > 0 {
				serves[serviceOf(s)] = true
			}
		}
	}
	none := map[string]bool{}
	for _, s := range e.cluster.services() {
		name := s.Namespace + "/" + s.Name
		if s.Spec.ClusterIP != corev1.ClusterIPNone && s.Spec.Type != corev1.ServiceTypeExternalName && !serves[name] {
			none[name] = true
		}
	}
	return sorted(none)
}
