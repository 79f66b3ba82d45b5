package story

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// OfConnections is the story of a connection through many hosts, there and back, in all the ways that chance can fall. The packet is what
// was asked, in words.
func OfConnections(packet string, ways []network.Connection, o Options) Story {
	names := o.names()
	s := Story{Packet: packet, Outcomes: make([]Outcome, len(ways))}
	endings := make([]ending, len(ways))
	for i := range ways {
		c := &ways[i]
		endings[i] = endingOfConnection(c, names)
		s.Outcomes[i] = Outcome{
			Probability: c.Probability, Verdict: verdictOfConnection(c), Sentence: endings[i].sentence(), Passages: passagesOf(c, names),
		}
		s.Outcomes[i].Decided = decidedOfJourney(&c.Forward, s.Outcomes[i].Passages)
	}
	s.Sentence = sentenceOf(endings)
	if len(o.Assumed) > 0 {
		s.Sentence = "if " + strings.Join(o.Assumed, ", and if ") + ": " + s.Sentence
	}
	s.doubt(o.Doubts)
	sortOutcomes(s.Outcomes)
	return s
}

// OfJourneys is the story of packets that begin no connection, as a later one of it or one that nobody answers: each way there alone. The
// packet is what was asked, in words.
func OfJourneys(packet string, ways []network.Journey, o Options) Story {
	names := o.names()
	s := Story{Packet: packet, Outcomes: make([]Outcome, len(ways))}
	endings := make([]ending, len(ways))
	for i := range ways {
		c := &network.Connection{Probability: ways[i].Probability, Forward: ways[i], Why: ways[i].Why}
		endings[i] = endingOfConnection(c, names)
		s.Outcomes[i] = Outcome{Probability: c.Probability, Verdict: verdictOfJourney(&c.Forward), Sentence: endings[i].sentence()}
		t := journeyTeller{names: names}
		t.journey(There, &c.Forward)
		s.Outcomes[i].Passages = t.passages
		s.Outcomes[i].Decided = decidedOfJourney(&c.Forward, t.passages)
	}
	s.Sentence = sentenceOf(endings)
	s.doubt(o.Doubts)
	sortOutcomes(s.Outcomes)
	return s
}

// passagesOf are the hosts that a connection's first packet went through, those that the answers to it went through, and those of the way
// back.
func passagesOf(c *network.Connection, names Names) []Passage {
	t := journeyTeller{server: c.Server, names: names}
	t.journey(There, &c.Forward)
	if c.Back != nil {
		t.journey(Back, c.Back)
	}
	return t.passages
}

// journeyTeller collects passages.
type journeyTeller struct {
	client, server string // hosts
	names          Names
	passages       []Passage
}

func (t *journeyTeller) journey(d Direction, j *network.Journey) {
	for i := range j.Hops {
		hop := &j.Hops[i]
		if d == There && i == 0 {
			t.client = hop.Host
		}
		t.passages = append(t.passages, PassageOf(d, t.role(hop.Host), hop.Host, hop.Input, &hop.Outcome, t.names))
	}
	for i := range j.Answers {
		t.journey(Answer, &j.Answers[i])
	}
	for i := range j.Copies {
		t.journey(Copy, &j.Copies[i])
	}
}

func (t *journeyTeller) role(host string) Role {
	switch host {
	case t.client:
		return Client
	case t.server:
		return Server
	}
	return Node
}

// endingOfConnection is the end of a connection: where its first packet came to, and whether the client learns it.
func endingOfConnection(c *network.Connection, names Names) ending {
	hops := c.Forward.Hops
	if len(hops) == 0 {
		return ending{probability: c.Probability, result: "not sent: " + c.Why, ends: true}
	}
	first, last := &hops[0].Input, &hops[len(hops)-1].Outcome
	merged := packetsim.Outcome{
		Probability: c.Probability, Verdict: last.Verdict, RejectWith: last.RejectWith, To: last.To, Out: last.Out, Final: last.Final,
		Reason: last.Reason, Why: last.Why,
	}
	for i := range hops {
		merged.Steps = append(merged.Steps, hops[i].Outcome.Steps...)
		merged.Events = append(merged.Events, hops[i].Outcome.Events...)
	}
	e := endingOf(*first, &merged, names)
	e.local = false
	switch {
	case c.Made:
		e.result = "connected to " + c.Server
	case c.Server != "" && !e.ends:
		e.result, e.ends = fmt.Sprintf("%s is reached, but %s", c.Server, c.Why), true
	case c.Server == "" && last.Verdict != packetsim.Accept:
		e.result = stoppedText(c, e.result)
	case c.Why != "":
		e.result, e.ends = c.Why, true
	}
	return e
}

// stoppedText says on which host a first packet ended, and whether the client learns it. The result is that of the host.
func stoppedText(c *network.Connection, result string) string {
	for _, word := range []string{"rejected", "dropped"} {
		if rest, ok := strings.CutPrefix(result, word); ok {
			result = word + " on " + c.Forward.At + rest
		}
	}
	switch {
	case c.Refused:
		return result + ", which the client is told"
	case strings.HasPrefix(result, "rejected"):
		return result + ", which the client does not learn"
	}
	return result
}

// decidedOfJourney is the line where the decision fell, of the first host where a rule decided.
func decidedOfJourney(j *network.Journey, passages []Passage) *Place {
	var last *Place
	for i := range j.Hops {
		place := decided(&j.Hops[i].Outcome, passages[i].Lines)
		if place == nil {
			continue
		}
		place.Passage = i
		if j.Hops[i].Outcome.Verdict != packetsim.Accept {
			return place
		}
		if last == nil {
			last = place
		}
	}
	return last
}
