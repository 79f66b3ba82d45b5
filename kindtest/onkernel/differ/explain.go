package differ

import (
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// explain describes a packet that the kernel took where no outcome goes.
func (j *judging) explain(from string, p inet.Packet, outcomes []packetsim.Outcome, obs *observation) {
	if j.hashesDrawn(obs) || j.tellsDrawn(&p) || j.remembersLost(&p) || j.countsByChance() {
		return
	}
	o := &outcomes[0]
	for n := range outcomes {
		if commonPrefix(stepTexts(&outcomes[n], j.c.Dialect), obs.Steps) > commonPrefix(stepTexts(o, j.c.Dialect), obs.Steps) {
			o = &outcomes[n]
		}
	}
	j.disagree(differenceOf(stepTexts(o, j.c.Dialect), replySteps(o, j.c.Dialect), obs), "%s %s (%d outcomes; the nearest: %s %s %s)\n%s",
		from, packetText(&p), len(outcomes), o.Verdict, o.To, o.Why,
		toolrun.Diff(obs.lines(), j.lines(stepTexts(o, j.c.Dialect), replySteps(o, j.c.Dialect), seenOf(o))))
}

// explainAnswer describes an answer of the node's stack.
func (j *judging) explainAnswer(answer *inet.Packet, to *packetsim.Outcome, outcomes []packetsim.Outcome, obs *observation) {
	if j.hashesDrawn(obs) || j.tellsDrawn(answer) || j.remembersLost(answer) || j.countsByChance() {
		return
	}
	o := &outcomes[0]
	both := withAnswer(to, answer, o)
	j.disagree("answer", "the node's answer %s (%d outcomes; the first: %s %s %s)\n%s", packetText(answer), len(outcomes),
		o.Verdict, o.To, o.Why,
		toolrun.Diff(obs.lines(), j.lines(obs.Steps, replySteps(both, j.c.Dialect), seenOf(both))))
}

// differenceOf is a short name for what differs, which a shrunk case must keep.
func differenceOf(steps, replies []string, obs *observation) string {
	n := commonPrefix(steps, obs.Steps)
	switch {
	case n < len(steps) && n < len(obs.Steps):
		return "steps differ"
	case n < len(steps):
		return "steps missing in the kernel"
	case n < len(obs.Steps):
		return "steps missing in the walk"
	case len(replies) != len(obs.Replies) || commonPrefix(replies, obs.Replies) < len(replies):
		return "replies"
	}
	return "packets"
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lines are all of an observation.
func (o *observation) lines() []string {
	var lines []string
	lines = append(lines, o.Steps...)
	for _, r := range o.Replies {
		lines = append(lines, "reply "+r)
	}
	for _, s := range o.Seen {
		lines = append(lines, "seen "+s)
	}
	return lines
}

func (j *judging) lines(steps, replies []string, out []seen) []string {
	o := observation{Steps: steps, Replies: replies}
	for i := range out {
		p := j.realPacket(out[i].packet)
		o.Seen = append(o.Seen, seenText(out[i].place, &p))
	}
	return o.lines()
}
