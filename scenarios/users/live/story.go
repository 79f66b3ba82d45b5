package live

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// story is one way of an errand's last act, with the steps of its packets.
type story struct {
	probability float64
	journeys    []*network.Journey
	connection  *network.Connection // nil of a packet that is no first one
}

// result is how it ends, in words.
func (s *story) result() string {
	switch c := s.connection; {
	case c == nil && s.journeys[0].End == "": // in one host alone, there or there and back
		hops := s.journeys[0].Hops
		return string(hops[len(hops)-1].Outcome.Verdict)
	case c == nil:
		return s.journeys[0].String()
	case c.Made:
		return fmt.Sprintf("reaches %s at %s, from %s", c.Asked, c.Server, c.Client)
	default:
		return c.Why
	}
}

// made says that the connection is made.
func (s *story) made() bool { return s.connection != nil && s.connection.Made }

// storiesOf are the ways of a connection.
func storiesOf(connections []network.Connection) []story {
	out := make([]story, len(connections))
	for i := range connections {
		c := &connections[i]
		out[i] = story{c.Probability, []*network.Journey{&c.Forward, c.Back, c.Third}, c}
	}
	return out
}

// storyOf is what one host did with a packet.
func storyOf(host string, in inet.Input, o *packetsim.Outcome) story {
	return story{o.Probability, []*network.Journey{{Hops: []network.Hop{{Host: host, Input: in, Outcome: *o}}}}, nil}
}

// lines tell a story, rule by rule.
func (s story) lines() []string {
	out := []string{fmt.Sprintf("with the chance %.4g:", s.probability)}
	for h := range s.journeys[0].Hops {
		hop := &s.journeys[0].Hops[h]
		out = append(out, fmt.Sprintf("  %s: %s", hop.Host, hop.Input))
		for k := range hop.Outcome.Steps {
			step := &hop.Outcome.Steps[k]
			backend := step.Dialect
			if backend != "" {
				backend += " "
			}
			out = append(out, strings.TrimRight(fmt.Sprintf("    %s%s  %s", backend, step, step.Text()), " "))
		}
	}
	return append(out, "  "+s.result())
}

// summary tells a way by its hosts.
func (s story) summary() string {
	if s.connection == nil && s.journeys[0].End == "" {
		var hops []string
		for i := range s.journeys[0].Hops {
			hops = append(hops, s.journeys[0].Hops[i].Outcome.Summary())
		}
		return fmt.Sprintf("%.4g: %s: %s", s.probability, s.journeys[0].Hops[0].Host, strings.Join(hops, "; the reply: "))
	}
	text := fmt.Sprintf("%.4g: %s", s.probability, s.journeys[0])
	if s.journeys[0].End == network.EndDelivered {
		text += "; " + s.result()
	}
	return text
}
