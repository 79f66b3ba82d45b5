package main

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// namedPacket is a packet of the command line with what is known of its cluster.
type namedPacket struct {
	inet.Input
	cluster *live.Cluster
	book    *names.Book   // nil without objects
	source  *names.Source // the object that is named as the source; nil if none is
	via     string        // the node that a packet from outside comes to first; empty if that is not found out
	// chosen begins the sentence, and others is a note, if the packet is of one call of several.
	chosen, others string
}

// packet finds the packet to trace: the one that is written, in which objects may be named, or the first one between two named ends.
func (o *traceOptions) packet(cluster *live.Cluster, text string) (*namedPacket, error) {
	p := &namedPacket{cluster: cluster}
	if len(cluster.Objects) > 0 {
		p.book = names.New(cluster.Objects)
	}
	if o.from != "" {
		return p, p.open(o, text)
	}
	var err error
	if !names.IsNamed(text) {
		p.Input, err = inet.ParseInput(text)
		return p, err
	}
	if p.book == nil {
		return nil, errors.New("packet: names of objects take the objects: give -f FILE (" + howToList + ")")
	}
	named, err := p.book.Packet(text)
	if err != nil {
		return nil, err
	}
	p.source = named.Source
	p.Input, err = inet.ParseInput(named.Text)
	return p, named.Error(err)
}

// howToList is the command that prints the objects of a cluster.
const howToList = "kubectl get services,endpointslices,nodes,pods -A -o yaml"

// names are the story's; none without objects.
func (p *namedPacket) names() story.Names {
	if p.book == nil {
		return nil
	}
	return p.book
}

// whyNot is what the objects say of a packet that a node had, and what stopped it there.
func (p *namedPacket) whyNot(node *snapshot.NodeSnapshot, o traceOptions, result *packetsim.TraceResult) (explained, error) {
	if p.book == nil {
		if d, doubtful := live.DoubtOfProxy(node, result.Input.Dst); doubtful {
			result.Doubts = append(result.Doubts, d)
			return explained{causes: []cause.Cause{cause.OfDoubt(d)}}, nil
		}
		return explained{causes: cause.OfOutcomes(node.Hostname, result.Input, result.Outcomes, node)}, nil
	}
	cluster := live.Cluster{Objects: p.cluster.Objects, Snapshots: []*snapshot.NodeSnapshot{node}, Dialect: netfilter.Dialect(o.live.tools)}
	view, err := cluster.View(p.Src, p.Dst)
	if err != nil {
		return explained{}, fmt.Errorf("what the objects say of the packet: %w", err)
	}
	host, err := snapshot.NewHost(node, snapshot.HostOptions{Dialect: netfilter.Dialect(o.live.tools)})
	if err != nil {
		return explained{}, err
	}
	if d, doubtful := view.DoubtOfProxy(node.Hostname, result.Input); doubtful {
		result.Doubts = append(result.Doubts, d)
	}
	out, _ := view.WhyNot(host, result.Input, result.Outcomes, p.book)
	return explained{out, view.CausesAt(node, result.Input, result.Outcomes)}, nil
}

// explained is why a packet did not come to endpoints.
type explained struct {
	whynot.Answer
	causes []cause.Cause
}

// traceDocument is the JSON of a trace with objects.
type traceDocument struct {
	packetsim.TraceResult
	// Sentence is what happened, in words.
	Sentence string `json:"sentence"`
	// Causes are what stopped the packet or its reply.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Unreached are the endpoints that could have been expected and are in no outcome.
	Unreached []story.Unreached `json:"unreached,omitempty"`
}
