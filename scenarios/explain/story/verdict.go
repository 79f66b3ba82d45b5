package story

import (
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// Verdict is what became of a packet, in a word.
type Verdict string

// The verdicts.
const (
	Passes   Verdict = "passes"   // the host lets it pass; of a connection: it is made
	Rejected Verdict = "rejected" // somebody on its way refuses it and says so
	Dropped  Verdict = "dropped"
	Lost     Verdict = "lost" // it or its answer does not arrive, though no rule stops it
	NotKnown Verdict = "not known"
)

// verdictOf is that of a way through one host.
func verdictOf(way *packetsim.Outcome) Verdict {
	switch {
	case way.Verdict == packetsim.Unknown, len(assumed(way)) > 0:
		return NotKnown
	case way.Verdict == packetsim.Reject:
		return Rejected
	case way.Verdict == packetsim.Drop:
		return Dropped
	}
	return Passes
}

// verdictOfConnection is that of a connection there and back.
func verdictOfConnection(c *network.Connection) Verdict {
	hops := c.Forward.Hops
	switch {
	case c.Made:
		return Passes
	case c.Refused:
		return Rejected
	case c.Server != "" || len(hops) == 0 || hops[len(hops)-1].Outcome.Verdict == packetsim.Accept:
		return Lost
	}
	return verdictOf(&hops[len(hops)-1].Outcome)
}

// verdictOfJourney is that of a packet whose answer nobody waits for.
func verdictOfJourney(j *network.Journey) Verdict {
	if len(j.Hops) == 0 {
		return Lost
	}
	last := verdictOf(&j.Hops[len(j.Hops)-1].Outcome)
	if last == Passes && j.End != "" && j.End != network.EndDelivered {
		return Lost
	}
	return last
}
