package live

import (
	"fmt"
	"net/netip"
	"slices"

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
	courses  map[oracle.Attempt][]course
	memory   *network.Memory   // for connections that are told; nil: new memory
	seen     []oracle.Way      // those of the last act of the last errand that was tried
	reached  []network.Reached // memory for what is reached
}

// newLab joins the hosts of the nodes that are known, by name, with everything else.
func newLab(cluster *scenarios.Cluster, nodes map[string]*labs.Attached, hosts map[string]*packetsim.Host) (*lab, error) {
	l, err := labs.New(cluster, nodes, hosts)
	return &lab{Lab: l, segments: segmentsOf(cluster, nodes, hosts)}, err
}

// reach makes an attempt and says what came of it.
func (l *lab) reach(a oracle.Attempt) ([]oracle.Way, error) {
	var reached []network.Reached
	var courses []network.Course
	var err error
	noted := l.courses[a]
	if noted == nil {
		reached, err = l.Network.Reach(sim.ConnectOf(l.Plan, a), l.reached[:0])
		l.reached = reached
	} else {
		reached, courses, err = l.Network.Courses(sim.ConnectOf(l.Plan, a))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", attemptText(a), err)
	}
	ways := sim.WaysOf(reached)
	for i := range noted {
		noted[i].note(ways, courses)
	}
	return ways, nil
}

// course is the way to an endpoint that an attempt takes before the last act of an errand. It is noted when the attempt itself is made, so
// that not all its ways are gone again for one of them.
type course struct {
	to    netip.AddrPort
	known bool
	along *network.Course // nil if no way leads there
}

// note notes the first way that leads to the endpoint.
func (c *course) note(ways []oracle.Way, courses []network.Course) {
	c.known, c.along = true, nil
	if place := placeOf(ways, c.to); place >= 0 {
		c.along = &courses[place]
	}
}

// placeOf is the first way that leads to an endpoint; -1 if none does.
func placeOf(ways []oracle.Way, endpoint netip.AddrPort) int {
	return slices.IndexFunc(ways, func(w oracle.Way) bool { return w.Server == endpoint })
}

// noteCourses has attempts note the ways that other errands take before their last act.
func (l *lab) noteCourses(errands []errand) {
	l.courses = map[oracle.Attempt][]course{}
	for i := range errands {
		p := &errands[i]
		if p.act == actConnect || !p.pick.IsValid() || p.live != nil || l.courseOf(p) != nil {
			continue
		}
		l.courses[p.attempt] = append(l.courses[p.attempt], course{to: p.pick})
	}
}

// courseOf is the note of an errand's way; nil if there is none.
func (l *lab) courseOf(p *errand) *course {
	noted := l.courses[p.attempt]
	for i := range noted {
		if noted[i].to == p.pick {
			return &noted[i]
		}
	}
	return nil
}

// follow makes an attempt and tells its story.
func (l *lab) follow(a oracle.Attempt) ([]story, error) {
	connections, err := l.connections(sim.ConnectOf(l.Plan, a))
	return storiesOf(connections), err
}

// connections tells what comes of a connection.
func (l *lab) connections(c network.Connect) ([]network.Connection, error) {
	if l.memory != nil {
		return l.Network.ConnectIn(l.memory, c)
	}
	return l.Network.Connect(c)
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
