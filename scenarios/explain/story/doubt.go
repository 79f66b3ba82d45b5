package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
)

// doubt has the story begin with what was taken for granted and may end the packet otherwise. A rule that is not known has a sentence of
// its own.
func (s *Story) doubt(doubts []packetsim.Doubt) {
	s.Doubts = doubts
	first := slices.IndexFunc(doubts, func(d packetsim.Doubt) bool { return d.Kind != packetsim.DoubtExtension })
	if first < 0 {
		return
	}
	unless := "unless " + doubts[first].Unless
	switch more := len(doubts) - 1; more {
	case 0:
	case 1:
		unless += ", and 1 more doubt"
	default:
		unless += fmt.Sprintf(", and %d more doubts", more)
	}
	s.Sentence = unless + ", " + s.Sentence
	for i := range s.Outcomes {
		if o := &s.Outcomes[i]; o.Verdict == Passes {
			o.Verdict = NotKnown
		}
	}
}

// doubts are lines about what may end the packet otherwise, and what settles it.
func (t *textWriter) doubts() {
	for i := range t.story.Doubts {
		d := &t.story.Doubts[i]
		fmt.Fprintf(&t.b, "%s\n", t.color(yellow, "undecided: "+unlessText(d)))
	}
}

// unlessText is a doubt with the command or the file that settles it.
func unlessText(d *packetsim.Doubt) string {
	text := "unless " + d.Unless
	if d.See != "" {
		text += "; see: " + d.See
	}
	return text
}

// doubts draws what may end the packet otherwise beside a node.
func (m *mermaid) doubts(doubts []packetsim.Doubt, beside string) {
	if len(doubts) == 0 {
		return
	}
	lines := []string{"undecided"}
	for i := range doubts {
		lines = append(lines, escaped(unlessText(&doubts[i])))
	}
	m.printf("  doubts[\"%s\"]:::undecided\n  doubts -.- %s\n", strings.Join(lines, "<br>"), beside)
	m.printf("  classDef undecided stroke-dasharray:5 5\n")
}
