package live

import (
	"io"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
)

// WriteHTML writes the report as a page.
func (r *Report) WriteHTML(w io.Writer) error {
	return page.Write(w, &page.Page{Title: r.Answer, What: "doctor", Body: r.body()})
}

func (r *Report) body() dom.Part {
	state := r.State()
	id := 0
	return dom.Parts(
		dom.Element("h1", dom.Text(r.Answer)),
		dom.Element("p.asked", page.State(state.Colour, state.Word), dom.Textf(" %d connections judged", r.Connections)),
		dom.Each(r.Findings, func(f *Finding) dom.Part { id++; return f.body("f" + strconv.Itoa(id-1)) }),
		listed("Undecided", r.Doubts, func(d *Doubt) dom.Part {
			return dom.Element("li", dom.Textf("%d connections, unless %s", d.Connections, d.Unless),
				dom.If(d.See != "", dom.Text(" (see "), code(d.See), dom.Text(")")))
		}),
		listed("Not judged", r.Unjudged, func(u *Unjudged) dom.Part {
			return dom.Element("li", dom.Textf("%d connections, %s", u.Connections, u.Why))
		}),
		listed("Notes", r.Notes, page.Item),
		listed("Nodes", r.Nodes, func(n *NodeReport) dom.Part { return dom.Element("li", dom.Text(n.Name+": "+n.Text())) }))
}

// listed is a list with a title, and nothing without items.
func listed[T any](title string, list []T, item func(*T) dom.Part) dom.Part {
	return dom.If(len(list) > 0, dom.Element("section", dom.Element("h2", dom.Text(title)), dom.Element("ul.notes", dom.Each(list, item))))
}

func code(text string) dom.Part { return dom.Element("code", dom.Text(text)) }

// fact is a row of what is known of a finding, and nothing without a value.
func fact(what string, value dom.Part) dom.Part {
	return dom.Element("div", dom.Element("dt", dom.Text(what)), dom.Element("dd", value))
}

func (f *Finding) body(id string) dom.Part {
	outside := ""
	if f.Outside {
		outside = ", of clients outside alone"
	}
	return dom.Element("section.finding", dom.ID(id),
		dom.Element("h2", dom.Text(string(f.Code)+" "),
			dom.Element("span.tools", dom.Textf("%d services, %d ways%s", len(f.Services), f.Suffering, outside))),
		dom.Element("p.clause", dom.Text(f.Says)),
		dom.Element("dl.facts", fact("nodes", dom.Joined(f.Nodes)),
			dom.If(len(f.Services) > 0, fact("services", dom.Joined(f.Services))),
			dom.If(f.Owner != "", fact("owner", dom.Text(f.Owner))),
			dom.If(f.Remedy != "", fact("mend it", code(f.Remedy))),
			dom.If(f.Also.Remedy != "" && f.Also.Remedy != f.Remedy, fact("and of IPv6", code(f.Also.Remedy))),
			held("missing", f.Missing), held("foreign", f.Foreign), held("moved", f.Moved), held("decided", f.Deciding),
			dom.Each(f.Remembered, func(r *string) dom.Part { return fact("forget", code(*r)) })),
		dom.Each(f.Packets, (*Packet).body))
}

// held are rules.
func held(what string, rules []Rule) dom.Part {
	return dom.Each(rules, func(r *Rule) dom.Part {
		return fact(what, dom.Parts(code(r.String()), dom.If(r.Why != "", dom.Text(" "), dom.Element("span.why", dom.Text(r.Why)))))
	})
}

func (p *Packet) body() dom.Part {
	return dom.Parts(dom.Element("p.asked", code(p.Packet)),
		page.Beside(p.Want, "", p.Got),
		dom.If(len(p.Ways) > 0, dom.Element("ul", dom.Each(p.Ways, page.Item))),
		dom.If(len(p.Way) > 0, dom.Element("details.source", dom.Element("summary", dom.Text("The way, rule by rule")),
			dom.Element("pre", dom.Attribute("tabindex", "0"), dom.Each(p.Way, func(l *string) dom.Part { return dom.Text(*l + "\n") })))))
}

// WriteHTML writes the matrix as a page.
func (m *Matrix) WriteHTML(w io.Writer) error {
	return page.Write(w, &page.Page{Title: m.Sentence(), What: "why", Body: m.body()})
}

func (m *Matrix) body() dom.Part {
	return dom.Parts(dom.Element("h1", dom.Text(m.Sentence())),
		dom.Each(m.Clients(), (*MatrixClient).body),
		listed("Causes", m.Causes, page.Cause),
		listed("Notes", m.Notes, page.Item))
}

func (c *MatrixClient) body() dom.Part {
	reached := dom.Element("p", page.State("good", "all"))
	if len(c.Stopped) > 0 {
		reached = dom.Element("ul.notes", dom.Each(c.Stopped, func(s *MatrixStop) dom.Part {
			return dom.Element("li", page.State(s.Colour, s.Word), dom.Text(" "), dom.Joined(s.Ends))
		}))
	}
	return dom.Element("section.finding",
		dom.Element("h2", dom.Text(c.From+" "), dom.Element("span.tools", dom.Textf("reaches %d of %d", c.Reached, c.Of))), reached)
}
