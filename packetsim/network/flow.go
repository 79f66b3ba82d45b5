package network

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim"
)

// Direction is who sends a packet of a flow.
type Direction uint8

// The directions of a flow.
const (
	FromClient Direction = iota
	FromServer
)

// FlowPacket is a later packet of a flow. Its zero value is a TCP segment with data, or a datagram.
type FlowPacket struct {
	Flags       packetsim.TCPFlags // TCP only; 0 is PSH and ACK
	OutOfWindow bool               // TCP only
	Length      int                // of the whole packet; 0 is the headers alone
}

// Flow is a connection that the network remembers, for the packets after the first.
type Flow struct {
	// Connection is how the flow began.
	Connection Connection

	network *Network
	want    Connect
}

// Establish connects as Connect does, lets pick choose one of the ways (by its index) and keeps
// what that one does to the hosts. A nil pick chooses the first that is made.
func (n *Network) Establish(c Connect, pick func([]Connection) int) (*Flow, error) {
	connections, err := n.Connect(c)
	if err != nil {
		return nil, err
	}
	if pick == nil {
		pick = firstMade
	}
	i := pick(connections)
	if i < 0 || i >= len(connections) {
		return nil, fmt.Errorf("establish from %s to %s: none of %d ways was chosen, the first one is: %s",
			c.From, c.To, len(connections), connections[0].Why)
	}
	return n.keep(&c, connections[i])
}

// keep makes a connection again, along the way that was chosen.
func (n *Network) keep(want *Connect, chosen Connection) (*Flow, error) {
	if err := n.checkConnect(want); err != nil {
		return nil, err
	}
	c := &carrier{network: n, via: want.Via}
	err := c.again(chosen.draws, func(c *carrier) error { return c.connect(&Connection{}, want) })
	if err != nil {
		return nil, err
	}
	return &Flow{Connection: chosen, network: n, want: *want}, nil
}

func firstMade(connections []Connection) int {
	for i := range connections {
		if connections[i].Made {
			return i
		}
	}
	return -1
}

// Send sends a later packet of the flow: one journey for every way that chance can fall, of
// which the likeliest (the first of equals) is kept.
func (f *Flow) Send(dir Direction, later FlowPacket) ([]Journey, error) {
	from, packet, err := f.packet(dir, later)
	if err != nil {
		return nil, err
	}
	journeys, err := f.network.send(from, &packet, f.want.Via)
	if err != nil {
		return nil, err
	}
	likeliest := 0
	for i := range journeys {
		if journeys[i].Probability > journeys[likeliest].Probability {
			likeliest = i
		}
	}
	c := &carrier{network: f.network, via: f.want.Via}
	return journeys, c.again(journeys[likeliest].draws, func(c *carrier) error { return c.send(c.journey(), from, &packet) })
}

// Received says whether a journey that a packet of this flow made ended in the socket that the
// packet was for. A TCP client answers a segment for which it has no socket with a RST.
func (f *Flow) Received(dir Direction, j *Journey) bool {
	if dir == FromClient {
		return f.Connection.reachesServer(j)
	}
	return f.Connection.judgeReply(&f.want, j) == fits
}

func (f *Flow) packet(dir Direction, later FlowPacket) (from string, p packetsim.Packet, err error) {
	if f.want.Proto != packetsim.TCP && (later.Flags != 0 || later.OutOfWindow) {
		return "", p, fmt.Errorf("flow to %s: only TCP segments have flags and a window", f.want.To)
	}
	from, p = f.want.From, f.Connection.clientPacket(&f.want, 0)
	if dir == FromServer {
		if f.Connection.Server == "" {
			return "", p, errors.New("flow to " + f.want.To.String() + ": no server was reached, so none can send")
		}
		from, p = f.Connection.Server, f.Connection.Forward.Packet.Answer()
	}
	p.OutOfWindow, p.Length = later.OutOfWindow, later.Length
	if f.want.Proto == packetsim.TCP {
		p.TCPFlags = later.Flags
		if later.Flags == 0 {
			p.TCPFlags = packetsim.PSH | packetsim.ACK
		}
	}
	return from, p, nil
}
