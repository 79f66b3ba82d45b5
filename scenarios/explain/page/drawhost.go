package page

import (
	"strconv"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

func (l *lanes) body() dom.Part {
	return dom.Element("div.lanes", dom.Attribute("role", "group"), dom.Label("Way from host to host"), dom.Attribute("tabindex", "0"),
		dom.Element("div.grid.names", dom.Style(l.Grid), dom.Each(l.Columns, func(c *column) dom.Part {
			return dom.Element("div.lane", dom.Class(string(c.Role)), dom.Style(c.At), hostName(c.Role, c.Host))
		})),
		dom.Each(l.Rows, func(r *row) dom.Part {
			return dom.Element("div.direction", dom.Class(string(r.Direction)), dom.Element("span.title", dom.Text(r.Title)),
				dom.Element("div.grid", dom.Style(l.Grid), dom.Each(r.Cells, (*cell).body)))
		}))
}

// hostName is a host with its role, which it may have for its name.
func hostName(r story.Role, host string) dom.Part {
	return dom.Parts(dom.Element("span.role", dom.Text(string(r))),
		dom.If(host != string(r), dom.Text(" "), dom.Element("b", dom.Text(host))))
}

func (c *cell) body() dom.Part {
	switch {
	case c.Passage != nil:
		return c.Passage.stop(c.At)
	case c.End != nil:
		return dom.Element("div.stop.end", dom.Style(c.At), Code(c.End.Address),
			dom.If(c.End.Name != "", dom.Element("span.object", dom.Text(c.End.Name))))
	}
	return dom.Element("div.arrow", dom.Class(c.Point), dom.Style(c.At), dom.Element("span", dom.Text(c.Arrow)))
}

// stop is a passage in its lane.
func (p *passage) stop(at dom.Declaration) dom.Part {
	return dom.Element("div.stop", dom.Class(string(p.Role)), dom.Style(at),
		dom.Element("p.host", hostName(p.Role, p.Host)),
		headerOf(p.Came).body(),
		dom.Element("ol.hooks", dom.Each(p.Hooks, func(h *hook) dom.Part {
			title := h.title()
			if p.Told {
				title = dom.Element("a", dom.Link(h.ID), title)
			}
			return dom.Element("li", title, dom.If(len(h.Events) > 0, dom.Element("ul", dom.Each(h.Events, func(l **line) dom.Part {
				return dom.Element("li", dom.Class(string((*l).Kind)), (*l).event())
			}))))
		})),
		dom.If(p.Changed, headerOf(p.Left).body()),
		dom.Element("p.result", dom.Text(p.Result)))
}

// title is a hook with its tables, or what happened between two.
func (h *hook) title() dom.Part {
	if h.Name == "" {
		return dom.Element("span.hook.between", dom.Each(h.Events, func(l **line) dom.Part { return dom.Text(string((*l).Kind) + " ") }))
	}
	return dom.Parts(dom.Element("span.hook", dom.Text(h.Name)), dom.Each(h.Tables, func(t *table) dom.Part {
		return dom.Element("span.table", dom.Class(t.Name),
			dom.If(t.Decided, dom.Class("decided"), dom.Attribute("title", "the decision fell here")),
			dom.Text(t.Name), dom.If(t.Dialect != "", dom.Text(" ("+string(t.Dialect)+")")))
	}))
}

// event is a line as the lanes show it.
func (l *line) event() dom.Part {
	if len(l.Changes) == 0 {
		return dom.Text(l.Text)
	}
	return l.rewrite()
}

// rewrite is what a line changed of the header.
func (l *line) rewrite() dom.Part {
	return dom.Parts(dom.Each(l.Changes, func(c *change) dom.Part {
		return dom.Parts(dom.Element("span.change", dom.Element("span.field", dom.Text(c.What)), dom.Text(" "),
			dom.Element("del", dom.Text(c.From)), dom.Text(" "), dom.Element("ins", dom.Text(c.To)), object(c.ToName)), dom.Text(" "))
	}), dom.Element("span.note", dom.Text(l.Note)))
}

func (h header) body() dom.Part {
	address := func(at, name string) dom.Part { return dom.Element("span.address", Code(at), object(name)) }
	return dom.Element("p.header", dom.Element("span.proto", dom.Text(h.Proto)), dom.Text(" "), address(h.Src, h.SrcName), dom.Text(" "),
		dom.Element("span.to", dom.Label("to"), dom.Text("→")), dom.Text(" "), address(h.Dst, h.DstName),
		dom.If(h.Mark != "", dom.Text(" "), dom.Element("span.mark", dom.Text("mark "+h.Mark))),
		dom.If(h.Rest != "", dom.Text(" "), dom.Element("span.rest", dom.Text(h.Rest))))
}

// body is a passage line by line; nothing of one of which the lanes say all.
func (p *passage) body() dom.Part {
	if !p.Told {
		return nil
	}
	name, came := p.Host, "came by "+p.In
	if name != string(p.Role) {
		name = string(p.Role) + " " + name
	}
	if p.In == Local {
		came = "made here"
	}
	return dom.Element("section.passage", dom.ID(p.ID),
		dom.Element("h3", dom.Element("span.way-direction", dom.Class(string(p.Direction)), dom.Text(string(p.Direction))), dom.Text(" "+name),
			dom.Element("span.in", dom.Text(came))),
		dom.Each(p.Hooks, func(h *hook) dom.Part {
			return dom.Element("section.hook-lines", dom.ID(h.ID), dom.If(h.Name != "", dom.Element("h4", dom.Text(h.Name))),
				dom.Element("ol.lines", dom.Each(h.Groups, (*group).body)))
		}),
		dom.Element("p.result", dom.Text(p.Result)))
}

func (g *group) body() dom.Part {
	if g.Missed != nil {
		return g.Missed.body()
	}
	return g.line.body()
}

func (l *line) body() dom.Part {
	at := dom.Element("span.at", dom.Text(l.At))
	if l.At == "" {
		at = dom.Element("span.at.kind", dom.Text(string(l.Kind)))
	}
	did := dom.Text(l.Text)
	switch {
	case len(l.Changes) > 0:
		did = l.rewrite()
	case l.At != "":
		did = l.rule()
	}
	return dom.Element("li", dom.Class(string(l.Kind), depth(l.Depth)), dom.If(l.Decided, dom.Class("decided")),
		dom.If(l.Own, dom.Class("own")), dom.ID(l.ID), dom.If(l.Decided, dom.Attribute("tabindex", "-1")),
		at, dom.Element("span.did",
			dom.If(l.Dialect != "", dom.Element("span.backend", dom.Text(string(l.Dialect))), dom.Text(" ")), did,
			dom.If(l.Assumed != "", dom.Text(" "), dom.Element("span.why", dom.Text("not known; here it is assumed that "+l.Assumed))),
			object(l.Object), dom.If(l.Decided, dom.Text(" "), dom.Element("strong.flag", dom.Text("decided here")))))
}

// rule is a rule by its words.
func (l *line) rule() dom.Part {
	return dom.Element("code", dom.Each(l.Words, func(w *word) dom.Part {
		if w.Class == "" {
			return dom.Text(w.Text)
		}
		return dom.Element("span", dom.Class(w.Class), dom.Text(w.Text))
	}))
}

func depth(of int) string { return "d" + strconv.Itoa(of) }

func (m *missed) body() dom.Part {
	summary := strconv.Itoa(m.All()) + " rules did not match"
	if m.All() == 1 {
		summary = "1 rule did not match"
	}
	if m.Near > 0 {
		summary += ", " + strconv.Itoa(m.Near) + " nearly"
	}
	return dom.Element("li.misses", dom.Element("details", dom.Element("summary", dom.Text(summary)),
		dom.Element("ol.lines", dom.Each(m.Lines, func(l **line) dom.Part { return (*l).missed() }),
			dom.If(m.More > 0, dom.Element("li.more", dom.Textf("and %d more that are not in this page", m.More))))))
}

// missed is a rule that did not match, and why.
func (l *line) missed() dom.Part {
	return dom.Element("li.missed", dom.Class(depth(l.Depth)), dom.Element("span.at", dom.Text(l.At)),
		dom.Element("span.did", l.rule(), object(l.Object),
			dom.If(l.Failed != "", dom.Text(" "), dom.Element("span.why", dom.Text("failed: "+l.Failed)))))
}
