package report

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// teller makes stories of the ways that a run has seen.
type teller struct{ names story.Names }

// check is what became of a check's packet, by the ways at those places.
func (t teller) check(c *scenarios.Check, places []int) *story.Story {
	ways := make([]scenarios.Way, 0, len(places))
	for _, i := range places {
		ways = append(ways, c.Ways[i])
	}
	s := t.ways(ways)
	s.Packet, s.Sentence = c.Packet, c.Got
	if slices.ContainsFunc(ways, func(w scenarios.Way) bool { return isOfRules(&w) }) {
		s.Notes = append(s.Notes, notRecorded)
	}
	return s
}

// notRecorded is what a page lacks of ways through a real kernel.
const notRecorded = "A real kernel told the rules that the packet met: what conntrack knew of it and where routing " +
	"sent it were not recorded."

// isOfRules says whether no more is known of a part of a way than the rules that the packet met.
func isOfRules(w *scenarios.Way) bool {
	return slices.ContainsFunc(slices.Concat(w.Forward, w.Back), func(h scenarios.Hop) bool { return h.Walk == nil && len(h.Steps) > 0 })
}

func (t teller) ways(ways []scenarios.Way) *story.Story {
	s := &story.Story{}
	for i := range ways {
		s.Outcomes = append(s.Outcomes, t.outcome(&ways[i]))
	}
	return s
}

func (t teller) outcome(w *scenarios.Way) story.Outcome {
	o := story.Outcome{Probability: w.Probability, Verdict: verdicts[w.End], Sentence: w.Describe()}
	o.Passages = t.hops(o.Passages, w.Forward, story.There)
	o.Decided = decidedAt(o.Passages, w.Rule)
	if w.End == scenarios.Rejected {
		o.Passages = t.answers(o.Passages, w.Forward)
	}
	o.Passages = t.hops(o.Passages, w.Back, story.Back)
	return o
}

// verdicts are the ends of ways in the words of stories.
var verdicts = map[scenarios.End]story.Verdict{
	scenarios.Delivered: story.Passes, scenarios.Refused: story.Rejected, scenarios.Rejected: story.Rejected,
	scenarios.Dropped: story.Dropped, scenarios.Lost: story.Lost,
}

// hops adds the hosts of one packet's way.
func (t teller) hops(passages []story.Passage, hops []scenarios.Hop, d story.Direction) []story.Passage {
	for i := range hops {
		h := &hops[i]
		if h.Walk == nil {
			passages = append(passages, passageOfHop(hops, i, d))
			continue
		}
		sends := h.Input.Local && h.Host == hops[0].Host || hops[0].Input.Local && h.Host == hops[0].Host && h.Walk.To != packetsim.ToLocal
		role := roleOf(d, sends, i == len(hops)-1 && h.Walk.To == packetsim.ToLocal)
		p := story.PassageOf(d, role, h.Host, h.Input, h.Walk, t.names)
		if strings.HasPrefix(h.Result, "lost") {
			p.Result = h.Result
		}
		passages = append(passages, p)
	}
	return passages
}

// answers adds what the host said that rejected the packet.
func (t teller) answers(passages []story.Passage, hops []scenarios.Hop) []story.Passage {
	if len(hops) == 0 || hops[len(hops)-1].Walk == nil {
		return passages
	}
	last := &hops[len(hops)-1]
	for i := range last.Walk.Replies {
		passages = append(passages, story.PassageOfReply(story.Node, last.Host, &last.Walk.Replies[i], t.names))
	}
	return passages
}

// passageOfHop is one host's part of a way of which no more is known than the packet as it came and the rules that it met.
func passageOfHop(hops []scenarios.Hop, i int, d story.Direction) story.Passage {
	h := &hops[i]
	in, _ := inet.ParseInput(h.Packet) // what it does not understand is shown without addresses
	role := roleOf(d, i == 0 && in.Local, i == len(hops)-1 && strings.HasPrefix(h.Result, "delivered"))
	p := story.Passage{
		Direction: d, Host: h.Host, Role: role, Came: headerOfPacket(&in.Packet), In: in.In, Result: h.Result, Lines: linesOfSteps(h.Steps),
	}
	if in.Local {
		p.In = page.Local
	}
	p.Left = p.Came
	if i+1 < len(hops) {
		next, _ := inet.ParseInput(hops[i+1].Packet)
		p.Left, p.Out = headerOfPacket(&next.Packet), "to "+hops[i+1].Host
	}
	return p
}

// roleOf tells the ends of a way from the hosts between them.
func roleOf(d story.Direction, sends, takes bool) story.Role {
	from, to := story.Client, story.Server
	if d == story.Back {
		from, to = to, from
	}
	switch {
	case sends:
		return from
	case takes:
		return to
	}
	return story.Node
}

func headerOfPacket(p *inet.Packet) story.Header {
	return story.Header{Proto: p.Proto, Src: netip.AddrPortFrom(p.Src, p.SrcPort), Dst: netip.AddrPortFrom(p.Dst, p.DstPort), Mark: p.Mark}
}

// hooks are the names of the chains that hooks begin.
var hooks = [...]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// linesOfSteps are the rules that a packet met, where no more is known of its way.
func linesOfSteps(steps []scenarios.TraceStep) []story.Line {
	var out []story.Line
	hook := ""
	for _, s := range steps {
		parts := strings.Split(s.At, ":")
		l := story.Line{Kind: story.Rule, At: s.At, Text: s.Rule}
		if len(parts) == 4 {
			l.Table = parts[0]
			if slices.Contains(hooks[:], parts[1]) {
				hook = parts[1]
			}
			switch {
			case s.Rule != "":
			case parts[2] == "return":
				l.Kind = story.Return
			default:
				l.Kind = story.Policy
			}
		}
		l.Hook = hook
		out = append(out, l)
	}
	return out
}

// decidedAt finds the rule that decided.
func decidedAt(passages []story.Passage, rule string) *story.Place {
	if rule == "" {
		return nil
	}
	for i := range passages {
		for j := range passages[i].Lines {
			if l := &passages[i].Lines[j]; l.Text == rule || l.At == rule {
				return &story.Place{Passage: i, Line: j}
			}
		}
	}
	return nil
}
