package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Why says whether one end reaches another, and if not, what stops it: for each family, each port and each address by which the one would
// call the other, there and back. From is pod/[NAMESPACE/]NAME, node/NAME, an address or "outside"; to is svc/[NAMESPACE/]NAME[:PORT],
// pod/[NAMESPACE/]NAME[:PORT], node/NAME[:PORT] or ADDRESS[:PORT]. Errors are about ends that there are not.
func (c *Cluster) Why(ctx context.Context, from, to string) (*Why, error) {
	client, server, err := c.pair(from, to)
	if err != nil {
		return nil, err
	}
	q, err := c.questions(client, server)
	if err != nil {
		return nil, err
	}
	return q.answer(ctx, client, server)
}

// pair finds two ends by the words that name them.
func (c *Cluster) pair(from, to string) (client, server *names.End, err error) {
	book := names.New(c.Objects)
	if client, err = book.Client(from); err != nil {
		return nil, nil, err
	}
	server, err = book.Server(to)
	return client, server, err
}

// Why is whether one end reaches another.
type Why struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Answer is yes, no or unknown: yes if every call reaches a server in each of its ways, no if one does not in one of its ways.
	Answer WhyAnswer `json:"answer"`
	// Sentence is the answer in one line.
	Sentence string `json:"sentence"`
	// Causes are what stops calls, each once, those that stop most first.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Doubts are what calls meet that was not walked: with any, a yes is unknown.
	Doubts []packetsim.Doubt `json:"doubts,omitempty"`
	Calls  []Call            `json:"calls"`
	// Assumed is what was taken for granted of the router between nodes: a yes holds if it is so.
	Assumed []string `json:"assumed,omitempty"`
	// Notes say what else was assumed.
	Notes []string `json:"notes,omitempty"`
}

// The kind and the version of Why's document.
const (
	whyKind    = "Why"
	whyVersion = 1
)

// WhyAnswer is an answer in a word.
type WhyAnswer string

// The answers.
const (
	WhyYes     WhyAnswer = "yes"
	WhyNo      WhyAnswer = "no"
	WhyUnknown WhyAnswer = "unknown"
)

// Call is a connection of a client to one address and port.
type Call struct {
	Family netfilter.Family `json:"family"`
	// Call is the connection in a few words: "TCP 10.96.0.10:80 from client".
	Call string `json:"call"`
	// Port is the name of the service's port, if it has one.
	Port   string    `json:"port,omitempty"`
	Answer WhyAnswer `json:"answer"`
	// Reached is the probability with which the client reaches a server.
	Reached float64 `json:"reached"`
	Ways    []Way   `json:"ways,omitempty"`
	// Unknown says why the call could not be walked.
	Unknown string `json:"unknown,omitempty"`

	doubts []packetsim.Doubt
}

// Way is one of the ways that a call can take.
type Way struct {
	Probability float64 `json:"probability"`
	// Server is who answers at At, and sees Client as its client; empty if nobody does.
	Server string         `json:"server,omitempty"`
	At     netip.AddrPort `json:"at,omitzero"`
	Client netip.AddrPort `json:"client,omitzero"`
	// There and Back are the hosts on the way.
	There []string `json:"there"`
	Back  []string `json:"back,omitempty"`
	// Cause is what stopped it; nil if the client has its answer.
	Cause *cause.Cause `json:"cause,omitempty"`
}

// questions ask about ends of a cluster, by an examination that has them.
type questions struct {
	exam   *exam
	hosts  map[string]*packetsim.Host // the nodes with a snapshot
	counts map[string]float64         // of causes, by their keys
	routed byRouter
	why    *Why
}

// withEnds is the cluster with somebody at the addresses of ends, of which the first is a client.
func (c *Cluster) withEnds(ends ...*names.End) *Cluster {
	own := *c
	own.ends = slices.Clone(c.ends)
	for i, e := range ends {
		for _, a := range e.Addresses {
			// Nobody is made up for an address of the cluster that is called and that nobody has.
			called := i > 0 && e.Node == "" && a.IsPrivate()
			if e.Service == nil && !e.Host && !called && !c.isServices(a) {
				own.ends = append(own.ends, a)
			}
		}
	}
	return &own
}

// questions prepares the network for connections between ends, of which the first is a client.
func (c *Cluster) questions(ends ...*names.End) (*questions, error) {
	e, err := c.withEnds(ends...).exam()
	if err != nil {
		return nil, err
	}
	q := &questions{exam: e, hosts: map[string]*packetsim.Host{}}
	for name := range e.nodes {
		q.hosts[name] = e.lab.Network.Host(name).Host
	}
	return q, nil
}

// answer asks every call of a client to a server.
func (q *questions) answer(ctx context.Context, client, server *names.End) (*Why, error) {
	q.why = &Why{Version: whyVersion, Kind: whyKind, From: client.Name, To: server.Name, Calls: []Call{}}
	q.counts, q.routed = map[string]float64{}, byRouter{}
	q.note(q.exam.notesOnNoSnapshot()...)
	calls, err := q.calls(client, server)
	if err != nil {
		return nil, err
	}
	for _, call := range calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := q.ask(&call); err != nil {
			return nil, err
		}
	}
	q.conclude()
	return q.why, nil
}

// ask makes a call and keeps what became of it.
func (q *questions) ask(c *call) error {
	out := Call{Answer: WhyYes}
	if c.To.IsValid() {
		out.Call, out.Family = attemptText(c.Attempt), inet.FamilyOf(c.To.Addr())
	}
	if c.port != nil {
		out.Port = c.port.Name
	}
	defer func() { q.why.Calls = append(q.why.Calls, out) }()
	if c.lacks != nil {
		q.count(c.lacks, 1)
		out.Answer = WhyNo
		out.Ways = []Way{{Probability: 1, There: []string{}, Cause: c.lacks}}
		return nil
	}
	if other := q.exam.otherProxy(c.Attempt); other != nil {
		q.count(other, 1)
		out.Answer, out.Unknown = WhyUnknown, other.Says
		return nil
	}
	if why := q.exam.unknown(c.Attempt); why != "" {
		out.Answer, out.Unknown = WhyUnknown, why
		return nil
	}
	connections, err := q.exam.lab.Network.Connect(sim.ConnectOf(q.exam.lab.Plan, c.Attempt))
	var opaque *packetsim.OpaqueError
	if errors.As(err, &opaque) {
		out.Answer, out.Unknown = WhyUnknown, fmt.Sprintf("it meets a rule of %s that chainwalk does not know: %s", opaque.Host, opaque)
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(connections, func(a, b network.Connection) int { return cmp.Compare(b.Probability, a.Probability) })
	for i := range connections {
		way, err := q.way(c, &connections[i])
		if err != nil {
			return err
		}
		for _, d := range q.exam.doubtsOf(q.hosts, &connections[i]) {
			if !slices.Contains(out.doubts, d) {
				out.doubts = append(out.doubts, d)
			}
		}
		switch {
		case way.Cause == nil:
			out.Reached += way.Probability
		case way.Cause.Code != cause.NoSnapshot:
			out.Answer = WhyNo
		case out.Answer == WhyYes:
			out.Answer, out.Unknown = WhyUnknown, way.Cause.Says
		}
		out.Ways = append(out.Ways, way)
	}
	return nil
}

func (q *questions) way(c *call, conn *network.Connection) (Way, error) {
	w := Way{Probability: conn.Probability, There: hostsOf(&conn.Forward), Back: hostsOf(conn.Back)}
	for _, j := range []*network.Journey{&conn.Forward, conn.Back, conn.Third} {
		q.exam.routed(q.routed, j)
	}
	q.pass(w.There)
	q.pass(w.Back)
	if conn.Made {
		w.Server, w.At, w.Client = conn.Server, conn.Asked, conn.Client
		if !q.exam.misled(c.Attempt, conn) {
			found, lost, err := q.exam.lab.segmentLost(c.Attempt, conn, q.exam.world())
			if lost {
				w.Cause = &found
				q.count(&found, conn.Probability)
			}
			return w, err
		}
	}
	found, err := q.exam.causeOf(c.Attempt, conn)
	if err != nil {
		return w, err
	}
	w.Cause = &found
	q.count(&found, conn.Probability)
	return w, nil
}

// pass notes what was assumed of the hosts that a packet passes.
func (q *questions) pass(hosts []string) {
	for _, name := range hosts {
		node := q.exam.nodes[name]
		switch {
		case node != nil:
			for _, other := range hosts {
				q.note(notesAbout(node.Notes, other)...)
			}
		case q.exam.topology.Node(name) != nil:
			q.note(fmt.Sprintf("there is no snapshot of %s: packets pass it as if it had no rules", name))
		}
	}
}

// note keeps notes, each once.
func (q *questions) note(notes ...string) {
	for _, note := range notes {
		if !slices.Contains(q.why.Notes, note) {
			q.why.Notes = append(q.why.Notes, note)
		}
	}
}

func hostsOf(j *network.Journey) []string {
	var out []string
	if j != nil {
		for i := range j.Hops {
			out = append(out, j.Hops[i].Host)
		}
	}
	return out
}

// count keeps a cause, each once.
func (q *questions) count(found *cause.Cause, probability float64) {
	if q.counts[found.Key()] == 0 {
		q.why.Causes = append(q.why.Causes, *found)
	}
	q.counts[found.Key()] += probability
}

// world is what causes are told by.
func (e *exam) world() cause.World {
	return cause.World{All: e.cluster.Snapshots, Node: func(host string) *snapshot.NodeSnapshot {
		if node := e.nodes[host]; node != nil {
			return node.NodeSnapshot
		}
		return nil
	}}
}
