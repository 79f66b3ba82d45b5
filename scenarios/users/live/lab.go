package live

import (
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// lab is the cluster's network, with the oracle's questions.
type lab struct {
	*labs.Lab
	segments map[string]int // of the hosts behind nodes' devices: see segment
}

// newLab joins the hosts of the nodes that are known, by name, with everything else.
func newLab(cluster *scenarios.Cluster, nodes map[string]*labs.Attached, hosts map[string]*packetsim.Host) (*lab, error) {
	l, err := labs.New(cluster, nodes, hosts)
	return &lab{l, segmentsOf(cluster, nodes, hosts)}, err
}

// reach makes an attempt and says what came of it.
func (l *lab) reach(a oracle.Attempt) ([]oracle.Way, error) {
	reached, err := l.Network.Reach(sim.ConnectOf(l.Plan, a), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", attemptText(a), err)
	}
	return sim.WaysOf(reached), nil
}

// follow makes an attempt and tells its story.
func (l *lab) follow(a oracle.Attempt) ([]story, error) {
	connections, err := l.Network.Connect(sim.ConnectOf(l.Plan, a))
	return storiesOf(connections), err
}

func storiesOf(connections []network.Connection) []story {
	var out []story
	for i := range connections {
		c := &connections[i]
		s := story{c.Probability, []*network.Journey{&c.Forward, c.Back, c.Third}, c.Why, c}
		if c.Made {
			s.result = fmt.Sprintf("reaches %s at %s, from %s", c.Asked, c.Server, c.Client)
		}
		out = append(out, s)
	}
	return out
}

// attemptText is an attempt in a few words.
func attemptText(a oracle.Attempt) string {
	text := fmt.Sprintf("%s from %s", calledText(a), a.From)
	if a.Source.Addr().IsValid() {
		text += fmt.Sprintf(" (%s)", a.Source)
	}
	if a.Via != "" {
		text += " by " + a.Via
	}
	return text
}

// calledText is what an attempt calls.
func calledText(a oracle.Attempt) string {
	if a.Protocol == oracle.ICMP {
		return fmt.Sprintf("%s %s", a.Protocol, a.To.Addr())
	}
	return fmt.Sprintf("%s %s", a.Protocol, a.To)
}
