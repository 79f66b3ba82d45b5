package story

import (
	"fmt"
	"io"
	"strings"
)

// TextOptions say how a story is written as text.
type TextOptions struct {
	// Summary leaves the lines out: the sentence and one line for each outcome.
	Summary bool
	// Apart tells each outcome with its own lines, also where several differ in nothing but their endpoint.
	Apart bool
	// Color writes the escapes of a terminal that has colours.
	Color bool
}

// WriteText writes the story for people: the sentence, then the lines that all outcomes share, then for each outcome those that only it
// has. The places where the outcomes differ have numbers.
func (s *Story) WriteText(w io.Writer, o TextOptions) error {
	t := textWriter{story: s, paint: o.Color}
	t.head()
	switch {
	case o.Summary:
		t.summary()
	case len(s.Outcomes) == 1:
		t.measure()
		t.alone()
	case len(s.Outcomes) > 1:
		t.measure()
		t.together(o.Apart)
	}
	t.notes()
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("write story: %w", err)
	}
	return nil
}

type textWriter struct {
	b     strings.Builder
	story *Story
	paint bool
	hosts bool // there is more than one

	hookWidth, backendWidth, placeWidth int
}

func (t *textWriter) head() {
	fmt.Fprintf(&t.b, "%s\npacket: %s\n", t.color(bold, t.story.Sentence), t.story.Packet)
	t.doubts()
	t.causes()
}

// causes are lines about what stopped the packet, each with how to fix it.
func (t *textWriter) causes() {
	for i := range t.story.Causes {
		c := &t.story.Causes[i]
		fmt.Fprintf(&t.b, "%s: %s (%s)\n", c.Code, c.Says, c.What)
		if c.Remedy != "" {
			fmt.Fprintf(&t.b, "  fix it: %s\n", c.Remedy)
		}
	}
}

// summary is a line for each outcome, if the sentence does not say all.
func (t *textWriter) summary() {
	if len(t.story.Outcomes) < 2 {
		return
	}
	for i := range t.story.Outcomes {
		o := &t.story.Outcomes[i]
		share := o.share()
		if len(o.Assumed) > 0 {
			share += ":"
		}
		fmt.Fprintf(&t.b, "  %-6s %s\n", share, t.verdict(o, o.Sentence))
	}
}

// share is how likely an outcome is, and on which answers of unknown rules it depends.
func (o *Outcome) share() string {
	switch {
	case len(o.Assumed) == 0:
		return ShareText(o.Probability)
	case compareShares(o.Probability, 1) == 0:
		return "if " + strings.Join(o.Assumed, " and ")
	}
	return ShareText(o.Probability) + " if " + strings.Join(o.Assumed, " and ")
}

// measure finds the widths of the columns.
func (t *textWriter) measure() {
	for i := range t.story.Outcomes {
		for _, p := range t.story.Outcomes[i].parts() {
			if p.begins != nil {
				t.hosts = t.hosts || p.begins.Host != t.story.Outcomes[0].Passages[0].Host
				continue
			}
			t.hookWidth, t.placeWidth = max(t.hookWidth, len(p.line.Hook)), max(t.placeWidth, len(p.line.place()))
			if p.line.Dialect != "" {
				t.backendWidth = max(t.backendWidth, len(p.line.Dialect)+2)
			}
		}
	}
}

// alone writes the only outcome.
func (t *textWriter) alone() {
	for i, p := range t.story.Outcomes[0].parts() {
		if i == 0 {
			t.b.WriteString("\n")
		}
		t.part(&p, "")
	}
}

// together writes what outcomes share, then each of them, or those that are alike together.
func (t *textWriter) together(apart bool) {
	s := splitOf(t.story.Outcomes)
	marks := map[int]string{}
	fmt.Fprintf(&t.b, "\nall %d outcomes:\n", len(s.own))
	for gap := 0; gap <= len(s.shared); gap++ {
		if s.differs(gap) {
			marks[gap] = fmt.Sprintf("(%d)", len(marks)+1)
			fmt.Fprintf(&t.b, "  %s\n", t.color(dim, marks[gap]+" here they differ"))
		}
		if gap < len(s.shared) {
			t.part(&s.shared[gap], "")
		}
	}
	for _, group := range t.groups(apart) {
		if len(group) > 1 {
			t.alike(group)
		} else {
			o := &t.story.Outcomes[group[0]]
			fmt.Fprintf(&t.b, "\noutcome %d of %d, %s: %s\n", group[0]+1, len(s.own), o.share(), t.verdict(o, o.Sentence))
		}
		t.own(s.own[group[0]], marks)
	}
}

// groups are the outcomes that are told together.
func (t *textWriter) groups(apart bool) [][]int {
	if !apart && len(t.story.Outcomes) > fewAlike {
		return t.story.groups()
	}
	var out [][]int
	for i := range t.story.Outcomes {
		out = append(out, []int{i})
	}
	return out
}

// alike writes a line for each of several outcomes, and says that the lines of the first stand for all of them.
func (t *textWriter) alike(group []int) {
	all, shares := len(t.story.Outcomes), make([]float64, len(group))
	for i, place := range group {
		shares[i] = t.story.Outcomes[place].Probability
	}
	fmt.Fprintf(&t.b, "\noutcomes %s of %d, %s, alike but for the endpoint and the way to it:\n", numbersText(group), all, sharesText(shares))
	for _, place := range group {
		o := &t.story.Outcomes[place]
		fmt.Fprintf(&t.b, "%*d  %-6s %s\n", len(fmt.Sprint(all))+2, place+1, o.share(), t.verdict(o, o.Sentence))
	}
	fmt.Fprintf(&t.b, "outcome %d, which stands for them:\n", group[0]+1)
}

// own writes the lines that an outcome has of its own.
func (t *textWriter) own(own [][]part, marks map[int]string) {
	for gap, parts := range own {
		for n := range parts {
			mark := ""
			if n == 0 {
				mark = marks[gap]
			}
			t.part(&parts[n], mark)
		}
	}
}

// part writes a line, or the heading of a passage.
func (t *textWriter) part(p *part, mark string) {
	if p.begins != nil {
		t.passage(p.begins)
		return
	}
	margin := "  "
	if mark != "" {
		margin = mark + " "
	}
	t.b.WriteString(fmt.Sprintf("%-4s", margin) + t.line(&p.line) + "\n")
}

// line is a line in columns: hook, backend where the host has both, place, and what happened.
func (t *textWriter) line(l *Line) string {
	text := l.Text
	if l.Object != "" && !strings.Contains(text, l.Object[strings.LastIndexByte(l.Object, ' ')+1:]) {
		text += "  (" + l.Object + ")"
	}
	if l.Failed != "" {
		text += "  <- no match: " + l.Failed
	}
	if l.Assumed != "" {
		text += "  <- NOT KNOWN, taken that " + l.Assumed
	}
	place := fmt.Sprintf("%-*s%-*s", t.backendWidth, l.Dialect, t.placeWidth, l.place())
	if text == "" {
		place = strings.TrimRight(place, " ")
	} else {
		place += "  "
	}
	return t.color(dim, fmt.Sprintf("%-*s", t.hookWidth, l.Hook)) + "  " + t.color(l.Kind.color(), place+text)
}

// place is where a line happened, or what kind of line it is if that is no rule's.
func (l *Line) place() string {
	switch {
	case l.At != "":
		return l.At
	case l.Kind == Marked:
		return "mark"
	}
	return string(l.Kind)
}

// passage writes a heading, unless there is but one host and this is the packet that was asked for.
func (t *textWriter) passage(p *Passage) {
	header := p.Came.text()
	switch {
	case p.Direction == Answer && !t.hosts:
		fmt.Fprintf(&t.b, "  %s answers: %s; %s\n", p.Host, header, p.Result)
	case p.Direction == Copy && !t.hosts:
		fmt.Fprintf(&t.b, "  %s makes a copy: %s; %s\n", p.Host, header, p.Result)
	case p.Direction == Back && !t.hosts:
		fmt.Fprintf(&t.b, "  the answer comes back %s: %s; %s\n", inText(p.In), header, p.Result)
	case t.hosts:
		fmt.Fprintf(&t.b, "  %s, %s: %s in %s; %s\n", t.color(bold, p.Host), p.Direction, header, p.In, p.Result)
	}
}

// inText is how a packet comes to a host.
func inText(device string) string {
	if device == local {
		return "from the host itself"
	}
	return "by " + device
}

// text is the header in the PACKET syntax.
func (h *Header) text() string {
	text := fmt.Sprintf("%s %s > %s", h.Proto, withName(endText(h.Src.Addr(), h.Src.Port(), h.Proto), h.SrcName),
		withName(endText(h.Dst.Addr(), h.Dst.Port(), h.Proto), h.DstName))
	if h.Mark != 0 {
		text += fmt.Sprintf(" mark %#x", h.Mark)
	}
	if h.Rest != "" {
		text += " " + h.Rest
	}
	return text
}

func (t *textWriter) notes() {
	for i, u := range t.story.Unreached {
		if i == 0 {
			t.b.WriteString("\nnot reached:\n")
		}
		fmt.Fprintf(&t.b, "  %s: %s\n", u.What, u.Why)
	}
	for i, note := range t.story.Notes {
		if i == 0 {
			t.b.WriteString("\n")
		}
		fmt.Fprintf(&t.b, "note: %s\n", note)
	}
}
