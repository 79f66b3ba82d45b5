package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// FullOutcomes is as many outcomes as a page shows the way of; the others are named. More would make it too big to be opened.
const FullOutcomes = 24

// Way is a story as a page shows it.
type Way struct {
	*story.Story
	ID       string
	Outcomes []outcome
	// Cards are the outcomes, those that are alike in one.
	Cards []card
	// Brief are the outcomes whose way is left out.
	Brief []story.Outcome
}

// outcome is one way that the packet can take.
type outcome struct {
	*story.Outcome
	ID       string
	Number   int
	Of       int
	Lanes    lanes
	Passages []passage
	// Deciding is the line where the decision fell; nil if no rule decided.
	Deciding *line

	lines []*line
}

// card are outcomes that are alike.
type card struct {
	Text     string // of several
	Verdict  story.Verdict
	Width    dom.Declaration
	Outcomes []*outcome
}

// passage is one packet's way through one host.
type passage struct {
	*story.Passage
	ID    string
	Hooks []hook
	// Changed says that the packet left with another header than it came with.
	Changed bool
	// Told says that its lines are told below the lanes: not of a host that has no rules and no conntrack, of which the lanes say all.
	Told bool
}

// hook is what happened in one hook of a passage, or between two.
type hook struct {
	ID     string
	Name   string
	Tables []table
	Events []*line // what is no rule: what the lanes show
	Groups []group
}

// table is one that the packet passed in a hook.
type table struct {
	Name    string
	Dialect netfilter.Dialect
	Decided bool // the decision fell in it
}

// line is one thing that happened.
type line struct {
	story.Line
	ID      string
	Depth   int // of the chain: 0 is one that a hook begins
	Decided bool
	Own     bool     // it is not in all outcomes
	Words   []word   // the rule's
	Changes []change // what a rewrite or a mark changed
	Note    string   // what else a rewrite did, and why
}

// group is a line, or the rules before it that did not match.
type group struct {
	*line
	Missed *missed
}

// NewWay prepares a story. Identifiers of the page's elements begin with the prefix.
func NewWay(s *story.Story, prefix string) *Way {
	w := &Way{Story: s, ID: prefix}
	full := min(len(s.Outcomes), FullOutcomes)
	w.Brief = s.Outcomes[full:]
	for i := range s.Outcomes[:full] {
		o := outcomeOf(&s.Outcomes[i], prefix+"o"+strconv.Itoa(i+1))
		o.Number, o.Of = i+1, len(s.Outcomes)
		w.Outcomes = append(w.Outcomes, o)
	}
	w.markOwn()
	for _, alike := range s.Alike(full) {
		c := card{Text: alike.Text, Verdict: s.Outcomes[alike.Places[0]].Verdict, Width: width(alike.Share)}
		for _, i := range alike.Places {
			c.Outcomes = append(c.Outcomes, &w.Outcomes[i])
		}
		w.Cards = append(w.Cards, c)
	}
	return w
}

// width is that of a bar that shows a share.
func width(share float64) dom.Declaration { return dom.Declare("width:%.4g%%", 100*min(share, 1)) }

// markOwn finds the lines that are not in all outcomes.
func (w *Way) markOwn() {
	type key struct{ hook, at, text string }
	keyOf := func(l *line) key { return key{l.Hook, l.At, l.Text} }
	outcomes := map[key]map[int]bool{}
	for i := range w.Outcomes {
		for _, l := range w.Outcomes[i].lines {
			if outcomes[keyOf(l)] == nil {
				outcomes[keyOf(l)] = map[int]bool{}
			}
			outcomes[keyOf(l)][i] = true
		}
	}
	for i := range w.Outcomes {
		for _, l := range w.Outcomes[i].lines {
			l.Own = len(outcomes[keyOf(l)]) < len(w.Outcomes)
		}
	}
}

func outcomeOf(of *story.Outcome, id string) outcome {
	o := outcome{Outcome: of, ID: id}
	for i := range of.Passages {
		decided := -1
		if of.Decided != nil && of.Decided.Passage == i {
			decided = of.Decided.Line
		}
		p, deciding := passageOf(&of.Passages[i], id+"p"+strconv.Itoa(i+1), decided)
		if deciding != nil {
			o.Deciding = deciding
		}
		o.Passages = append(o.Passages, p)
		for _, h := range p.Hooks {
			for _, g := range h.Groups {
				if g.line != nil {
					o.lines = append(o.lines, g.line)
				}
			}
		}
	}
	o.Lanes = lanesOf(o.Passages)
	return o
}

// passageOf prepares a passage, and finds the line of that place.
func passageOf(of *story.Passage, id string, decided int) (passage, *line) {
	p := passage{Passage: of, ID: id, Changed: len(changesOf(&of.Came, &of.Left)) > 0}
	var deciding *line
	var chains nesting
	header := &of.Came
	var misses []*line
	for i := range of.Lines {
		l := &line{Line: of.Lines[i], ID: id + "l" + strconv.Itoa(i+1), Depth: chains.depth(&of.Lines[i])}
		if l.After != nil {
			l.Changes, header = changesOf(header, l.After), l.After
			l.Note = noteOf(l)
		}
		p.Told = p.Told || l.Kind != story.Route
		if i == decided {
			l.Decided, deciding = true, l
		}
		if l.Kind == story.Missed {
			misses = append(misses, l)
			continue
		}
		l.Words = wordsOf(l.Text, l.Failed)
		h := p.hook(l, id)
		h.miss(misses)
		misses = nil
		h.add(l)
	}
	if len(misses) > 0 && len(p.Hooks) > 0 {
		p.Hooks[len(p.Hooks)-1].miss(misses)
	}
	return p, deciding
}

// hook is the one that a line belongs to: the last one, or one that begins with it.
func (p *passage) hook(l *line, id string) *hook {
	if n := len(p.Hooks); n == 0 || p.Hooks[n-1].Name != l.Hook {
		p.Hooks = append(p.Hooks, hook{ID: id + "h" + strconv.Itoa(n+1), Name: l.Hook})
	}
	return &p.Hooks[len(p.Hooks)-1]
}

func (h *hook) add(l *line) {
	h.Groups = append(h.Groups, group{line: l})
	if l.Table == "" {
		h.Events = append(h.Events, l)
		return
	}
	i := slices.IndexFunc(h.Tables, func(t table) bool { return t.Name == l.Table && t.Dialect == l.Dialect })
	if i < 0 {
		i = len(h.Tables)
		h.Tables = append(h.Tables, table{Name: l.Table, Dialect: l.Dialect})
	}
	h.Tables[i].Decided = h.Tables[i].Decided || l.Decided
	if l.After != nil || l.Kind == story.Opaque {
		h.Events = append(h.Events, l)
	}
}

func (h *hook) miss(lines []*line) {
	if len(lines) > 0 {
		h.Groups = append(h.Groups, group{Missed: missedOf(lines)})
	}
}

// nesting follows the chains that a packet was sent to and came back from.
type nesting []string

// depth is how deep the chain of a line is below the one that the hook begins.
func (n *nesting) depth(l *story.Line) int {
	parts := strings.Split(l.At, ":")
	if len(parts) < 4 {
		return 0
	}
	chain := string(l.Dialect) + ":" + l.Hook + ":" + parts[0] + ":" + parts[1]
	switch i := slices.Index(*n, chain); {
	case i >= 0:
		*n = (*n)[:i+1]
	case parts[1] == l.Hook:
		*n = nesting{chain}
	default:
		*n = append(*n, chain)
	}
	return len(*n) - 1
}

// frame is how many lines the header, the lanes and the end of a passage count for.
const frame = 8

// Lines is how many lines the ways take that a page shows of a story.
func Lines(s *story.Story) int {
	n := 0
	for i := range s.Outcomes[:min(len(s.Outcomes), FullOutcomes)] {
		for j := range s.Outcomes[i].Passages {
			n += frame + len(s.Outcomes[i].Passages[j].Lines)
		}
	}
	return n
}
