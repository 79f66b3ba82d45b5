package main

import (
	"encoding/json"
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
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// namedPacket is a packet of the command line with what is known of its cluster.
type namedPacket struct {
	inet.Input
	objects []manifest.Object
	book    *names.Book   // nil without objects
	source  *names.Source // the object that is named as the source; nil if none is
}

// readPacket reads the objects and the packet, in which they may be named.
func readPacket(s streams, o *traceOptions, text string) (*namedPacket, error) {
	p := &namedPacket{}
	var err error
	if len(o.objects) > 0 {
		if p.objects, err = readKnownObjects(s, o.objects, &o.ignored); err != nil {
			return nil, err
		}
		p.book = names.New(p.objects)
	}
	if !names.IsNamed(text) {
		p.Input, err = inet.ParseInput(text)
		return p, err
	}
	if p.book == nil {
		return nil, errors.New("packet: names of objects take the objects: give --objects FILE " +
			"(kubectl get services,endpointslices,nodes,pods -A -o yaml)")
	}
	named, err := p.book.Packet(text)
	if err != nil {
		return nil, err
	}
	p.source = named.Source
	p.Input, err = inet.ParseInput(named.Text)
	return p, named.Error(err)
}

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
		return explained{causes: cause.OfOutcomes(node.Hostname, result.Input, result.Outcomes, node)}, nil
	}
	cluster := live.Cluster{Objects: p.objects, Snapshots: []*snapshot.NodeSnapshot{node}, Dialect: netfilter.Dialect(o.tools)}
	view, err := cluster.View(p.Src, p.Dst)
	if err != nil {
		return explained{}, fmt.Errorf("what the objects say of the packet: %w", err)
	}
	host, err := snapshot.NewHost(node, snapshot.HostOptions{Dialect: netfilter.Dialect(o.tools)})
	if err != nil {
		return explained{}, err
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

// writeDocument writes a document as JSON.
func writeDocument(s streams, document any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false) // the ">" of a packet is to be read by people too
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}
