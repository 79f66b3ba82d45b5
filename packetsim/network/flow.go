package network

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Direction is who sends a packet of a flow.
type Direction uint8

// The directions of a flow.
const (
	FromClient Direction = iota
	FromServer
)

// String is the side in words.
func (d Direction) String() string {
	if d == FromServer {
		return "server"
	}
	return "client"
}

// FlowPacket is a later packet of a flow. Its zero value is a TCP segment with data, or a datagram.
type FlowPacket struct {
	Flags       inet.TCPFlags // TCP only; 0 is PSH and ACK
	OutOfWindow bool          // TCP only
	Length      int           // of the whole packet; 0 is the headers alone
	// DontFragment is the bit of IPv4 that has routers refuse a packet that is too long, which the kernel sets on segments of TCP.
	DontFragment bool
	// Pick chooses the way that is kept, by its index; nil is the likeliest, the first of equals.
	Pick func([]Reached) int
}

// Flow is a connection that the network remembers, for the packets after the first.
type Flow struct {
	// Connection is how the flow began.
	Connection Connection

	network *Network
	want    Connect
	// client and server are the hosts of these names when the flow began, server nil if none was reached.
	client, server *Host
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

// EstablishQuietly is Establish without text: neither the ways that pick sees nor the flow's Connection have hops or say why.
func (n *Network) EstablishQuietly(c Connect, pick func([]Reached) int) (*Flow, error) {
	if err := n.checkConnect(&c); err != nil {
		return nil, err
	}
	connections, err := n.connect(&c, false)
	if err != nil {
		return nil, err
	}
	ways := c.Reached(connections)
	i := pick(ways)
	if i < 0 || i >= len(ways) {
		return nil, fmt.Errorf("establish from %s to %s: none of %d ways was chosen", c.From, c.To, len(ways))
	}
	return n.keep(&c, connections[i])
}

// EstablishAlong is EstablishQuietly for a way that is known from Courses, of the same Connect in the same network. It says what came of
// the connection, which it makes once only.
func (n *Network) EstablishAlong(c Connect, along Course) (*Flow, Reached, error) {
	if err := n.checkConnect(&c); err != nil {
		return nil, Reached{}, err
	}
	made := Connection{Probability: along.probability, draws: along.draws}
	if err := n.keeping(c.Via).again(along.draws, func(w *carrier) error { return w.connect(&made, &c) }); err != nil {
		return nil, Reached{}, err
	}
	return n.flow(&c, &made), made.reached(&c), nil
}

// keeping is the carrier for what hosts are to remember.
func (n *Network) keeping(via netip.Addr) *carrier {
	c := &n.keeper
	c.network, c.via = n, via
	return c
}

// flow is a connection that was made and kept.
func (n *Network) flow(want *Connect, made *Connection) *Flow {
	return &Flow{Connection: *made, network: n, want: *want, client: n.hosts[want.From], server: n.hosts[made.Server]}
}

// Ends are the two ends of a connection, as they know each other.
type Ends struct {
	// Socket is the client's own address and port.
	Socket netip.AddrPort
	// Server is the host that was reached, empty if none was; Asked is the address that it was asked at, and Client the one that it
	// knows as its client's.
	Server        string
	Asked, Client netip.AddrPort
}

// Resume is a connection that was made before, by what its ends know of it. No packet is sent: what hosts on the way know of the
// connection they were built with. A server that is gone is none, and cannot send.
func (n *Network) Resume(c Connect, ends Ends) (*Flow, error) {
	c.Source, c.SourcePort = ends.Socket.Addr(), ends.Socket.Port()
	if err := n.checkConnect(&c); err != nil {
		return nil, err
	}
	made := Connection{Made: true, Socket: ends.Socket, Server: ends.Server, Asked: ends.Asked, Client: ends.Client}
	made.Forward.Packet = made.clientPacket(&c, inet.SYN)
	first := &made.Forward.Packet
	first.Src, first.SrcPort, first.Dst, first.DstPort = ends.Client.Addr(), ends.Client.Port(), ends.Asked.Addr(), ends.Asked.Port()
	return &Flow{Connection: made, network: n, want: c, client: n.hosts[c.From], server: n.hosts[ends.Server]}, nil
}

// keep makes a connection again, along the way that was chosen.
func (n *Network) keep(want *Connect, chosen Connection) (*Flow, error) {
	if err := n.checkConnect(want); err != nil {
		return nil, err
	}
	err := n.keeping(want.Via).again(chosen.draws, func(c *carrier) error { return c.connect(&Connection{}, want) })
	if err != nil {
		return nil, err
	}
	return n.flow(want, &chosen), nil
}

func firstMade(connections []Connection) int {
	for i := range connections {
		if connections[i].Made {
			return i
		}
	}
	return -1
}

// Send sends a later packet of the flow: one journey for every way that chance can fall, of which one is kept.
func (f *Flow) Send(dir Direction, later FlowPacket) ([]Journey, error) {
	sent, err := f.packet(dir, &later)
	if err != nil {
		return nil, err
	}
	c := &carrier{network: f.network, traces: true, via: f.want.Via}
	journeys, err := c.explore(sent.from, &sent.packet)
	if err != nil {
		return nil, err
	}
	var ways []Reached
	for i := range journeys {
		ways = append(ways, f.reached(dir, sent.from, &journeys[i]))
	}
	kept, err := f.pick(&later, ways)
	if err != nil {
		return nil, err
	}
	return journeys, f.again(&sent, journeys[kept].draws)
}

// Probe is Reach for a packet that is taken back afterwards: no way is kept.
func (f *Flow) Probe(dir Direction, later FlowPacket) ([]Reached, error) {
	sent, err := f.packet(dir, &later)
	if err != nil {
		return nil, err
	}
	return f.probe(dir, &sent, func([]bool) {})
}

// Reach is Send without text. A way is Made if the packet came to the socket that it was for, and Refused if a host on the way told the
// sender of an error.
func (f *Flow) Reach(dir Direction, later FlowPacket) ([]Reached, error) {
	sent, err := f.packet(dir, &later)
	if err != nil {
		return nil, err
	}
	var courses [][]bool
	ways, err := f.probe(dir, &sent, func(draws []bool) { courses = append(courses, slices.Clone(draws)) })
	if err != nil {
		return nil, err
	}
	kept, err := f.pick(&later, ways)
	if err != nil {
		return nil, err
	}
	return ways, f.again(&sent, courses[kept])
}

// later is a packet of a flow, and the host that sends it.
type later struct {
	from   string
	packet inet.Packet
}

// probe sends a later packet without a story, and leaves the network as it was. It tells of each way how chance fell.
func (f *Flow) probe(dir Direction, sent *later, fell func(draws []bool)) ([]Reached, error) {
	var ways []Reached
	var last *Journey
	err := f.network.quiet(f.want.Via).branches(func(c *carrier) error {
		last = c.journey()
		return c.send(last, sent.from, &sent.packet)
	}, func(probability float64, draws []bool) {
		last.Probability = probability
		ways = append(ways, f.reached(dir, sent.from, last))
		fell(draws)
	})
	return ways, err
}

// pick chooses the way that is kept, by its index.
func (f *Flow) pick(how *FlowPacket, ways []Reached) (int, error) {
	pick := how.Pick
	if pick == nil {
		pick = likeliest
	}
	kept := pick(ways)
	if kept < 0 || kept >= len(ways) {
		return 0, fmt.Errorf("flow to %s: none of %d ways was chosen", f.want.To, len(ways))
	}
	return kept, nil
}

// again sends a packet once more along the way that is kept.
func (f *Flow) again(sent *later, draws []bool) error {
	return f.network.keeping(f.want.Via).again(draws, func(c *carrier) error { return c.send(c.journey(), sent.from, &sent.packet) })
}

// likeliest is the first of the ways with the greatest probability.
func likeliest(ways []Reached) int {
	best := 0
	for i := range ways {
		if ways[i].Probability > ways[best].Probability {
			best = i
		}
	}
	return best
}

// reached leaves the story of a later packet away.
func (f *Flow) reached(dir Direction, from string, j *Journey) Reached {
	r := j.reached()
	r.Socket = f.Connection.Socket
	r.Listens = j.End == EndDelivered && f.network.hosts[j.At].Listeners.Accept(j.Packet.Proto, r.Asked)
	r.Made = f.Received(dir, j)
	r.Refused = slices.ContainsFunc(j.Answers, func(answer Journey) bool { return answer.End == EndDelivered && answer.At == from })
	return r
}

// Steer has later packets handed to another neighbour by the routes that are steered (Connect.Via).
func (f *Flow) Steer(via netip.Addr) { f.want.Via = via }

// Received says whether a journey that a packet of this flow made ended in the socket that the
// packet was for. A TCP client answers a segment for which it has no socket with a RST. A host that has taken the place of
// one that was removed has none of its connections; a datagram is for whoever listens.
func (f *Flow) Received(dir Direction, j *Journey) bool {
	to := f.client
	if dir == FromClient {
		to = f.server
	}
	if f.network.hosts[j.At] != to && f.want.Proto != inet.UDP {
		return false
	}
	if dir == FromClient {
		return f.Connection.reachesServer(j)
	}
	return f.Connection.judgeReply(&f.want, j) == fits
}

// packet is a later packet as it is sent.
func (f *Flow) packet(dir Direction, how *FlowPacket) (later, error) {
	if f.want.Proto != inet.TCP && (how.Flags != 0 || how.OutOfWindow) {
		return later{}, fmt.Errorf("flow to %s: only TCP segments have flags and a window", f.want.To)
	}
	from, p := f.want.From, f.Connection.clientPacket(&f.want, 0)
	if dir == FromServer {
		if f.Connection.Server == "" {
			return later{}, errors.New("flow to " + f.want.To.String() + ": no server was reached, so none can send")
		}
		from, p = f.Connection.Server, f.Connection.Forward.Packet.Answer()
	}
	if sender := f.network.hosts[from]; sender == nil || dir == FromClient && sender != f.client || dir == FromServer && sender != f.server {
		return later{}, fmt.Errorf("flow to %s: its %s %s is no more", f.want.To, dir, from)
	}
	p.OutOfWindow, p.Length, p.DontFragment = how.OutOfWindow, how.Length, how.DontFragment && !p.Is6()
	if f.want.Proto == inet.TCP {
		p.TCPFlags = how.Flags
		if how.Flags == 0 {
			p.TCPFlags = inet.PSH | inet.ACK
		}
	}
	return later{from, p}, nil
}
