package live

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
)

// Followed is what became of a connection in the network of a cluster.
type Followed struct {
	// Connections are all ways that it can take, the likeliest first.
	Connections []network.Connection
	// Doubts are what packets met on the way that was not walked, or not known.
	Doubts []packetsim.Doubt
	// Assumed is what was taken for granted of the router between nodes, with which the rest holds.
	Assumed []string
	// Notes say what else of the network was assumed.
	Notes []string

	hosts map[string]*packetsim.Host
	lab   *labs.Lab
	asked oracle.Attempt
}

// ErrNoFirstPacket says that a packet is not the plain first one of a connection.
var ErrNoFirstPacket = errors.New("with several nodes a connection is followed from its first packet")

var errNoSnapshot = errors.New("no node has a snapshot")

// Follow makes the connection that a packet begins, through the nodes and back. Who has the packet's source sends it; what comes from
// outside for an address that nobody has is handed to the node via, by its name; if it is empty, to the first one with a snapshot.
func (v *View) Follow(in inet.Input, via string) (*Followed, error) {
	e := v.exam
	if err := checkFirst(in); err != nil {
		return nil, err
	}
	if len(e.cluster.Snapshots) == 0 {
		return nil, errNoSnapshot
	}
	via = cmp.Or(via, e.cluster.Snapshots[0].Hostname)
	if e.topology.Node(via) == nil {
		var known []string
		for i := range e.topology.Nodes {
			known = append(known, e.topology.Nodes[i].Name)
		}
		return nil, fmt.Errorf("no node is named %q: there are %s", via, strings.Join(known, ", "))
	}
	v.listen(&in)
	hosts, err := e.hosts(func(*snapshot.NodeSnapshot) (snapshot.HostOptions, error) {
		return snapshot.HostOptions{Dialect: e.cluster.Dialect}, nil
	})
	if err != nil {
		return nil, err
	}
	l, err := labs.New(e.topology, e.nodes, hosts)
	if err != nil {
		return nil, err
	}
	f := &Followed{hosts: hosts, lab: l}
	f.asked = oracle.Attempt{
		From: v.clientOf(via, &in), Source: at(in.Src, cmp.Or(in.SrcPort, in.ICMPID)), Protocol: oracleProtocol(in.Proto),
		To: at(in.Dst, in.DstPort), Via: via,
	}
	f.Connections, err = l.Network.Connect(network.Connect{
		From: v.clientOf(via, &in), Proto: in.Proto, To: at(in.Dst, in.DstPort), Source: in.Src, SourcePort: cmp.Or(in.SrcPort, in.ICMPID),
		Via: l.Plan.Gateway(via, in.Dst.Is6()),
	})
	slices.SortStableFunc(f.Connections, func(a, b network.Connection) int { return cmp.Compare(b.Probability, a.Probability) })
	f.notes(e)
	return f, err
}

// oracleProtocol is a protocol as the API has it.
func oracleProtocol(p inet.Proto) corev1.Protocol {
	if p.IsICMP() {
		return oracle.ICMP
	}
	return corev1.Protocol(strings.ToUpper(p.String()))
}

// Causes are StoppedBy, and then the doubts.
func (v *View) Causes(f *Followed) ([]cause.Cause, error) {
	out, err := v.StoppedBy(f)
	for _, d := range f.Doubts {
		if d.Kind == packetsim.DoubtProxy {
			continue // StoppedBy has it
		}
		if len(out) == 0 || d.Kind != packetsim.DoubtAssumed {
			out = append(out, cause.OfDoubt(d))
		}
	}
	return out, err
}

// StoppedBy are what stopped the ways that did not end well, each once, the likeliest first: what the service lacks by its objects, what
// is wrong with the rules of kube-proxy, or what ended the packet or its reply.
func (v *View) StoppedBy(f *Followed) ([]cause.Cause, error) {
	e := v.exam
	e.lab = &lab{Lab: f.lab, segments: segmentsOf(e.topology, e.nodes, f.hosts)}
	var out []cause.Cause
	add := func(found cause.Cause) {
		if !slices.ContainsFunc(out, func(c cause.Cause) bool { return c.Key() == found.Key() }) {
			out = append(out, found)
		}
	}
	if found := e.otherProxy(f.asked); found != nil {
		add(*found)
	}
	for i := range f.Connections {
		c := &f.Connections[i]
		if c.Made && !e.misled(f.asked, c) {
			found, lost, err := e.lab.segmentLost(f.asked, c, e.world())
			if err != nil {
				return nil, err
			}
			if lost {
				add(found)
			}
			continue
		}
		found, err := e.whole(f.asked, c)
		if err != nil {
			return nil, err
		}
		add(found)
	}
	return out, nil
}

// checkFirst refuses packets that are more than a first one.
func checkFirst(in inet.Input) error {
	switch {
	case in.In != "":
		return fmt.Errorf("%w: leave out \"in %s\", the packet begins at the owner of its source", ErrNoFirstPacket, in.In)
	case in.Src.IsUnspecified():
		return fmt.Errorf("%w: write who sends it in the place of %s", ErrNoFirstPacket, in.Src)
	}
	plain := inet.Packet{Proto: in.Proto, Src: in.Src, Dst: in.Dst, SrcPort: in.SrcPort, DstPort: in.DstPort}
	switch {
	case in.Proto == inet.TCP:
		plain.TCPFlags = inet.SYN
	case in.Proto.IsICMP():
		plain.ICMPType, plain.ICMPID = in.Proto.EchoRequestType(), in.ICMPID
	}
	if (inet.Input{Packet: plain}).Full() != (inet.Input{Packet: in.Packet}).Full() {
		return fmt.Errorf("%w: write PROTO SRC[:PORT] > DST[:PORT] alone", ErrNoFirstPacket)
	}
	return nil
}

// listen has the nodes answer everywhere, as pods and machines do: what listens there is not known.
func (v *View) listen(in *inet.Input) {
	t := v.exam.topology
	for i := range t.Nodes {
		if in.Proto.HasPorts() {
			t.Nodes[i].Listen = []scenarios.Listener{{Proto: in.Proto.String()}}
		}
	}
}

// notes are about the hosts that packets went through.
func (f *Followed) notes(e *exam) {
	if d, doubtful := e.doubtOfProxy(f.asked); doubtful {
		f.Doubts = append(f.Doubts, d)
	}
	passed, routed := map[string][]*packetsim.Outcome{}, byRouter{}
	for i := range f.Connections {
		c := &f.Connections[i]
		for _, d := range e.doubtsOf(f.hosts, c) {
			if !slices.Contains(f.Doubts, d) {
				f.Doubts = append(f.Doubts, d)
			}
		}
		for _, j := range []*network.Journey{&c.Forward, c.Back, c.Third} {
			e.routed(routed, j)
			for k := 0; j != nil && k < len(j.Hops); k++ {
				hop := &j.Hops[k]
				passed[hop.Host] = append(passed[hop.Host], &hop.Outcome)
			}
		}
	}
	for i := range e.topology.Nodes {
		name := e.topology.Nodes[i].Name
		switch node := e.nodes[name]; {
		case passed[name] == nil:
		case node == nil:
			f.Notes = append(f.Notes, fmt.Sprintf("there is no snapshot of %s: packets pass it as if it had no rules", name))
		default:
			f.assumed(node, passed, e.cluster.only == scenarios.FamilyIPv6)
		}
	}
	slices.Sort(f.Notes)
	f.Assumed = routed.texts()
}

// assumed notes what was taken for granted of what is around a node.
func (f *Followed) assumed(node *labs.Attached, passed map[string][]*packetsim.Outcome, v6 bool) {
	for host := range passed {
		f.Notes = append(f.Notes, notesAbout(node.Notes, host)...)
	}
	for i := range f.Connections {
		f.Notes = addNew(f.Notes, node.Assumed[f.Connections[i].Socket.Addr()])
		f.Notes = addNew(f.Notes, node.Assumed[f.Connections[i].Asked.Addr()])
	}
	f.Notes = addNew(f.Notes, node.OnLinkNote(slices.Sorted(maps.Keys(passed)), v6))
	for _, o := range passed[node.Hostname] {
		f.Notes = addNew(f.Notes, node.TunnelNote(o))
	}
}

// addNew adds a note that says something, if it is not there.
func addNew(notes []string, note string) []string {
	if note == "" || slices.Contains(notes, note) {
		return notes
	}
	return append(notes, note)
}

// notesAbout are those about the route to a pod.
func notesAbout(notes []string, pod string) []string {
	var out []string
	for _, note := range notes {
		if strings.Contains(note, " has no route to "+pod+" ") {
			out = append(out, note)
		}
	}
	return out
}
