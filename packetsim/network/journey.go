package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
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
	Packet inet.Packet
	// Why says in words why a packet that was not delivered was not.
	Why string
	// Lost says where a packet that ended with EndLost was last seen; nil for every other end, and where no text is made.
	Lost *Loss
	// Answers are the journeys of the packets that hosts on the way made because of this one.
	Answers []Journey
	// Copies are the journeys of the copies that TEE made of the packet on the way.
	Copies []Journey

	// What the outcome in the host At says, and whether one of those on the way was SourceTranslated.
	rejectWith, reason string
	sourceTranslated   bool

	draws []bool
}

// Hop is what one host did with a packet.
type Hop struct {
	Host    string
	Input   inet.Input
	Outcome packetsim.Outcome
}

// Any says whether a host is one of those on the way of the packet, of its copies or of the answers to it.
func (j *Journey) Any(is func(host string) bool) bool {
	some := func(more []Journey) bool { return slices.ContainsFunc(more, func(j Journey) bool { return j.Any(is) }) }
	return slices.ContainsFunc(j.Hops, func(hop Hop) bool { return is(hop.Host) }) || some(j.Answers) || some(j.Copies)
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
func (n *Network) Send(from string, p inet.Packet) ([]Journey, error) {
	c := &carrier{network: n, traces: true}
	return c.explore(from, &p)
}

// explore sends a packet once for every way that chance can fall.
func (c *carrier) explore(from string, p *inet.Packet) ([]Journey, error) {
	var journeys []Journey
	var last *Journey
	err := c.branches(func(c *carrier) error {
		last = &Journey{}
		return c.send(last, from, p)
	}, func(probability float64, draws []bool) {
		last.Probability, last.draws = probability, slices.Clone(draws)
		journeys = append(journeys, *last)
	})
	return journeys, err
}

// send follows a packet of a host.
func (c *carrier) send(j *Journey, from string, p *inet.Packet) error {
	h := c.network.hosts[from]
	if h == nil {
		return fmt.Errorf("network: there is no host %s", from)
	}
	at := c.push()
	defer c.pop()
	at.in = inet.Input{Packet: *p, Local: true}
	if err := c.step(h, at); err != nil {
		return err
	}
	return c.follow(j, h, at)
}

// step lets a host do its part.
func (c *carrier) step(h *Host, at *step) error {
	c.enter(h)
	var err error
	switch {
	case c.memory != nil:
		at.outcome = packetsim.Outcome{Steps: c.memory.steps.take(usualSteps)}
		err = h.StepsInto(&at.in, &c.recorder, &at.outcome)
	case c.traces:
		at.outcome = packetsim.Outcome{}
		err = h.StepInto(&at.in, &c.recorder, &at.outcome)
	default:
		err = h.Pass(&at.in, &c.recorder, &at.outcome)
	}
	if err != nil {
		return fmt.Errorf("network: host %s: packet %s: %w", h.Name(), at.in, err)
	}
	return nil
}

// follow goes on from a host that has done its part.
func (c *carrier) follow(j *Journey, h *Host, at *step) error {
	for range maxHops {
		j.At = h.Name()
		if err := c.arrive(j, h, at); err != nil || j.End != "" {
			j.end(&at.outcome)
			return err
		}
		out := leaves(&at.outcome)
		to := h.deliver(out, at.outcome.NextHop)
		if to == nil {
			j.End = EndLost
			j.end(&at.outcome)
			if c.traces {
				j.Lost = h.lost(out, at.outcome.NextHop)
				j.Why = j.Lost.String()
			}
			return nil
		}
		h = to.host
		at.in = inet.Input{Packet: at.outcome.Packet, In: to.Device, NextHop: at.outcome.NextHop}
		at.in.Mark, at.in.Socket = 0, nil // they are the host's own and do not cross a wire
		if err := c.step(h, at); err != nil {
			return err
		}
	}
	j.End, j.Packet = EndLooped, at.in.Packet
	if c.traces {
		j.Why = fmt.Sprintf("the packet went through %d hosts", maxHops)
	}
	return nil
}

// end writes down the outcome of the host that the packet ended in.
func (j *Journey) end(o *packetsim.Outcome) {
	j.Packet, j.rejectWith, j.reason = o.Packet, o.RejectWith, o.Why
}

// usualHops is how many hosts a packet between pods of two nodes comes to.
const usualHops = 4

// hops is room for the hosts of a journey.
func (c *carrier) hops() []Hop {
	if c.memory != nil {
		return c.memory.hops.take(2 * usualHops)
	}
	return make([]Hop, 0, usualHops)
}

// arrive writes down what a host did with the packet, and follows what the host answered.
func (c *carrier) arrive(j *Journey, h *Host, at *step) error {
	o := &at.outcome
	j.sourceTranslated = j.sourceTranslated || o.SourceTranslated
	if c.traces {
		if j.Hops == nil {
			j.Hops = c.hops()
		}
		j.Hops = append(j.Hops, Hop{Host: j.At, Input: at.in, Outcome: *o})
	}
	for i := range o.Replies {
		if err := c.answer(j, h, &o.Replies[i]); err != nil {
			return err
		}
	}
	if j.End = ended(o); j.End != "" && j.End != EndDelivered && c.traces {
		j.Why = why(o)
	}
	return nil
}

// answer follows a packet that a host made, or a copy, which has left that host already.
func (c *carrier) answer(j *Journey, h *Host, reply *packetsim.Reply) error {
	at := c.push()
	defer c.pop()
	at.in, at.outcome = inet.Input{Packet: reply.Packet, Local: true}, reply.Outcome
	to := &j.Answers
	if reply.Copy {
		to = &j.Copies
	}
	*to = append(*to, Journey{})
	return c.follow(&(*to)[len(*to)-1], h, at)
}

// leaves is the device that an accepted packet leaves the host by: the port of a bridge, if there is one to tell.
func leaves(o *packetsim.Outcome) string {
	if o.Port != "" {
		return o.Port
	}
	return o.Out
}

// ended says how the packet's way ends in this host, if it does.
func ended(o *packetsim.Outcome) End {
	switch {
	case o.Verdict == packetsim.Drop:
		return EndDropped
	case o.Verdict == packetsim.Reject:
		return EndRejected
	case o.To == packetsim.ToLocal:
		return EndDelivered
	}
	return ""
}

// why names the reason or the rule that decided against a packet.
func why(o *packetsim.Outcome) string {
	switch {
	case o.Reason != "":
		return o.Why
	case len(o.Steps) > 0:
		last := o.Steps[len(o.Steps)-1]
		return strings.TrimSpace(last.String() + " " + last.Text())
	}
	return string(o.Verdict)
}
