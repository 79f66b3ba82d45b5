package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// TooLong is the cause of a packet of a connection that a host on its way finds too long, while its sender, a host of that name, does not
// hear of it; false if the packet ended otherwise. A sender that hears of it sends shorter ones.
func (w World) TooLong(j *network.Journey, sender string) (Cause, bool) {
	if j.End == network.EndDelivered || len(j.Hops) == 0 {
		return Cause{}, false
	}
	last := &j.Hops[len(j.Hops)-1]
	if last.Outcome.Reason != packetsim.ReasonTooLong {
		return Cause{}, false
	}
	hears := func(a network.Journey) bool { return a.End == network.EndDelivered && a.At == sender }
	if slices.ContainsFunc(j.Answers, hears) {
		return Cause{}, false
	}
	at := setting{host: last.Host, in: last.Input, outcome: &last.Outcome, node: w.node(last.Host), about: thePacket}
	c := at.tooLong()
	c.Says = fmt.Sprintf("A packet of %d bytes is longer than the MTU of %s of %s, and %s does not hear of it.", last.Input.Size(),
		last.Outcome.Out, last.Host, sender)
	for i := range j.Answers {
		if a := &j.Answers[i]; len(a.Hops) > 0 {
			c = c.silenced(a, ofJourney(a, w, theError))
			break
		}
	}
	return c, true
}

// theError is the ICMP error that a host answers a packet with.
const theError who = "the ICMP error that says so"

// silenced adds what stopped the answer to a packet that was too long: to fix that is enough.
func (c Cause) silenced(answer *network.Journey, by Cause) Cause {
	c.Says = strings.TrimSuffix(c.Says, ".") + ": " + strings.ToLower(by.Says[:1]) + by.Says[1:]
	if by.Remedy != "" && answer.Hops[len(answer.Hops)-1].Host == c.Host {
		c.Remedy, c.Owner = by.Remedy, by.Owner
	}
	return c
}
