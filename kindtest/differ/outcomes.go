package differ

import (
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
)

// pick finds the outcome that the kernel took, -1 if there is none. While packets are awaited, an answer of the node's sockets has to be
// there too.
func (j *judging) pick(outcomes []packetsim.Outcome, obs *observation, awaited bool) int {
	return slices.IndexFunc(outcomes, func(o packetsim.Outcome) bool { return j.fits(&o, obs, awaited) })
}

func (j *judging) fits(o *packetsim.Outcome, obs *observation, awaited bool) bool {
	if !slices.Equal(stepTexts(o, j.c.Dialect), obs.Steps) {
		return false
	}
	if _, answers := socketAnswer(o); answers {
		return !awaited || len(obs.Replies) > 0
	}
	return slices.Equal(replySteps(o, j.c.Dialect), obs.Replies) && j.sameSeen(seenOf(o), obs.Seen)
}
