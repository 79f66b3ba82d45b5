package live

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// causeOf names what stopped a connection: what is wrong with kube-proxy's rules, if a full sync of kube-proxy would fix it, otherwise
// what ended it.
func (e *exam) causeOf(a oracle.Attempt, conn *network.Connection) (cause.Cause, error) {
	if taken, ok := cause.Taken(conn); ok {
		return taken, nil
	}
	ended, stopped := cause.Of(conn, e.world())
	if !stopped {
		ended = cause.Cause{
			Code: cause.Wrong, Host: conn.Server, Family: inet.FamilyOf(a.To.Addr()), What: conn.Asked.String(),
			Says: fmt.Sprintf("%s answers at %s, which is no endpoint of the service.", conn.Server, conn.Asked),
		}
	}
	var would []story
	err := e.afterSync(func(healed *lab) (err error) {
		would, err = healed.follow(a)
		return err
	})
	var opaque *packetsim.OpaqueError
	if errors.As(err, &opaque) {
		return ended, nil
	}
	if err != nil {
		return cause.Cause{}, err
	}
	for i := range would {
		if !would[i].made() {
			return ended, nil
		}
	}
	is := []story{{journeys: []*network.Journey{&conn.Forward, conn.Back, conn.Third}, connection: conn}}
	s := &suffering{errand: errand{attempt: a}, answer: e.spec.Expect(a), heals: true, ways: is}
	e.compareWays(s, is, would)
	if found := e.causesOfRules(s); len(found) > 0 {
		return found[0], nil
	}
	return ended, nil
}

// misled says whether a connection to a service was made with somebody who is no endpoint of it.
func (e *exam) misled(a oracle.Attempt, conn *network.Connection) bool {
	answer := e.spec.Expect(a)
	if !conn.Made || answer.Fate != oracle.ToEndpoint || answer.Open {
		return false
	}
	allowed := answer.Endpoints
	for i := range answer.Others {
		allowed = slices.Concat(allowed, answer.Others[i].Endpoints)
	}
	return !slices.Contains(allowed, conn.Asked)
}

// whole is causeOf after what the objects lack, and after what another service proxy of the node does.
func (e *exam) whole(a oracle.Attempt, conn *network.Connection) (cause.Cause, error) {
	if found := e.lacks(a); found != nil {
		return *found, nil
	}
	if found := e.otherProxy(a); found != nil {
		return *found, nil
	}
	if e.rules == nil {
		if err := e.compare(); err != nil {
			return cause.Cause{}, err
		}
	}
	return e.causeOf(a, conn)
}

// causesOfRules are what is wrong with kube-proxy's rules that an errand met, or would meet.
func (e *exam) causesOfRules(s *suffering) []cause.Cause {
	g := newGroups(e)
	g.byUnits(s, map[*group]bool{})
	var out []cause.Cause
	for _, f := range g.findings() {
		f.Cause.Host = f.Nodes[0]
		out = append(out, f.Cause)
	}
	return out
}

// otherProxy is the service proxy that decides about an attempt and whose work is not walked; nil if none does.
func (e *exam) otherProxy(a oracle.Attempt) *cause.Cause {
	node := e.decidedByOther(a)
	if node == "" {
		return nil
	}
	return &cause.Cause{
		Code: cause.OtherProxy, Host: node, What: "the service proxy of " + node, Owner: e.others[node],
		Says: fmt.Sprintf("%s runs %s, and chainwalk does not walk what that does with packets for services.", node, e.others[node]),
	}
}
