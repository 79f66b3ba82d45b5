package live

import (
	"fmt"
	"io"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
)

// WriteHTML writes the migration as a page.
func (m *Migration) WriteHTML(w io.Writer) error {
	return page.Write(w, &page.Page{Title: m.Answer, What: "migrate", Body: m.body()})
}

func (m *Migration) body() dom.Part {
	d := &drawing{lines: roomLines}
	if m.names != nil {
		d.names = m.names()
	}
	var differences []dom.Part
	for i := range m.Findings {
		differences = append(differences, d.moved(&m.Findings[i], "bad", "finding", "f"+strconv.Itoa(i)))
	}
	for i := range m.Documented {
		one, colour := &m.Documented[i], "good"
		if one.Unserved > 0 {
			colour = "open"
		}
		differences = append(differences, d.moved(one, colour, "documented", "d"+strconv.Itoa(i)))
	}
	state, colour := m.State(), "good"
	switch state {
	case MigrationFinds:
		colour = "bad"
	case MigrationUnknown:
		colour = "open"
	}
	return dom.Parts(
		dom.Element("h1", dom.Text(m.Answer)),
		dom.Element("p.asked", page.State(colour, string(state)), dom.Textf(" %d of %s the same", m.Same, plural(m.Ways, "way"))),
		dom.Parts(differences...),
		dom.Each(m.AllPackets, allPacketsOf),
		page.Listed("Step by step", m.Moments, (*Moment).item),
		page.Listed("Undecided", m.Doubts, func(d *Doubt) dom.Part {
			return dom.Element("li", dom.Textf("%s, unless %s", plural(d.Connections, "connection"), d.Unless),
				dom.If(d.See != "", dom.Text(" (see "), page.Code(d.See), dom.Text(")")))
		}),
		page.Listed("Not judged", m.Unjudged, func(u *Unjudged) dom.Part {
			return dom.Element("li", dom.Textf("%s, %s", plural(u.Connections, "connection"), u.Why))
		}),
		page.Listed("Notes", m.Notes, page.Item),
		page.Listed("Nodes", m.Nodes, func(n *MigratedNode) dom.Part { return dom.Element("li", dom.Text(n.Name+": "+n.text())) }))
}

// allPacketsOf is what becomes of all packets of a node, with the kinds folded that a clause covers.
func allPacketsOf(a *explained.Answer) dom.Part {
	colour, word := "good", "all packets"
	switch {
	case len(a.Findings) > 0:
		colour = "bad"
	case a.Open() || a.Skipped != "":
		colour = "open"
	}
	return dom.Parts(
		dom.Element("h2", page.State(colour, word), dom.Text(" of "+a.Node+": "+a.Answer)),
		dom.Each(a.Findings, func(k *explained.Finding) dom.Part { return dom.Element("section", kindOf(k)) }),
		dom.Each(a.Covered, func(c *explained.Covered) dom.Part {
			return dom.Element("details.source", dom.Element("summary", dom.Textf("%s, %s", c.Clause, plural(c.Kinds, "kind"))), kindOf(&c.Example))
		}),
		page.Listed("Cannot say", a.Unknown, page.Item), page.Listed("Not compared", a.LeftOut, page.Item))
}

// kindOf is a kind of packets.
func kindOf(k *explained.Finding) dom.Part {
	side := func(class, when, what string, decided []string) dom.Part {
		return dom.Element("div", dom.Class(class), dom.Element("h4", dom.Text(when)), dom.Element("p", dom.Text(what)),
			dom.Each(decided, func(by *string) dom.Part { return dom.Element("p", dom.Text("by "), page.Code(*by)) }))
	}
	return dom.Parts(
		dom.Element("dl.facts", page.Fact("how many", dom.Text(k.Share)), page.Fact("such as", dom.Text(k.Packets)),
			page.Fact("packet", page.Code(k.Packet)), dom.If(k.Ends != "", page.Fact("ends", dom.Text(k.Ends)))),
		dom.Element("div.beside", side("expected", "before", k.Before, k.DecidedBefore), side("got", "after", k.After, k.DecidedAfter)))
}

// item is the moment in a list.
func (m *Moment) item() dom.Part {
	return dom.Element("li", dom.Element("b", dom.Text(m.Name)), dom.Text(": "+m.summary()),
		dom.If(m.Says != "", dom.Element("br"), dom.Text(m.Says)),
		dom.Each(m.AllPackets, func(a *explained.Answer) dom.Part {
			return dom.If(a.Kinds+len(a.Unknown) > 0, dom.Element("details.source",
				dom.Element("summary", dom.Textf("All packets of %s: %s", a.Node, a.Answer)),
				dom.Each(a.Findings, kindOf), page.Listed("Cannot say", a.Unknown, page.Item)))
		}))
}

// moved is one difference.
func (d *drawing) moved(m *Moved, colour, word, id string) dom.Part {
	title := m.Says
	if m.Clause != "" {
		title = m.Clause
	}
	return dom.Element("section.finding", dom.ID(id),
		dom.Element("h2", page.State(colour, word), dom.Text(" "+title)),
		dom.If(m.Clause != "", dom.Element("p", dom.Text(m.Says))),
		dom.Element("dl.facts",
			dom.If(m.Sentence != "", page.Fact("the document says", dom.Element("q", dom.Text(m.Sentence)))),
			dom.If(m.Document != "", page.Fact("source", dom.Text(m.Document))),
			dom.If(m.Ways > 0, page.Fact("differs", dom.Text(m.figures()))),
			dom.If(len(m.Services) > 0, page.Fact("services", servicesOf(m.Services))),
			dom.If(m.Cause.Code != "", page.Fact("stopped", dom.Textf("%s (%s)", m.Cause.Says, m.Cause.Code))),
			dom.If(m.Set != "", page.Fact("set", dom.Text(m.Set)))),
		d.example(m.Example, id))
}

// figures are how many packets are treated differently.
func (m *Moved) figures() string {
	text := plural(m.Ways, "way")
	switch m.Unserved {
	case 0:
	case m.Ways:
		text += ", whose clients are not served any longer"
	default:
		text += fmt.Sprintf(", and the clients of %d of them are not served any longer", m.Unserved)
	}
	return text
}

// example is a packet before and after, with both ways from host to host, folded.
func (d *drawing) example(e *MovedPacket, id string) dom.Part {
	if e == nil {
		return dom.Parts()
	}
	side := func(class, when, what string) dom.Part {
		return dom.Element("div", dom.Class(class), dom.Element("h4", dom.Text(when)), dom.Element("p", dom.Text(what)))
	}
	way := func(when string, told []story, lines []string) dom.Part {
		summary := dom.Element("summary", dom.Text("The way "+when))
		if drawn := d.story(&Packet{Packet: e.Packet, told: told}); drawn != nil {
			return dom.Element("details.source", summary, page.NewWay(drawn, id+when).Body())
		}
		return dom.If(len(lines) > 0, dom.Element("details.source", summary,
			dom.Element("pre", dom.Attribute("tabindex", "0"), dom.Each(lines, func(l *string) dom.Part { return dom.Text(*l + "\n") }))))
	}
	return dom.Parts(
		dom.Element("p.asked", page.Code(e.Packet)),
		dom.Element("div.beside", side("expected", "before", e.Before), side("got", "after", e.After)),
		way("before", e.before, e.WayBefore), way("after", e.after, e.WayAfter))
}
