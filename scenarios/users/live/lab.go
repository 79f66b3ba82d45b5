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
	ways     []oracle.Way      // the same in the oracle's words
}

// newLab joins the hosts of the nodes that are known, by name, with everything else.
func newLab(cluster *scenarios.Cluster, nodes map[string]*labs.Attached, hosts map[string]*packetsim.Host) (*lab, error) {
	l, err := labs.New(cluster, nodes, hosts)
	return &lab{Lab: l, segments: segmentsOf(cluster, nodes, hosts)}, err
}

// reach makes an attempt and says what came of it, until the next one.
func (l *lab) reach(a oracle.Attempt) ([]oracle.Way, error) {
	var err error
	if noted := l.courses[a]; noted == nil {
		l.reached, err = l.Network.Reach(sim.ConnectOf(l.Plan, a), l.reached[:0])
	} else {
		err = l.note(a, noted)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", attemptText(a), err)
	}
	l.ways = sim.AppendWays(l.ways[:0], l.reached)
	return l.ways, nil
}

// course is the way to an endpoint that an attempt takes before the last act of an errand. It is noted when the attempt itself is made, so
// that not all its ways are gone again for one of them.
type course struct {
	to           netip.AddrPort
	known, leads bool // the attempt was made; a way leads there
	along        network.Course
}

// note makes an attempt, and notes of each course the first way that leads to its endpoint.
func (l *lab) note(a oracle.Attempt, noted []course) (err error) {
	for i := range noted {
		noted[i] = course{to: noted[i].to}
	}
	l.reached, err = l.Network.Courses(sim.ConnectOf(l.Plan, a), l.reached[:0], func(way *network.Reached, along network.Course) {
		for i := range noted {
			if c := &noted[i]; !c.leads && way.Asked == c.to {
				c.leads, c.along = true, along.Clone()
			}
		}
	})
	for i := range noted {
		noted[i].known = err == nil
	}
	return err
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
