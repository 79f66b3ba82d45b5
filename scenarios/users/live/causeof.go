package live

import (
	"errors"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// causeOf names what stopped a connection: what is wrong with kube-proxy's rules, if a full sync of kube-proxy would mend it, otherwise what
// ended it.
func (e *exam) causeOf(a oracle.Attempt, conn *network.Connection) (cause.Cause, error) {
	ended, _ := cause.Of(conn, e.world())
	if ended.Code == cause.ForeignNAT {
		return ended, nil
	}
	healed, err := e.healedLab()
	if err != nil {
		return cause.Cause{}, err
	}
	would, err := healed.follow(a)
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
	s := &suffering{heals: true}
	e.compareWays(s, is, would)
	if found := e.causesOfRules(s); len(found) > 0 {
		return found[0], nil
	}
	return ended, nil
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
