package live

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Opening is the first packet of a connection from one end of a cluster to another.
type Opening struct {
	inet.Input
	// Source is the object or the machine that sends the packet.
	Source names.Source
	// Via is the node that a packet from outside comes to first; empty if it comes from a node or a pod.
	Via string
	// Call is the connection in a few words: "TCP 10.96.0.10:80", "TCP 198.51.100.7:80 by worker1".
	Call string
}

// Openings are the first packets of the calls that Why makes between two ends, in its order and by its words for them. There is an error if
// the client can make no call, or if the packet begins at a node without a snapshot.
func (c *Cluster) Openings(from, to string) ([]Opening, error) {
	client, server, err := c.pair(from, to)
	if err != nil {
		return nil, err
	}
	switch {
	case len(c.Snapshots) == 0:
		return nil, errNoSnapshot
	case len(client.Addresses) == 0 && !client.IsOutside():
		return nil, fmt.Errorf("%s has no address yet: only a pod that has one sends packets", client.Name)
	}
	e, err := c.withEnds(client, server).prepared(isLive)
	if err != nil {
		return nil, err
	}
	q := &questions{exam: e}
	calls, err := q.calls(client, server)
	if err != nil {
		return nil, err
	}
	var out []Opening
	for i := range calls {
		a := &calls[i]
		if !a.To.IsValid() {
			return nil, fmt.Errorf("%s: %s (%s)", server.Name, a.lacks.Says, a.lacks.Remedy)
		}
		opening := e.opening(client, a)
		if node := opening.Source.Node; node != "" && e.nodes[node] == nil {
			return nil, c.noSnapshotOf(node, client)
		}
		out = append(out, opening)
	}
	return out, nil
}

// opening is the first packet of a call.
func (e *premises) opening(client *names.End, a *call) Opening {
	v6 := a.To.Addr().Is6()
	o := Opening{Via: a.Via, Call: calledText(a.Attempt)}
	if a.Via != "" {
		o.Call += " by " + a.Via
	}
	var own []netip.Addr
	if p := e.topology.Pod(a.From); p != nil {
		o.Source.Node, own = p.Node, p.Addresses
	} else if n := e.topology.Node(a.From); n != nil {
		o.Source.Node, o.Source.Host, own = n.Name, true, n.Addresses
	} else {
		for i := range e.topology.Outside {
			if m := &e.topology.Outside[i]; m.Name == a.From {
				own = m.Addresses
			}
		}
	}
	o.Source.Address = client.Address(v6)
	if i := slices.IndexFunc(own, func(a netip.Addr) bool { return a.Is6() == v6 }); i >= 0 && !o.Source.Address.IsValid() {
		o.Source.Address = own[i]
	}
	o.Packet = inet.Packet{Proto: plan.Proto(strings.ToLower(string(a.Protocol)), v6), Src: o.Source.Address, Dst: a.To.Addr()}
	switch {
	case o.Proto.IsICMP():
		o.ICMPType = o.Proto.EchoRequestType()
	case o.Proto == inet.TCP:
		o.TCPFlags = inet.SYN
		fallthrough
	default:
		o.SrcPort, o.DstPort = firstPort, a.To.Port()
	}
	return o
}

// noSnapshotOf says that the packets of a client begin at a node without a snapshot.
func (c *Cluster) noSnapshotOf(node string, client *names.End) error {
	why := ""
	if reason := oneLine(c.NoSnapshot[node]); reason != "" {
		why = " (" + reason + ")"
	}
	return errors.New("packets of " + client.Name + " begin on " + node + ", and there is no snapshot of " + node + why +
		": run chainwalk snapshot there and give the file with --node")
}
