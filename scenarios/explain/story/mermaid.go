package story

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// drawnOutcomes is as many outcomes as a diagram has room for.
const drawnOutcomes = 12

// WriteMermaid writes the story as a flowchart in the language of Mermaid, which GitHub and others draw within Markdown: the packet, the
// hooks in which rules of a named object met it, the rules that decided, what they changed, and a branch for each outcome, the twelve
// likeliest.
func (s *Story) WriteMermaid(w io.Writer) error {
	root := &branch{label: []string{s.Packet, s.Sentence}}
	drawn := min(len(s.Outcomes), drawnOutcomes)
	for i := range s.Outcomes[:drawn] {
		root.grow(s.Outcomes[i].Probability, drawing(&s.Outcomes[i]))
	}
	if rest := s.Outcomes[drawn:]; len(rest) > 0 {
		sum := 0.0
		for i := range rest {
			sum += rest[i].Probability
		}
		root.grow(sum, []box{{label: fmt.Sprintf("%d more outcomes", len(rest))}})
	}
	m := &mermaid{}
	m.printf("flowchart TD\n")
	m.doubts(s.Doubts, m.node(root))
	m.printf("  classDef decided stroke-width:3px\n")
	_, err := io.WriteString(w, m.String())
	return err
}

// box is what a diagram shows of a line, or of the begin or the end of a passage.
type box struct {
	label   string
	begins  bool // a new box begins with it
	decided bool
	at      string // of a decision: the place of the rule, whose name for people others may have
	object  string // what a rule was written for, with its hook
}

// branch is a box, with what follows it in the outcomes that it is part of.
type branch struct {
	label   []string
	key     string
	chance  float64
	decided bool
	next    []*branch
}

// grow adds the boxes of one outcome behind those that it shares with others.
func (b *branch) grow(chance float64, boxes []box) {
	b.chance += chance
	if len(boxes) == 0 {
		return
	}
	first := boxes[0]
	for _, next := range b.next {
		if next.key == first.key() {
			next.grow(chance, boxes[1:])
			return
		}
	}
	next := &branch{label: []string{first.label}, key: first.key(), decided: first.decided}
	b.next = append(b.next, next)
	next.grow(chance, boxes[1:])
}

func (m *box) key() string { return fmt.Sprint(m.begins, m.decided, m.at, m.label) }

// drawing are the boxes of one outcome.
func drawing(o *Outcome) []box {
	var out []box
	named := o.hasObject()
	for i := range o.Passages {
		p := &o.Passages[i]
		host := p.Host
		if host != string(p.Role) {
			host = string(p.Role) + " " + host
		}
		in := "in " + p.In
		if p.In == local {
			in = "made here"
		}
		out = append(out, box{label: fmt.Sprintf("%s: %s, %s", p.Direction, host, in), begins: true})
		before := p.Came
		for j := range p.Lines {
			l := &p.Lines[j]
			decided := o.Decided != nil && *o.Decided == Place{i, j}
			for _, next := range drawn(l, &before, named, decided) {
				out = append(withoutSame(out, &next), next)
			}
			if l.After != nil {
				before = *l.After
			}
		}
		out = append(out, box{label: p.Result})
	}
	return out
}

// withoutSame are boxes without the last one, if another one of the same object follows it: it says no less.
func withoutSame(boxes []box, next *box) []box {
	last := len(boxes) - 1
	if next.object != "" && boxes[last].object == next.object && !boxes[last].decided {
		return boxes[:last]
	}
	return boxes
}

// hasObject says whether any rule has a name.
func (o *Outcome) hasObject() bool {
	return slices.ContainsFunc(o.Passages, func(p Passage) bool {
		return slices.ContainsFunc(p.Lines, func(l Line) bool { return l.Kind == Rule && l.Object != "" })
	})
}

// drawn are the boxes of a line. Where rules have names, those without are left out, unless the decision fell at one.
func drawn(l *Line, before *Header, named, decided bool) []box {
	switch l.Kind {
	case Rule, Opaque, Policy:
		if !decided && (l.Kind == Policy || l.Kind == Rule && named && l.Object == "") {
			return nil
		}
		one := box{label: placeDrawn(l, decided), decided: decided}
		if l.Object != "" {
			one.object = l.Hook + " " + l.Object
		}
		if decided {
			one.at = l.At
		}
		return []box{one}
	case Rewrite, Marked:
		var out []box
		add := func(what, from, to, name string) {
			if from == to {
				return
			}
			if name != "" {
				name = " (" + name + ")"
			}
			out = append(out, box{label: what + " becomes " + to + name})
		}
		if l.After != nil {
			add("source", shown(before.Src), shown(l.After.Src), l.After.SrcName)
			add("destination", shown(before.Dst), shown(l.After.Dst), l.After.DstName)
			add("mark", hex(before.Mark), hex(l.After.Mark), "")
		}
		return out
	}
	return nil
}

// placeDrawn says in which hook a rule stands and for what it was written, and of the one where the decision fell also in which chain. The
// hashes of kube-proxy's chains tell a person nothing.
func placeDrawn(l *Line, decided bool) string {
	words := strings.SplitN(l.At, ":", 4)
	if len(words) < 4 {
		return l.At
	}
	table, chain, kind, number := words[0], provenance.WithoutHashes(words[1]), words[2], words[3]
	hook := cmp.Or(l.Hook, chain)
	switch {
	case decided && l.Kind == Policy:
		return fmt.Sprintf("%s: policy of %s %s", hook, table, chain)
	case decided && l.Object != "":
		return fmt.Sprintf("%s: %s, by a rule of %s %s", hook, l.Object, table, chain)
	case l.Object != "":
		return hook + ": " + l.Object
	}
	return fmt.Sprintf("%s: %s %s %s %s", hook, table, chain, kind, number)
}

func hex(mark uint32) string { return "0x" + strconv.FormatUint(uint64(mark), 16) }

// shown is ADDRESS:PORT, or the address where there is no port.
func shown(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

// mermaid is a diagram that is being written.
type mermaid struct {
	strings.Builder
	nodes int
}

func (m *mermaid) printf(format string, args ...any) { fmt.Fprintf(m, format, args...) }

// node writes a box and those behind it, and returns its name. What follows without a branch, and begins nothing, is in the same box.
func (m *mermaid) node(b *branch) string {
	m.nodes++
	name := "n" + strconv.Itoa(m.nodes)
	for len(b.next) == 1 && !strings.HasPrefix(b.next[0].key, "true") && m.nodes > 1 {
		next := b.next[0]
		next.label, next.decided = append(b.label, next.label...), b.decided || next.decided
		b = next
	}
	lines := make([]string, len(b.label))
	for i, l := range b.label {
		lines[i] = escaped(l)
	}
	class := ""
	if b.decided {
		class = ":::decided"
	}
	m.printf("  %s[\"%s\"]%s\n", name, strings.Join(lines, "<br>"), class)
	for _, next := range b.next {
		to := m.node(next)
		if len(b.next) > 1 {
			m.printf("  %s -->|%.3g %%| %s\n", name, 100*next.chance, to)
		} else {
			m.printf("  %s --> %s\n", name, to)
		}
	}
	return name
}

// escaped is text in a label: what is a sign to Mermaid, or to HTML, is written by its number.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range inOneLine(s) {
		switch {
		case strings.ContainsRune("#&<\"`;%{}", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inOneLine is text in one line.
func inOneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
