package allpackets

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// roomLines is how many lines of ways a page has room for, so that a browser opens it at once. Where a way has no room, the page says so.
const roomLines = 20_000

// drawing is an answer that becomes a page.
type drawing struct{ lines int }

// WriteHTML writes the answer as a page.
func (d *Diff) WriteHTML(w io.Writer) error {
	colour, word := "bad", "differ"
	switch {
	case d.Open():
		colour, word = "open", "cannot say"
	case d.Same:
		colour, word = "good", "alike"
	}
	draw := drawing{roomLines}
	var parts []dom.Part
	for i := range d.Differences {
		parts = append(parts, draw.difference(d, i))
	}
	head := dom.Parts(page.State(colour, word), dom.Textf(" %s, and %s", d.sides[0].Name, d.sides[1].Name))
	return writePage(w, d.Answer, "diff", head, parts, d.Unread, d.Unknown)
}

// writePage writes a page of kinds of packets.
func writePage(w io.Writer, answer, what string, head dom.Part, kinds []dom.Part, unread, unknown []string, more ...dom.Part) error {
	return page.Write(w, &page.Page{Title: answer, What: what, Body: dom.Parts(
		dom.Element("h1", dom.Text(answer)),
		dom.Element("p.asked", head),
		dom.Parts(more...),
		dom.Parts(kinds...),
		page.Listed("Not known", unknown, page.Item),
		page.Listed("Not read", unread, page.Item))})
}

func (w *drawing) difference(d *Diff, i int) dom.Part {
	one, id := &d.Differences[i], "d"+strconv.Itoa(i)
	return dom.Element("section.finding", dom.ID(id),
		dom.Element("h2", page.State("bad", "differs"), dom.Textf(" %s of all %s packets of IPv%d", ShareText(one.Share), one.Class, one.Family)),
		dom.Element("dl.facts", one.facts(), ends(one.Ends)),
		dom.Element("div.beside", fate("expected", "before", one.Before, one.DecidedBefore), fate("got", "after", one.After, one.DecidedAfter)),
		w.way("The way before", &d.sides[0], one.witness, id+"before"), w.way("The way after", &d.sides[1], one.witness, id+"after"))
}

// facts are what is said of the packets.
func (k *Kind) facts() dom.Part {
	return dom.Parts(page.Fact("such as", dom.Text(k.Packets)),
		dom.If(len(k.If) > 0, page.Fact("if", dom.Text(strings.Join(k.If, " and ")))),
		page.Fact("packet", page.Code(k.Packet)))
}

// ends are the names of a packet's ends.
func ends(names string) dom.Part {
	return dom.If(names != "", page.Fact("ends", dom.Element("span.object", dom.Text(names))))
}

// fate is what becomes of a packet, and what decides, for a page that shows it beside another one.
func fate(class, title string, of forall.Distribution, decided []string) dom.Part {
	var lines []string
	for _, share := range of {
		line := share.Fate.String()
		if len(of) > 1 {
			line = fmt.Sprintf("%.4g: %s", share.Probability, line)
		}
		lines = append(lines, line)
	}
	return dom.Element("div", dom.Class(class), dom.Element("h4", dom.Text(title)),
		dom.Element("p", dom.Text(strings.Join(lines, "\n"))),
		dom.If(len(decided) > 0, dom.Element("ul", dom.Each(decided, func(rule *string) dom.Part {
			return dom.Element("li", dom.Text("by "), page.Code(*rule))
		}))))
}

// way is a packet's way through a host, folded; nothing if the packet is nil. Where there is no room for it, that is said.
func (w *drawing) way(title string, side *Side, in *inet.Input, id string) dom.Part {
	if in == nil {
		return dom.Parts()
	}
	result, err := side.Host.Trace(*in, packetsim.WalkOptions{})
	if err != nil {
		return dom.Parts() // what decides says so
	}
	options := story.Options{Host: side.Name}
	if side.Names != nil {
		options.Names = side.Names
	}
	told := story.Of(result, options)
	lines := page.Lines(&told)
	if lines > w.lines {
		return dom.Element("p", dom.Text(title+" is left out, since the page is long already: trace shows it."))
	}
	w.lines -= lines
	return dom.Element("details.source", dom.Element("summary", dom.Text(title)), page.NewWay(&told, id).Body())
}

// WriteHTML writes the answer as a page.
func (n *Nodes) WriteHTML(w io.Writer) error {
	colour, word := "bad", "odd"
	switch alike, open := n.State(); {
	case open:
		colour, word = "open", "cannot say"
	case alike:
		colour, word = "good", "alike"
	}
	draw := drawing{roomLines}
	var parts []dom.Part
	for i := range n.Odd {
		parts = append(parts, draw.oddity(&n.Odd[i], "o"+strconv.Itoa(i)))
	}
	head := dom.Parts(page.State(colour, word), dom.Text(" "), dom.Joined(n.Groups[0]))
	for _, group := range n.Groups[1:] {
		head = dom.Parts(head, dom.Text("; odd: "), dom.Joined(group))
	}
	return writePage(w, n.Answer, "diff", head, parts, n.Unread, n.Unknown,
		page.Listed("Compared: first packets", n.Compared, page.Item), page.Listed("Left out", n.LeftOut, page.Item))
}

func (w *drawing) oddity(o *Oddity, id string) dom.Part {
	odd := o.Nodes[0]
	return dom.Element("section.finding", dom.ID(id),
		dom.Element("h2", page.State("bad", strings.Join(o.Nodes, ", ")),
			dom.Textf(" %s of the packets %s, of IPv%d", ShareText(o.Share), o.From, o.Family)),
		dom.Element("dl.facts", o.facts(),
			dom.If(o.PacketThere != o.Packet, page.Fact("as", dom.Parts(page.Code(o.PacketThere), dom.Text(" on "+o.Most)))), ends(o.Ends)),
		dom.Element("div.beside", fate("expected", o.Most, o.There, o.DecidedThere), fate("got", odd, o.Here, o.DecidedHere)),
		w.way("The way on "+odd, o.sides[0], o.witnesses[0], id+"odd"), w.way("The way on "+o.Most, o.sides[1], o.witnesses[1], id+"most"))
}

// WriteHTML writes the answer as a page.
func (r *Answers) WriteHTML(w io.Writer) error {
	colour, word := "good", "found"
	switch {
	case r.Open():
		colour, word = "open", "cannot say"
	case len(r.Kinds) == 0:
		colour, word = "none", "none"
	}
	draw := drawing{roomLines}
	var parts []dom.Part
	for i := range r.Kinds {
		parts = append(parts, draw.answer(&r.Kinds[i], "a"+strconv.Itoa(i)))
	}
	head := dom.Parts(page.State(colour, word), dom.Text(" "), page.Code(r.Question))
	return writePage(w, r.Answer, "ask", head, parts, r.Unread, r.Unknown)
}

func (w *drawing) answer(k *Answer, id string) dom.Part {
	way := "The way"
	if k.Node != "" {
		way = "The way through " + k.Node
	}
	return dom.Element("section.finding.answer", dom.ID(id),
		dom.Element("h2", dom.Textf("%s of all %s packets of IPv%d%s", ShareText(k.Share), k.Class, k.Family, k.where())),
		dom.Element("dl.facts", k.facts(), ends(k.Ends),
			dom.If(k.Probability < 1-tolerance, page.Fact("chance", dom.Textf("%.4g", k.Probability)))),
		dom.Element("div.beside", fate("", "fate", k.Fates, k.Decided),
			dom.If(len(k.Replies) > 0, dom.Element("div", dom.Element("h4", dom.Text("reply")),
				dom.Element("ul", dom.Each(k.Replies, (*Reply).item))))),
		w.way(way, k.side, k.witness, id+"way"))
}

// item is the reply in a list.
func (r *Reply) item() dom.Part {
	return dom.Element("li", dom.Text(r.text()), dom.If(r.Decided != "", dom.Text(" by "), page.Code(r.Decided)))
}
