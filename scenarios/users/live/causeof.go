package live

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// causeOf names what stopped a connection: what is wrong with kube-proxy's rules, if a full sync of kube-proxy would mend it, otherwise what
// ended it.
func (e *exam) causeOf(a oracle.Attempt, conn *network.Connection) (cause.Cause, error) {
	ended, _ := cause.Of(conn, e.world())
	if ended.Code == cause.ForeignNAT {
		return ended, nil
	}
	would, err := e.healed.follow(a)
	var opaque *packetsim.OpaqueError
	if errors.As(err, &opaque) {
		return ended, nil
	}
	if err != nil {
		return cause.Cause{}, err
	}
	for _, s := range would {
		if !s.made {
			return ended, nil
		}
	}
	is := []story{{journeys: []*network.Journey{&conn.Forward, conn.Back, conn.Third}}}
	if found, ok := e.ruleCause(matched(is), matched(would)); ok {
		return found, nil
	}
	return ended, nil
}

// ruleCause is what is wrong with kube-proxy's rules on the nodes that packets pass: of those that they meet, and of those that they would meet
// after a full sync.
func (e *exam) ruleCause(met, wouldMeet map[Rule]bool) (cause.Cause, bool) {
	for _, object := range e.cluster.nodes() {
		d, ok := e.rules[object.Name]
		if !ok {
			continue
		}
		missing := e.attributed(among(d.missing, wouldMeet))
		foreign := e.attributed(among(d.foreign, met))
		moved := e.attributed(among(d.moved, met))
		switch {
		case len(missing) > 0 && !e.hasProxysRules(object.Name):
			return ofRule(cause.NoProxyRules, &missing[0], "rules of kube-proxy", "%s has no rules of kube-proxy",
				"start kube-proxy on "+object.Name+" (kubectl get pods -n kube-system -o wide)"), true
		case len(missing) > 0:
			return ofRule(cause.RuleMissing, &missing[0], "", "a rule of kube-proxy is missing on %s", restart), true
		case len(foreign) > 0:
			return ofRule(cause.RuleForeign, &foreign[0], "", "a rule in kube-proxy's chains on %s is none that kube-proxy would write", restart), true
		case len(moved) > 0:
			return ofRule(cause.RulesMoved, &moved[0], "", "rules of kube-proxy stand in another order on %s", restart), true
		}
	}
	return cause.Cause{}, false
}

// restart is the remedy for whatever a full sync of kube-proxy mends.
const restart = "kubectl rollout restart -n kube-system daemonset/kube-proxy"

func ofRule(code cause.Code, r *Rule, what, says, remedy string) cause.Cause {
	c := cause.Cause{
		Code: code, Host: r.Node, Family: r.Family, What: what, Owner: string(provenance.KubeProxy), Remedy: remedy,
		Says: cause.Sentence(fmt.Sprintf(says, r.Node)),
	}
	if what == "" {
		c.What = r.command()
	}
	return c
}

// hasProxysRules says whether a node has any rules of kube-proxy.
func (e *exam) hasProxysRules(node string) bool {
	for i := range e.nodes[node].IPTables {
		if provenance.InSave(e.nodes[node].IPTables[i].Save) {
			return true
		}
	}
	return false
}
