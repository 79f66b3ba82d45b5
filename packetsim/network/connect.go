package network

import (
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
)

// Connect is a client that opens a connection, or sends a first datagram or echo request.
type Connect struct {
	From  string // the client's host
	Proto packetsim.Proto
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

	draws []bool
}

// Connect lets a client connect and says what came of it, once for every way that chance can
// fall. The network is unchanged afterwards.
func (n *Network) Connect(c Connect) ([]Connection, error) {
	if err := n.checkConnect(&c); err != nil {
		return nil, err
	}
	var connections []Connection
	var last Connection
	err := n.branches(func(carrier *carrier) (err error) {
		last, err = carrier.connect(c)
		return err
	}, func(probability float64, draws []bool) {
		last.Probability, last.draws = probability, draws
		connections = append(connections, last)
	})
	return connections, err
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
	case c.Proto == packetsim.ICMP && !c.To.Addr().Is4() || c.Proto == packetsim.ICMPv6 && c.To.Addr().Is4():
		return fmt.Errorf("connect from %s to %s: %s is of the other address family", c.From, c.To, c.Proto)
	}
	if c.SourcePort == 0 {
		c.SourcePort = defaultSourcePort
	}
	return nil
}

// socket is the client's own address.
func (n *Network) socket(c Connect) (netip.AddrPort, error) {
	addr := c.Source
	if !addr.IsValid() {
		var err error
		if addr, err = n.hosts[c.From].SourceFor(c.To.Addr()); err != nil {
			return netip.AddrPort{}, err
		}
	}
	port := uint16(0)
	if c.Proto.HasPorts() {
		port = c.SourcePort
	}
	return netip.AddrPortFrom(addr, port), nil
}

// connect makes one try.
func (c *carrier) connect(want Connect) (Connection, error) {
	var conn Connection
	var err error
	if conn.Socket, err = c.network.socket(want); err != nil {
		conn.Why = err.Error()
		return conn, nil
	}
	if conn.Forward, err = c.send(want.From, conn.clientPacket(want, packetsim.SYN)); err != nil {
		return conn, err
	}
	if conn.Forward.End != EndDelivered {
		conn.judgeAnswers(want, conn.Forward.Answers)
		if !conn.Refused {
			conn.Why = fmt.Sprintf("the first packet was %s at %s: %s", conn.Forward.End, conn.Forward.At, conn.Forward.Why)
		}
		return conn, nil
	}
	asked := &conn.Forward.Packet
	conn.Server = conn.Forward.At
	conn.Asked, conn.Client = netip.AddrPortFrom(asked.Dst, asked.DstPort), netip.AddrPortFrom(asked.Src, asked.SrcPort)
	answer, refuses := c.network.hosts[conn.Server].answer(asked)
	back, err := c.send(conn.Server, answer)
	if err != nil {
		return conn, err
	}
	conn.Back = &back
	if refuses {
		conn.judgeAnswers(want, []Journey{back})
		if !conn.Refused {
			conn.Why = fmt.Sprintf("%s refused, and the client does not learn it: %s", conn.Server, back)
		}
		return conn, nil
	}
	return conn, c.finish(want, &conn)
}

// finish judges the server's answer, and for TCP sends the client's ACK.
func (c *carrier) finish(want Connect, conn *Connection) error {
	if conn.Why = conn.judgeReply(want, conn.Back); conn.Why != "" {
		return nil
	}
	if want.Proto == packetsim.TCP {
		third, err := c.send(want.From, conn.clientPacket(want, packetsim.ACK))
		if err != nil {
			return err
		}
		conn.Third = &third
		if !conn.reachesServer(&third) {
			conn.Why = fmt.Sprintf("the client's ACK does not reach the server's socket: %s", third)
			return nil
		}
	}
	conn.Made = true
	return nil
}

// clientPacket is a packet of the client's socket.
func (c *Connection) clientPacket(want Connect, flags packetsim.TCPFlags) packetsim.Packet {
	p := packetsim.Packet{Proto: want.Proto, Src: c.Socket.Addr(), Dst: want.To.Addr(), SrcPort: c.Socket.Port(), DstPort: want.To.Port()}
	switch {
	case want.Proto == packetsim.TCP:
		p.TCPFlags = flags
	case want.Proto.IsICMP():
		p.ICMPType, p.ICMPID = want.Proto.EchoRequestType(), want.SourcePort
	}
	return p
}

// judgeReply says why a packet is not the reply that the client's socket waits for; empty if it is.
func (c *Connection) judgeReply(want Connect, j *Journey) string {
	p := &j.Packet
	from, to := netip.AddrPortFrom(p.Src, p.SrcPort), netip.AddrPortFrom(p.Dst, p.DstPort)
	switch {
	case j.End != EndDelivered:
		return fmt.Sprintf("the reply was %s at %s: %s", j.End, j.At, j.Why)
	case j.At != want.From:
		return fmt.Sprintf("the reply came to %s, not to the client", j.At)
	case from != want.To:
		return fmt.Sprintf("the reply came from %s, the client called %s", from, want.To)
	case to != c.Socket || p.Proto != want.Proto:
		return fmt.Sprintf("the reply came to %s %s, the client's socket is %s %s", p.Proto, to, want.Proto, c.Socket)
	case p.Proto.IsICMP() && p.ICMPID != want.SourcePort:
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
func (c *Connection) judgeAnswers(want Connect, answers []Journey) {
	for i := range answers {
		j := &answers[i]
		p := &j.Packet
		switch {
		case j.End != EndDelivered || j.At != want.From:
		case p.Proto == packetsim.TCP && p.TCPFlags&packetsim.RST != 0 && c.judgeReply(want, j) == "":
			c.refuse(p.Src, "tcp-reset")
		case p.Proto == packetsim.SCTP && c.judgeReply(want, j) == "":
			c.refuse(p.Src, "sctp-abort")
		case isUnreachable(p) && c.sent(want, p.Inner):
			c.refuse(p.Src, fmt.Sprintf("%s %d/%d", p.Proto, p.ICMPType, p.ICMPCode))
		}
	}
}

func (c *Connection) refuse(by netip.Addr, with string) {
	c.Refused, c.RefusedBy, c.RefusedWith = true, by, with
	c.Why = fmt.Sprintf("refused by %s with %s", by, with)
}

// sent says whether the client's socket knows a packet that an ICMP error quotes as its own.
func (c *Connection) sent(want Connect, p *packetsim.Packet) bool {
	return p != nil && p.Proto == want.Proto &&
		netip.AddrPortFrom(p.Src, p.SrcPort) == c.Socket && netip.AddrPortFrom(p.Dst, p.DstPort) == want.To
}

// isUnreachable says whether a packet is an ICMP error that ends a client's try.
func isUnreachable(p *packetsim.Packet) bool {
	switch p.Proto {
	case packetsim.ICMP:
		return p.ICMPType == packetsim.ICMPUnreachable
	case packetsim.ICMPv6:
		return p.ICMPType == packetsim.ICMPv6Unreachable || p.ICMPType == packetsim.ICMPv6ParameterProblem
	}
	return false
}
