package network

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
)

// End is how a packet's way through a network ended.
type End string

// The ends of a journey.
const (
	EndDelivered End = "delivered" // to a socket of the host At
	EndDropped   End = "dropped"   // by the host At
	EndRejected  End = "rejected"  // by the host At, which answered with an error
	EndLost      End = "lost"      // the host At sent it to nobody
	EndLooped    End = "looped"    // it did not end within maxHops hosts
)

// maxHops ends a packet that goes in circles without losing hops of its TTL. It is beyond the
// largest TTL.
const maxHops = 300

// Journey is one packet's way through a network.
type Journey struct {
	Probability float64
	Hops        []Hop
	End         End
	// At is the host that the packet ended in.
	At string
	// Packet is the packet as it was there.
	Packet packetsim.Packet
	// Why says in words why a packet that was not delivered was not.
	Why string
	// Answers are the journeys of the packets that hosts on the way made because of this one.
	Answers []Journey

	draws []bool
}

// Hop is what one host did with a packet.
type Hop struct {
	Host    string
	Input   packetsim.Input
	Outcome packetsim.Outcome
}

// String is the hosts on the way and the end: "client -> node1 -> pod: delivered".
func (j Journey) String() string {
	var hosts []string
	for _, hop := range j.Hops {
		hosts = append(hosts, hop.Host)
	}
	text := strings.Join(hosts, " -> ") + ": " + string(j.End)
	if j.Why != "" {
		text += " (" + j.Why + ")"
	}
	return text
}

// Send sends a packet from a host and follows it: one journey for every way that chance can
// fall. A packet without a source address gets one as an unbound socket would. The network is
// unchanged afterwards.
func (n *Network) Send(from string, p packetsim.Packet) ([]Journey, error) {
	return n.explore(func(c *carrier) (Journey, error) { return c.send(from, p) })
}

// explore makes the same journey once for every way that chance can fall.
func (n *Network) explore(walk func(*carrier) (Journey, error)) ([]Journey, error) {
	var journeys []Journey
	var last Journey
	err := n.branches(func(c *carrier) (err error) {
		last, err = walk(c)
		return err
	}, func(probability float64, draws []bool) {
		last.Probability, last.draws = probability, draws
		journeys = append(journeys, last)
	})
	return journeys, err
}

// carrier takes packets from host to host, with chance falling one way. What hosts remember of
// the packets is kept.
type carrier struct {
	network *Network
	chance  packetsim.Chance
}

func (c *carrier) send(from string, p packetsim.Packet) (Journey, error) {
	in := packetsim.Input{Packet: p, Local: true}
	outcome, err := c.step(from, in)
	if err != nil {
		return Journey{}, err
	}
	return c.follow(from, in, outcome)
}

func (c *carrier) step(host string, in packetsim.Input) (packetsim.Outcome, error) {
	h := c.network.hosts[host]
	if h == nil {
		return packetsim.Outcome{}, fmt.Errorf("network: there is no host %s", host)
	}
	outcome, err := h.Step(in, c.chance)
	if err != nil {
		return packetsim.Outcome{}, fmt.Errorf("network: host %s: packet %s: %w", host, in, err)
	}
	return outcome, nil
}

// follow goes on from a host that has done its part.
func (c *carrier) follow(host string, in packetsim.Input, outcome packetsim.Outcome) (Journey, error) {
	var j Journey
	for len(j.Hops) < maxHops {
		j.Hops = append(j.Hops, Hop{Host: host, Input: in, Outcome: outcome})
		j.At, j.Packet = host, outcome.Packet
		if err := c.answers(&j, host, outcome.Replies); err != nil {
			return j, err
		}
		if j.End, j.Why = ended(&outcome); j.End != "" {
			return j, nil
		}
		to, why := c.network.deliver(leaves(host, &outcome), outcome.NextHop)
		if why != "" {
			j.End, j.Why = EndLost, why
			return j, nil
		}
		host, in = to.Host, packetsim.Input{Packet: outcome.Packet, In: to.Device, NextHop: outcome.NextHop}
		in.Mark, in.Socket = 0, nil // they are the host's own and do not cross a wire
		var err error
		if outcome, err = c.step(host, in); err != nil {
			return j, err
		}
	}
	j.End, j.Why = EndLooped, fmt.Sprintf("the packet went through %d hosts", maxHops)
	return j, nil
}

// leaves is where an accepted packet leaves the host: by the port of a bridge, if there is one to tell.
func leaves(host string, o *packetsim.Outcome) Port {
	if o.Port != "" {
		return Port{host, o.Port}
	}
	return Port{host, o.Out}
}

// ended says whether the packet goes no further than this host.
func ended(o *packetsim.Outcome) (end End, reason string) {
	switch {
	case o.Verdict == packetsim.Drop:
		return EndDropped, why(o)
	case o.Verdict == packetsim.Reject:
		return EndRejected, why(o)
	case o.To == packetsim.ToLocal:
		return EndDelivered, ""
	}
	return "", ""
}

// why names the reason or the rule that decided against a packet.
func why(o *packetsim.Outcome) string {
	switch {
	case o.Reason != "":
		return o.Reason
	case len(o.Steps) > 0:
		last := o.Steps[len(o.Steps)-1]
		return strings.TrimSpace(last.String() + " " + last.Text)
	}
	return string(o.Verdict)
}

// answers carries the packets that a host made, which have left that host already.
func (c *carrier) answers(j *Journey, host string, replies []packetsim.Reply) error {
	for _, reply := range replies {
		answer, err := c.follow(host, packetsim.Input{Packet: reply.Packet, Local: true}, reply.Outcome)
		if err != nil {
			return err
		}
		j.Answers = append(j.Answers, answer)
	}
	return nil
}
