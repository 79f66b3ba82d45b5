package network

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Connect is a client that opens a connection, or sends a first datagram or echo request.
type Connect struct {
	From  string // the client's host
	Proto inet.Proto
	To    netip.AddrPort // the address that the client calls; the port is 0 for ICMP
	// Source is the client's own address; unset, it is chosen as for an unbound socket.
	Source netip.Addr
	// SourcePort is the client's own port, and an echo request's identifier; 0 is 40000.
	SourcePort uint16
	// Via is the neighbour that hosts hand packets to by their routes that are steered (packetsim.Route.Steered), such as a node behind a
	// load balancer. Unset, these routes lead nowhere.
	Via netip.Addr
}

const defaultSourcePort = 40000

// Connection is what became of a Connect, in one of the ways that chance can fall.
type Connection struct {
	Probability float64
	// Made: the client got its reply from the address that it called; for TCP its ACK reached
	// the server as well.
	Made bool
	// Refused: the client was told that there is nobody, by RefusedBy with RefusedWith
	// ("tcp-reset" or "icmp TYPE/CODE").
	Refused     bool
	RefusedBy   netip.Addr
	RefusedWith string
	// Why says why a connection is not made.
	Why string

	// Socket is the client's own address and port.
	Socket netip.AddrPort
	// Server is the host that the first packet reached, empty if it reached none; Asked is the
	// address that it was asked at and Client the one that it saw as its client's.
	Server        string
	Asked, Client netip.AddrPort

	// Forward is the first packet, Back the server's answer, Third the ACK that ends a TCP
	// handshake.
	Forward Journey
	Back    *Journey
	Third   *Journey

	refuses   bool         // nobody listens where the first packet was delivered
	refusedBy *inet.Packet // what told the client so
	draws     []bool
}

// Connect lets a client connect and says what came of it, once for every way that chance can
// fall. The network is unchanged afterwards.
func (n *Network) Connect(c Connect) ([]Connection, error) {
	if err := n.checkConnect(&c); err != nil {
		return nil, err
	}
	return n.connect(&c, true)
}

// ConnectIn is Connect without Events in the outcomes. What it tells is in a Memory, until that is released.
func (n *Network) ConnectIn(m *Memory, c Connect) ([]Connection, error) {
	if err := n.checkConnect(&c); err != nil {
		return nil, err
	}
	w := &m.carrier
	w.network, w.traces, w.via, w.memory = n, true, c.Via, m
	return w.connections(&c, m.connections.take(usualWays))
}

// connect is Connect for a client that was checked.
func (n *Network) connect(want *Connect, traces bool) ([]Connection, error) {
	c := &carrier{network: n, traces: traces, via: want.Via}
	return c.connections(want, nil)
}

// connections appends what came of a connection.
func (c *carrier) connections(want *Connect, into []Connection) ([]Connection, error) {
	var last Connection
	err := c.branches(func(c *carrier) error {
		last = Connection{}
		return c.connect(&last, want)
	}, func(probability float64, draws []bool) {
		last.Probability, last.draws = probability, slices.Clone(draws)
		into = append(into, last)
	})
	return into, err
}

// checkConnect refuses what cannot be tried, and fills the defaults.
func (n *Network) checkConnect(c *Connect) error {
	switch {
	case n.hosts[c.From] == nil:
		return fmt.Errorf("connect: there is no host %s", c.From)
	case !c.To.Addr().IsValid():
		return fmt.Errorf("connect from %s: the address to call is missing", c.From)
	case c.Proto.HasPorts() && c.To.Port() == 0:
		return fmt.Errorf("connect from %s to %s: %s needs a port", c.From, c.To, c.Proto)
	case !c.Proto.HasPorts() && c.To.Port() != 0:
		return fmt.Errorf("connect from %s to %s: %s has no ports", c.From, c.To, c.Proto)
	case c.Source.IsValid() && c.Source.Is4() != c.To.Addr().Is4():
		return fmt.Errorf("connect from %s to %s: the source %s is of the other address family", c.From, c.To, c.Source)
	case c.Proto == inet.ICMP && !c.To.Addr().Is4() || c.Proto == inet.ICMPv6 && c.To.Addr().Is4():
		return fmt.Errorf("connect from %s to %s: %s is of the other address family", c.From, c.To, c.Proto)
	}
	if c.SourcePort == 0 {
		c.SourcePort = defaultSourcePort
	}
	return nil
}

// socket is the client's own address.
func (c *carrier) socket(want *Connect) (netip.AddrPort, error) {
	addr := want.Source
	if !addr.IsValid() {
		var err error
		client := c.network.hosts[want.From]
		c.enter(client)
		if addr, err = client.SourceFor(want.To.Addr()); err != nil {
			return netip.AddrPort{}, err
		}
	}
	port := uint16(0)
	if want.Proto.HasPorts() {
		port = want.SourcePort
	}
	return netip.AddrPortFrom(addr, port), nil
}

// connect makes one try.
func (c *carrier) connect(conn *Connection, want *Connect) error {
	var err error
	if conn.Socket, err = c.socket(want); err != nil {
		conn.Why = err.Error()
		return nil
	}
	first := conn.clientPacket(want, inet.SYN)
	if err := c.send(&conn.Forward, want.From, &first); err != nil {
		return err
	}
	if conn.Forward.End != EndDelivered {
		conn.judgeAnswers(want, conn.Forward.Answers)
		switch {
		case !c.traces:
		case conn.Refused:
			conn.Why = conn.refusal()
		default:
			conn.Why = fmt.Sprintf("the first packet was %s at %s: %s", conn.Forward.End, conn.Forward.At, conn.Forward.Why)
		}
		return nil
	}
	return c.reply(conn, want)
}

// reply lets the server that the first packet came to answer.
func (c *carrier) reply(conn *Connection, want *Connect) error {
	asked := &conn.Forward.Packet
	conn.Server = conn.Forward.At
	conn.Asked, conn.Client = netip.AddrPortFrom(asked.Dst, asked.DstPort), netip.AddrPortFrom(asked.Src, asked.SrcPort)
	answer, refuses := c.network.hosts[conn.Server].answer(asked)
	conn.refuses = refuses
	conn.Back = c.journey()
	if err := c.send(conn.Back, conn.Server, &answer); err != nil {
		return err
	}
	if !refuses {
		return c.finish(conn, want)
	}
	conn.judgeAnswer(want, conn.Back)
	switch {
	case !c.traces:
	case conn.Refused:
		conn.Why = conn.refusal()
	default:
		conn.Why = fmt.Sprintf("%s refused, and the client does not learn it: %s", conn.Server, conn.Back)
	}
	return nil
}

// finish judges the server's answer, and for TCP sends the client's ACK.
func (c *carrier) finish(conn *Connection, want *Connect) error {
	if misfit := conn.judgeReply(want, conn.Back); misfit != fits {
		if c.traces {
			conn.Why = conn.misfitText(want, conn.Back, misfit)
		}
		return nil
	}
	if want.Proto == inet.TCP {
		conn.Third = c.journey()
		ack := conn.clientPacket(want, inet.ACK)
		if err := c.send(conn.Third, want.From, &ack); err != nil {
			return err
		}
		if !conn.reachesServer(conn.Third) {
			if c.traces {
				conn.Why = fmt.Sprintf("the client's ACK does not reach the server's socket: %s", conn.Third)
			}
			return nil
		}
	}
	conn.Made = true
	return nil
}

// clientPacket is a packet of the client's socket.
func (c *Connection) clientPacket(want *Connect, flags inet.TCPFlags) inet.Packet {
	p := inet.Packet{Proto: want.Proto, Src: c.Socket.Addr(), Dst: want.To.Addr(), SrcPort: c.Socket.Port(), DstPort: want.To.Port()}
	switch {
	case want.Proto == inet.TCP:
		p.TCPFlags = flags
	case want.Proto.IsICMP():
		p.ICMPType, p.ICMPID = want.Proto.EchoRequestType(), want.SourcePort
	}
	return p
}

// misfit is why a packet is not the reply that a client's socket waits for.
type misfit uint8

const (
	fits misfit = iota
	lostOnTheWay
	cameElsewhere
	cameFromAnother
	cameToAnother
	hasAnotherIdentifier
)

// judgeReply says whether a packet is the reply that the client's socket waits for.
func (c *Connection) judgeReply(want *Connect, j *Journey) misfit {
	p := &j.Packet
	switch {
	case j.End != EndDelivered:
		return lostOnTheWay
	case j.At != want.From:
		return cameElsewhere
	case netip.AddrPortFrom(p.Src, p.SrcPort) != want.To:
		return cameFromAnother
	case netip.AddrPortFrom(p.Dst, p.DstPort) != c.Socket || p.Proto != want.Proto:
		return cameToAnother
	case p.Proto.IsICMP() && p.ICMPID != want.SourcePort:
		return hasAnotherIdentifier
	}
	return fits
}

func (c *Connection) misfitText(want *Connect, j *Journey, m misfit) string {
	p := &j.Packet
	switch m {
	case lostOnTheWay:
		return fmt.Sprintf("the reply was %s at %s: %s", j.End, j.At, j.Why)
	case cameElsewhere:
		return fmt.Sprintf("the reply came to %s, not to the client", j.At)
	case cameFromAnother:
		return fmt.Sprintf("the reply came from %s, the client called %s", netip.AddrPortFrom(p.Src, p.SrcPort), want.To)
	case cameToAnother:
		return fmt.Sprintf("the reply came to %s %s, the client's socket is %s %s", p.Proto, netip.AddrPortFrom(p.Dst, p.DstPort),
			want.Proto, c.Socket)
	case hasAnotherIdentifier:
		return fmt.Sprintf("the reply has the identifier %d, the client sent %d", p.ICMPID, want.SourcePort)
	}
	return ""
}

// reachesServer says whether a packet of the client comes to the socket that answered it.
func (c *Connection) reachesServer(j *Journey) bool {
	p := &j.Packet
	return j.End == EndDelivered && j.At == c.Server &&
		netip.AddrPortFrom(p.Dst, p.DstPort) == c.Asked && netip.AddrPortFrom(p.Src, p.SrcPort) == c.Client
}

// judgeAnswers looks for an answer that tells the client's socket that it is refused.
func (c *Connection) judgeAnswers(want *Connect, answers []Journey) {
	for i := range answers {
		c.judgeAnswer(want, &answers[i])
	}
}

func (c *Connection) judgeAnswer(want *Connect, j *Journey) {
	p := &j.Packet
	switch {
	case j.End != EndDelivered || j.At != want.From:
		return
	case p.Proto == inet.TCP && p.TCPFlags&inet.RST != 0 && c.judgeReply(want, j) == fits:
	case p.Proto == inet.SCTP && c.judgeReply(want, j) == fits:
	case isUnreachable(p) && c.sent(want, p.Inner):
	default:
		return
	}
	c.Refused, c.RefusedBy, c.refusedBy = true, p.Src, p
}

// refusal says how the client was refused, and notes with what.
func (c *Connection) refusal() string {
	switch p := c.refusedBy; p.Proto {
	case inet.TCP:
		c.RefusedWith = "tcp-reset"
	case inet.SCTP:
		c.RefusedWith = "sctp-abort"
	default:
		c.RefusedWith = fmt.Sprintf("%s %d/%d", p.Proto, p.ICMPType, p.ICMPCode)
	}
	return fmt.Sprintf("refused by %s with %s", c.RefusedBy, c.RefusedWith)
}

// sent says whether the client's socket knows a packet that an ICMP error quotes as its own.
func (c *Connection) sent(want *Connect, p *inet.Packet) bool {
	return p != nil && p.Proto == want.Proto &&
		netip.AddrPortFrom(p.Src, p.SrcPort) == c.Socket && netip.AddrPortFrom(p.Dst, p.DstPort) == want.To
}

// isUnreachable says whether a packet is an ICMP error that ends a client's try.
func isUnreachable(p *inet.Packet) bool {
	switch p.Proto {
	case inet.ICMP:
		return p.ICMPType == inet.ICMPUnreachable
	case inet.ICMPv6:
		return p.ICMPType == inet.ICMPv6Unreachable || p.ICMPType == inet.ICMPv6ParameterProblem
	}
	return false
}
