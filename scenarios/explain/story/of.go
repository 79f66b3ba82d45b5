package story

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Options say what a story is told with.
type Options struct {
	// Host is the name of the host; empty is "node".
	Host string
	// Names are the objects behind addresses and rules; nil knows none.
	Names Names
	// Doubts are those about a connection through several hosts; a TraceResult has its own.
	Doubts []packetsim.Doubt
	// Assumed is what was taken for granted of the network between hosts, with which the story holds.
	Assumed []string
}

func (o Options) host() string { return cmp.Or(o.Host, "node") }

func (o Options) names() Names { return orNone(o.Names) }

// orNone are names, or none if they are nil.
func orNone(names Names) Names {
	if names == nil {
		return noNames{}
	}
	return names
}

// Of is the story of a packet in one host.
func Of(r packetsim.TraceResult, o Options) Story {
	names := o.names()
	s := Story{Packet: r.Packet, Notes: r.Notes, Outcomes: make([]Outcome, len(r.Outcomes))}
	endings := make([]ending, len(r.Outcomes))
	for i := range r.Outcomes {
		way := &r.Outcomes[i]
		endings[i] = endingOf(r.Input, way, names)
		endings[i].assumed = assumed(way)
		endings[i].backed(way.Back)
		s.Outcomes[i] = outcomeOf(r.Input, way, o.host(), names)
		s.Outcomes[i].Sentence = endings[i].sentence()
		if endings[i].ends && s.Outcomes[i].Verdict == Passes {
			s.Outcomes[i].Verdict = Lost // what comes back is
		}
	}
	s.Sentence = sentenceOf(endings)
	s.doubt(r.Doubts)
	sortOutcomes(s.Outcomes)
	return s
}

// sortOutcomes puts the likeliest first.
func sortOutcomes(outcomes []Outcome) {
	slices.SortStableFunc(outcomes, func(a, b Outcome) int { return -compareShares(a.Probability, b.Probability) })
}

// outcomeOf is one way through one host, with the answers that the host made.
func outcomeOf(in inet.Input, way *packetsim.Outcome, host string, names Names) Outcome {
	o := Outcome{Probability: way.Probability, Verdict: verdictOf(way), Passages: []Passage{PassageOf(There, Node, host, in, way, names)}}
	o.Decided = decided(way, o.Passages[0].Lines)
	o.Assumed = assumed(way)
	for i := range way.Replies {
		o.Passages = append(o.Passages, PassageOfReply(Node, host, &way.Replies[i], names))
	}
	if back := way.Back; back != nil && back.Outcome != nil {
		p := PassageOf(Back, Node, host, back.Input, back.Outcome, names)
		p.folded = back.Heard
		if way.Final.SrcPort == 0 { // the kernel chooses it
			p.Came.Dst = netip.AddrPortFrom(p.Came.Dst.Addr(), 0)
		}
		o.Passages = append(o.Passages, p)
	}
	return o
}

// assumed are the answers that a way, and the ways of the host's answers, assume of unknown rules.
func assumed(way *packetsim.Outcome) []string {
	var all []string
	for i := range way.Events {
		if e := &way.Events[i]; e.Kind == packetsim.EventOpaque {
			all = append(all, assumedText(e.Rule)+" at "+e.Rule.String())
		}
	}
	for i := range way.Replies {
		all = append(all, assumed(&way.Replies[i].Outcome)...)
	}
	return all
}

// PassageOf is what a host did with a packet, as a walk of it or a hop of a journey says. Names may be nil.
func PassageOf(d Direction, role Role, host string, in inet.Input, way *packetsim.Outcome, names Names) Passage {
	names = orNone(names)
	p := Passage{
		Direction: d, Host: host, Role: role, In: in.In,
		Came:   headerOf(packetsim.FinalOf(&in.Packet), names),
		Left:   headerOf(way.Final, names),
		Out:    way.Out,
		Result: resultOf(way),
		Lines:  linesOf(way, names),
	}
	if in.Local {
		p.In = local
	}
	if way.To == packetsim.ToLocal {
		p.Out = local
	}
	p.Came.Rest = restOf(in)
	return p
}

// PassageOfReply is the way out of a packet that a host made because of another one.
func PassageOfReply(role Role, host string, reply *packetsim.Reply, names Names) Passage {
	d := Answer
	if reply.Copy {
		d = Copy
	}
	return PassageOf(d, role, host, inet.Input{Packet: reply.Packet, Local: true}, &reply.Outcome, names)
}

// local is the place of a device for packets of the host itself.
const local = "local"

// decided is the line where the decision fell: of the rule that translated the destination, or of what ended the packet.
func decided(way *packetsim.Outcome, lines []Line) *Place {
	step := decidingStep(way)
	for i := range lines {
		if !lines[i].isStep() {
			continue
		}
		if step == 0 {
			return &Place{Line: i}
		}
		step--
	}
	return nil
}

// isStep says whether the line is one of the kernel's TRACE log.
func (l *Line) isStep() bool { return l.Kind == Rule || l.Kind == Policy || l.Kind == Return }

// decidingStep is the place of that rule or policy among the steps; -1 if there is none.
func decidingStep(way *packetsim.Outcome) int {
	d := packetsim.DecisionOf(way.Steps)
	at := d.Translation
	if way.Verdict != packetsim.Accept {
		at = d.Last
	}
	if at == nil || way.Verdict != packetsim.Accept && way.Reason != "" {
		return -1
	}
	return slices.IndexFunc(way.Steps, func(s packetsim.Step) bool {
		return s.Hook == at.Hook && s.String() == at.String() && s.Text() == at.Text()
	})
}
