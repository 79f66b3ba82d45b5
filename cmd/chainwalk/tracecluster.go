package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// connectionDocument is the JSON of a trace through several nodes.
type connectionDocument struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	// Nodes are those with a snapshot.
	Nodes []string `json:"nodes"`
	story.Story
	// Connections are what became of the connection, in the order of the story's outcomes.
	Connections []connectionEnd `json:"connections"`
}

// The kind and version of connectionDocument.
const (
	connectionKind    = "ConnectionTrace"
	connectionVersion = 1
)

// connectionEnd is what became of a connection in one way.
type connectionEnd struct {
	Probability float64 `json:"probability"`
	// Made: the client has its answer from where it called, and the server hears it.
	Made bool `json:"made"`
	// Refused: the client was told that there is nobody.
	Refused     bool       `json:"refused"`
	RefusedBy   netip.Addr `json:"refusedBy,omitzero"`
	RefusedWith string     `json:"refusedWith,omitempty"`
	// Why says why it is not made.
	Why string `json:"why,omitempty"`
	// Socket is the client's own address and port; Server is the host that the first packet reached, at Asked, and sees Client.
	Socket netip.AddrPort `json:"socket"`
	Server string         `json:"server,omitempty"`
	Asked  netip.AddrPort `json:"asked,omitzero"`
	Client netip.AddrPort `json:"client,omitzero"`
}

func endOf(c *network.Connection) connectionEnd {
	return connectionEnd{
		Probability: c.Probability, Made: c.Made, Refused: c.Refused, RefusedBy: c.RefusedBy, RefusedWith: c.RefusedWith, Why: c.Why,
		Socket: c.Socket, Server: c.Server, Asked: c.Asked, Client: c.Client,
	}
}

// followPacket follows a connection through several nodes and back.
func followPacket(o traceOptions, p *namedPacket) (*connectionDocument, error) {
	document := &connectionDocument{Version: connectionVersion, Kind: connectionKind}
	for i, node := range p.cluster.Snapshots {
		if slices.ContainsFunc(p.cluster.Snapshots[:i], func(s *snapshot.NodeSnapshot) bool { return s.Hostname == node.Hostname }) {
			return nil, fmt.Errorf("two snapshots are of %s: give one of each node", node.Hostname)
		}
		document.Nodes = append(document.Nodes, node.Hostname)
	}
	if err := p.leave(p.cluster.Snapshots); err != nil {
		return nil, err
	}
	view, err := p.cluster.View(p.Src, p.Dst)
	if err != nil {
		return nil, err
	}
	followed, err := view.Follow(p.Input, cmp.Or(o.via, p.via))
	if errors.Is(err, live.ErrNoFirstPacket) {
		return nil, fmt.Errorf("packet: %w", err)
	}
	if err != nil {
		return nil, err
	}
	document.Story = story.OfConnections(p.Full(), followed.Connections, story.Options{Names: p.names(), Doubts: followed.Doubts,
		Assumed: followed.Assumed})
	document.Sentence = p.chosen + document.Sentence
	document.Notes = addNew(append(document.Notes, followed.Notes...), p.others)
	if document.Causes, err = view.StoppedBy(followed); err != nil {
		return nil, err
	}
	if p.book != nil {
		why := view.WhyNotFollowed(followed, p.book)
		document.Unreached, document.Notes = why.Unreached, append(document.Notes, why.Notes...)
	}
	for i := range followed.Connections {
		document.Connections = append(document.Connections, endOf(&followed.Connections[i]))
	}
	return document, nil
}

// leave has a packet that its node is said to send begin there: without a source it has the node's own one.
func (p *namedPacket) leave(nodes []*snapshot.NodeSnapshot) error {
	if !p.Local {
		return nil
	}
	for _, node := range nodes {
		if arrivesBy(node, p.Src) == "local" {
			p.Local = false
			return nil
		}
	}
	return fmt.Errorf("packet: \"local\" is for what a node sends, and no node has the address %s", p.Src)
}
