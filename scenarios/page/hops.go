package page

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/story"
)

// storyOf is what became of a check's packet, by the ways at those places.
func storyOf(c *scenarios.Check, places []int) *story.Story {
	ways := make([]scenarios.Way, 0, len(places))
	for _, i := range places {
		ways = append(ways, c.Ways[i])
	}
	s := storyOfWays(ways)
	s.Packet, s.Sentence = c.Packet, c.Got
	return s
}

func storyOfWays(ways []scenarios.Way) *story.Story {
	s := &story.Story{}
	for i := range ways {
		s.Outcomes = append(s.Outcomes, outcomeOfWay(&ways[i]))
	}
	return s
}

func outcomeOfWay(w *scenarios.Way) story.Outcome {
	o := story.Outcome{Probability: w.Probability, Sentence: w.Describe()}
	for i := range w.Forward {
		o.Passages = append(o.Passages, passageOfHop(w.Forward, i, story.There))
	}
	for i := range w.Back {
		o.Passages = append(o.Passages, passageOfHop(w.Back, i, story.Back))
	}
	o.Decided = decidedAt(o.Passages, w.Rule)
	return o
}

// passageOfHop is one host's part of a way.
func passageOfHop(hops []scenarios.Hop, i int, direction story.Direction) story.Passage {
	h := &hops[i]
	in, _ := packetsim.ParseInput(h.Packet) // what it does not understand is shown without addresses
	p := story.Passage{
		Direction: direction, Host: h.Host, Role: roleOf(hops, i, direction), Came: headerOfPacket(&in.Packet), In: deviceOf(&in),
		Result: h.Result, Lines: linesOfSteps(h.Steps),
	}
	p.Left = p.Came
	if i+1 < len(hops) {
		next, _ := packetsim.ParseInput(hops[i+1].Packet)
		p.Left, p.Out = headerOfPacket(&next.Packet), "to "+hops[i+1].Host
	}
	return p
}

// roleOf tells the ends of a way from the hosts between them.
func roleOf(hops []scenarios.Hop, i int, direction story.Direction) story.Role {
	ends := [2]story.Role{story.Client, story.Server}
	if direction == story.Back {
		slices.Reverse(ends[:])
	}
	in, _ := packetsim.ParseInput(hops[i].Packet)
	switch {
	case i == 0 && in.Local:
		return ends[0]
	case i == len(hops)-1 && strings.HasPrefix(hops[i].Result, "delivered"):
		return ends[1]
	}
	return story.Node
}

func deviceOf(in *packetsim.Input) string {
	if in.Local {
		return local
	}
	return in.In
}

func headerOfPacket(p *packetsim.Packet) story.Header {
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
