package differ

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// verdict is what comparing a case gave.
type verdict struct {
	// Disagreement is empty if both sides agree. Kind is the part of it that shrinking keeps.
	Disagreement string
	Kind         string
	// Refused says what ended the case early since the walk does not imitate it.
	Refused string
	// RulesRefused: both sides refused the ruleset, with the same words.
	RulesRefused   bool
	Packets, Steps int
	Draws          []draw
	Answer         *kernelAnswer
	// Native are the expressions of native rules by "TABLE:CHAIN:NUMBER".
	Native map[string][]string
}

// judging is one comparison on its way.
type judging struct {
	c      *walkCase
	family netfilter.Family
	real   kernel
	fake   *fakeipt.Kernel
	host   *packetsim.Host
	// ports are the source ports that the kernel chose for those that the walk chose.
	ports   map[conversation]uint16
	lost    []uint16 // the ports of the walk for which the kernel has drawn ports that were not learned
	results []result
	// apart says that the kernel has gone a way that the walk could not follow, so that the states differ.
	apart bool
	v     *verdict
}

// result is what became of a send in the walk.
type result struct {
	packet inet.Packet // as it came out, or as it was sent
	at     string      // the place where it came out, "" if it did not
	from   string
	sent   inet.Packet
}

// mostPlays is how often a case is played of which the machine may have spoilt the answer.
const mostPlays = 5

// judge runs a case on both sides. Errors are of the comparison itself; a disagreement is none. One that the machine may be to blame for
// counts only if it is there in a play that was not disturbed; else the case has ended early.
func judge(c *walkCase, real kernel) (*verdict, error) {
	for play := 1; ; play++ {
		v, err := judgeOnce(c, real)
		if err != nil || v.Disagreement == "" {
			return v, err
		}
		why := real.disturbed()
		if why == "" {
			return v, nil
		}
		if play == mostPlays {
			v.Refused, v.Disagreement, v.Kind = "disturbed: "+why, "", ""
			return v, nil
		}
	}
}

// judgeOnce is a play of a case.
func judgeOnce(c *walkCase, real kernel) (*verdict, error) {
	j := &judging{c: c, real: real, ports: map[conversation]uint16{}, v: &verdict{Answer: &kernelAnswer{}}}
	var err error
	if j.family, err = c.family(); err != nil {
		return nil, err
	}
	if err := j.load(); err != nil || j.done() {
		return j.v, err
	}
	if j.host, err = newHost(j.fake); err != nil {
		return nil, err
	}
	for i := range c.Sends {
		if err := j.send(&c.Sends[i]); err != nil {
			return nil, fmt.Errorf("send %d: %w", i+1, err)
		}
		if j.v.Disagreement != "" {
			j.v.Disagreement = fmt.Sprintf("send %d: %s", i+1, j.v.Disagreement)
		}
		if j.done() {
			break
		}
	}
	return j.v, j.end()
}

func (j *judging) done() bool { return j.v.Disagreement != "" || j.v.Refused != "" || j.v.RulesRefused }

func (j *judging) disagree(kind, format string, args ...any) {
	j.v.Kind, j.v.Disagreement = kind, kind+": "+fmt.Sprintf(format, args...)
}

// load gives the rules to both sides.
func (j *judging) load() error {
	if j.c.NFT != "" {
		return j.loadNative()
	}
	run, beside, err := j.real.begin(j.c)
	if err != nil {
		return err
	}
	j.v.Answer.Restore, j.v.Answer.OtherRestore = run, beside
	fake, ours, oursOther := newFake(j.c, j.family)
	j.fake = fake
	switch {
	case run != ours:
		j.disagree("restore", "the real tool: %+v, ours: %+v", run, ours)
	case beside != oursOther:
		j.disagree("restore", "the real tool of the other dialect: %+v, ours: %+v", beside, oursOther)
	case run.Status != 0 || beside.Status != 0:
		j.v.RulesRefused = true
	}
	return nil
}

// send sends a packet on both sides.
func (j *judging) send(s *send) error {
	if s.Forget {
		j.host.DeleteConntrack(func(conntrack.Entry) bool { return true })
		j.results = append(j.results, result{})
		clear(j.ports)
		j.v.Answer.Sends = append(j.v.Answer.Sends, observation{})
		return j.real.forget()
	}
	from, p, err := j.resolve(s)
	if err != nil {
		return err
	}
	complete(&p)
	in := input(from, p)
	outcomes, err := j.host.Walk(in)
	if err != nil {
		j.v.Refused = refusalReason(err)
		return nil
	}
	if j.quietly(in, outcomes); j.v.Disagreement != "" {
		return nil
	}
	if slices.ContainsFunc(outcomes, j.copyComesIn) {
		j.v.Refused = "a copy comes in again, which looks like the packet, and which the node may answer"
		return nil
	}
	obs, err := j.real.send(from, j.realPacket(p), func(o *observation) bool { return j.pick(outcomes, o, true) >= 0 })
	if err != nil {
		return err
	}
	j.v.Packets++
	j.v.Steps += len(obs.Steps) + len(obs.Replies)
	j.v.Answer.Sends = append(j.v.Answer.Sends, *obs)
	n := j.pick(outcomes, obs, false)
	if n < 0 {
		twice, err := j.drawsTwice(in, outcomes, obs)
		if err == nil && !twice {
			j.explain(from, p, outcomes, obs)
		}
		return err
	}
	if n, err = j.settle(outcomes, obs, n); err != nil {
		return err
	}
	return j.keep(from, p, in, outcomes, n, obs)
}

// copyComesIn says whether a copy of the packet, or of one that the node makes, goes to the node itself. In nft that is so of a copy of
// it as well, which nothing tells from the node's own copy of the packet.
func (j *judging) copyComesIn(o packetsim.Outcome) bool {
	return slices.ContainsFunc(o.Replies, func(r packetsim.Reply) bool {
		if r.Copy && !r.Looped && (r.Outcome.Passed.Has(j.family, "PREROUTING") || j.c.Dialect == netfilter.NFT && isHeard(&r.Outcome)) {
			return true
		}
		return j.copyComesIn(r.Outcome)
	})
}

// isHeard says whether the node hears the packet that it sends.
func isHeard(o *packetsim.Outcome) bool {
	return slices.ContainsFunc(o.Replies, func(r packetsim.Reply) bool { return r.Looped })
}

// input is the packet on its way into the walk, with what the lab knows of its sender.
func input(from string, p inet.Packet) inet.Input {
	in := inet.Input{Packet: p}
	switch from {
	case clientPlace:
		in.In = clientDev
	case serverPlace:
		in.In = serverDev
	default:
		in.Local, in.Socket = true, &inet.Socket{Mark: p.Mark, Raw: true} // of root
		return in
	}
	_, link := frameTo(from, p.Dst)
	in.MAC, in.LinkType, in.Socket = inet.MAC(sideMAC(from)), link, &inet.Socket{None: true}
	return in
}

// keep makes the walk take the kernel's way, and lets the node's sockets answer.
func (j *judging) keep(from string, p inet.Packet, in inet.Input, outcomes []packetsim.Outcome, n int, obs *observation) error {
	chance := newGuide(outcomes, n)
	o, err := j.host.Step(in, chance)
	if err != nil {
		return err
	}
	j.v.Draws = append(j.v.Draws, chance.draws...)
	r := result{packet: o.Packet, from: from, sent: p}
	if o.To == packetsim.ToForward {
		r.at = placeOf(o.Out)
	}
	if o.To == packetsim.ToLocal {
		r.at = nodePlace
	}
	j.results = append(j.results, r)
	answer, answers := socketAnswer(&outcomes[n])
	if !answers {
		j.learn(seenOf(&o), obs.Seen)
	} else if err := j.answer(&answer, &o, obs); err != nil {
		return err
	}
	j.forgetPorts()
	if j.drawnTwice() {
		j.endOfPorts()
		return nil
	}
	return j.learnUnseen()
}

// answer walks what the node's own stack says to a packet that no socket waits for. Before it the walk of that packet may have made copies.
func (j *judging) answer(answer *inet.Packet, to *packetsim.Outcome, obs *observation) error {
	if err := j.learnUnseen(); err != nil { // the answer may go to a port that the kernel chose
		return err
	}
	complete(answer)
	in := inet.Input{Packet: *answer, Local: true}
	in.Socket = &inet.Socket{Kernel: true}
	if answer.Proto == inet.TCP && answer.Is6() {
		in.Socket = &inet.Socket{None: true} // tcp_v6_send_response does not charge the reset to the socket that sends it
	}
	outcomes, err := j.host.Walk(in)
	if err != nil {
		j.v.Refused, j.apart = "answer of the node: "+refusalReason(err), true
		return nil
	}
	if slices.ContainsFunc(outcomes, j.copyComesIn) {
		j.v.Refused, j.apart = "answer of the node: a copy comes in again", true
		return nil
	}
	for n := range outcomes {
		o := withAnswer(to, answer, &outcomes[n])
		if !sameReplies(replySteps(o, j.c.Dialect), obs.Replies, j.c.Dialect) || !j.sameSeen(seenOf(o), obs.Seen) {
			continue
		}
		j.learn(seenOf(o), obs.Seen)
		chance := newGuide(outcomes, n)
		_, err := j.host.Step(in, chance)
		j.v.Draws = append(j.v.Draws, chance.draws...)
		return err
	}
	j.explainAnswer(answer, to, outcomes, obs)
	return nil
}

// withAnswer is the outcome of a packet with that of the answer among what the node made.
func withAnswer(to *packetsim.Outcome, answer *inet.Packet, became *packetsim.Outcome) *packetsim.Outcome {
	o := *to
	o.Replies = append(slices.Clone(o.Replies), packetsim.Reply{Packet: *answer, Outcome: *became, After: len(o.Steps)})
	return &o
}

// refusalReason is the walk's reason without the host's name.
func refusalReason(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}
