package differ

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// quietly holds that a walk which tells nothing of the rules, and therefore passes over those that do nothing, has the same outcomes.
func (j *judging) quietly(in inet.Input, outcomes []packetsim.Outcome) {
	quiet, err := j.host.Verdicts(in)
	if err != nil {
		j.disagree("quiet", "%s: %v", in.Full(), err)
		return
	}
	if told, quiet := fatesOf(outcomes), fatesOf(quiet); !slices.Equal(told, quiet) {
		j.disagree("quiet", "%s:\n%q with steps\n%q without", in.Full(), told, quiet)
	}
}

// fatesOf are outcomes as texts, without how they are told.
func fatesOf(outcomes []packetsim.Outcome) []string {
	texts := make([]string, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		texts[i] = fmt.Sprintf("%g %s %s %s %+v %t %s %s %s %s %d", o.Probability, o.Verdict, o.RejectWith, o.To, o.Final, o.Masqueraded,
			o.DNAT, o.Out, o.NextHop, o.Why, len(o.Replies))
	}
	return texts
}

// pick finds the outcome that the kernel took, -1 if there is none. While packets are awaited, an answer of the node's sockets has to be
// there too. One that is lost on its way to them, as the second connection of a port that was drawn twice, looks the same until then.
func (j *judging) pick(outcomes []packetsim.Outcome, obs *observation, awaited bool) int {
	complete := slices.IndexFunc(outcomes, func(o packetsim.Outcome) bool { return j.fits(&o, obs, true) })
	unanswered := slices.IndexFunc(outcomes, func(o packetsim.Outcome) bool { return j.fits(&o, obs, false) && !j.fits(&o, obs, true) })
	switch {
	case unanswered < 0 || complete >= 0 && !awaited:
		return complete
	case awaited:
		return -1
	}
	return unanswered
}

func (j *judging) fits(o *packetsim.Outcome, obs *observation, awaited bool) bool {
	if !slices.Equal(stepTexts(o, j.c.Dialect), obs.Steps) {
		return false
	}
	if _, answers := socketAnswer(o); answers {
		made := replySteps(o, j.c.Dialect)
		return someReplies(made, obs.Replies, j.c.Dialect) && (!awaited || len(obs.Replies) > len(made))
	}
	return sameReplies(replySteps(o, j.c.Dialect), obs.Replies, j.c.Dialect) && j.sameSeen(seenOf(o), obs.Seen)
}
