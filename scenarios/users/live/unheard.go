package live

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// unheard are connections of pods and nodes to services that reach an endpoint whose answer does not come back to the client, though the
// objects promise no more: a pod calls the node port of another node, of a service with externalTrafficPolicy Local and an endpoint on the
// pod's own node. That node keeps the pod's address as the source, so that the endpoint answers the pod past it. "Clients sending to a
// NodePort from within the cluster may need to take traffic policy into account when picking a node" (ServiceSpec.externalTrafficPolicy).
type unheard struct {
	first errand
	count int
}

// judgeOne makes an errand on the nodes as they are, and says what of it is not allowed. What is allowed and brings no answer it counts.
func (e *exam) judgeOne(p errand) ([]oracle.Violation, error) {
	if p.act != actConnect {
		wrong, _, err := e.lab.try(e.spec, p, false)
		return wrong, err
	}
	ways, err := e.lab.reach(p.attempt)
	if err != nil {
		return nil, err
	}
	wrong := e.spec.Judge(p.attempt, ways)
	if len(wrong) > 0 && e.leavesOpen(p, ways) {
		return nil, nil
	}
	lost := slices.ContainsFunc(ways, func(w oracle.Way) bool { return w.End == oracle.Delivered && !w.Heard })
	if len(wrong) > 0 || !lost || !e.isInside(p.attempt.From) || e.spec.Expect(p.attempt).Fate != oracle.ToEndpoint {
		return wrong, nil
	}
	return nil, e.countUnheard(p)
}

// countUnheard counts a connection without an answer, if the answer is led past the node that translated.
func (e *exam) countUnheard(p errand) error {
	told, err := e.lab.follow(p.attempt)
	if err != nil {
		return err
	}
	for i := range told {
		if found, stopped := cause.Of(told[i].connection, e.world()); stopped && found.Code == cause.ReplyElsewhere {
			if e.unheard.count == 0 {
				e.unheard.first = p
			}
			e.unheard.count++
			break
		}
	}
	return nil
}

// noteUnheard says what gets no answer, before the other notes.
func (e *exam) noteUnheard() {
	e.report.Unanswered = e.unheard.count
	if e.unheard.count == 0 {
		return
	}
	get := " get"
	if e.unheard.count == 1 {
		get = " gets"
	}
	e.report.Notes = slices.Insert(e.report.Notes, 0, fmt.Sprintf("%s%s no answer, and Kubernetes promises none (%s), such as %s: the node "+
		"that is called keeps the client's address, and the endpoint answers past it. Within the cluster, call the cluster IP of a service with "+
		"externalTrafficPolicy Local, or a node that has an endpoint", plural(e.unheard.count, "connection"), get, cause.ReplyElsewhere,
		e.unheard.first))
}
