package live

import (
	"io"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	stories "github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// names are the names of the cluster's objects.
func (c *Cluster) names() stories.Names { return names.New(c.Objects) }

// roomLines is how many lines of ways the page of a report has room for, so that a browser opens it at once. Ways beyond are told as text.
const roomLines = 20_000

// namedServices is as many services of a finding as are not folded.
const namedServices = 12

// drawing is a report that becomes a page.
type drawing struct {
	names stories.Names
	lines int  // that there is room for
	shown bool // a way is unfolded
}

// WriteHTML writes the report as a page.
func (r *Report) WriteHTML(w io.Writer) error {
	return page.Write(w, &page.Page{Title: r.Answer, What: "doctor", Body: r.body()})
}

func (r *Report) body() dom.Part {
	d := &drawing{lines: roomLines}
	if r.names != nil {
		d.names = r.names()
	}
	var findings []dom.Part
	for i := range r.Findings {
		findings = append(findings, d.finding(&r.Findings[i], "f"+strconv.Itoa(i)))
	}
	state := r.State()
	return dom.Parts(
		dom.Element("h1", dom.Text(r.Answer)),
		dom.Element("p.asked", page.State(state.Colour, state.Word), dom.Textf(" %d connections judged", r.Connections)),
		dom.Parts(findings...),
		page.Listed("Undecided", r.Doubts, func(d *Doubt) dom.Part {
			return dom.Element("li", dom.Textf("%d connections, unless %s", d.Connections, d.Unless),
				dom.If(d.See != "", dom.Text(" (see "), page.Code(d.See), dom.Text(")")))
		}),
		page.Listed("Not judged", r.Unjudged, func(u *Unjudged) dom.Part {
			return dom.Element("li", dom.Textf("%d connections, %s", u.Connections, u.Why))
		}),
		page.Listed("Notes", r.Notes, page.Item),
		page.Listed("All packets", r.AllPackets, func(a *AllPackets) dom.Part { return dom.Element("li", dom.Text(a.Node+": "+a.Answer)) }),
		page.Listed("Nodes", r.Nodes, func(n *NodeReport) dom.Part { return dom.Element("li", dom.Text(n.Name+": "+n.Text())) }))
}

func (d *drawing) finding(f *Finding, id string) dom.Part {
	var packets []dom.Part
	for i := range f.Packets {
		packets = append(packets, d.packet(&f.Packets[i], id+"w"))
	}
	return dom.Element("section.finding", dom.ID(id),
		dom.Element("h2", page.State("bad", string(f.Code)), dom.Text(" "+f.Says)),
		f.suffer(),
		dom.Element("dl.facts", page.Fact("nodes", dom.Joined(f.Nodes)),
			dom.If(len(f.Services) > 0, page.Fact("services", servicesOf(f.Services))),
			dom.If(f.Owner != "", page.Fact("owner", dom.Text(f.Owner))),
			dom.If(f.Remedy != "", page.Fact("fix it", page.Code(f.Remedy))),
			dom.If(f.Also.Remedy != "" && f.Also.Remedy != f.Remedy, page.Fact("and of IPv6", page.Code(f.Also.Remedy))),
			held("missing", f.Missing), held("foreign", f.Foreign), held("moved", f.Moved), held("decided", f.Deciding),
			dom.Each(f.Stopped, func(r *PacketRange) dom.Part { return page.Fact("replies", dom.Text(r.Node+": "+r.Replies)) }),
			dom.Each(f.Remembered, func(r *string) dom.Part { return page.Fact("forget", page.Code(*r)) })),
		dom.Parts(packets...))
}

// suffer are the figures of what suffers.
func (f *Finding) suffer() dom.Part {
	figure := func(n int, one, more string) dom.Part {
		if n == 1 {
			more = one
		}
		return dom.Element("div", dom.Element("dd", dom.Text(strconv.Itoa(n))), dom.Element("dt", dom.Text(more)))
	}
	ways := "ways"
	if f.Outside {
		ways = "ways, of clients outside alone"
	}
	return dom.Element("dl.figures", dom.Label("What suffers"), figure(len(f.Services), "service", "services"),
		figure(f.Suffering, "way", ways), figure(len(f.Nodes), "node", "nodes"))
}

// servicesOf are the names of services, folded where they are many.
func servicesOf(names []string) dom.Part {
	if len(names) <= namedServices {
		return dom.Joined(names)
	}
	return dom.Element("details", dom.Element("summary", dom.Text("all "+strconv.Itoa(len(names)))), dom.Joined(names))
}

// held are rules.
func held(what string, rules []Rule) dom.Part {
	return dom.Each(rules, func(r *Rule) dom.Part {
		return page.Fact(what, dom.Parts(page.Code(r.String()), dom.If(r.Why != "", dom.Text(" "), dom.Element("span.why", dom.Text(r.Why)))))
	})
}

// packet is one that suffers, with its way from host to host, that of the first finding unfolded. Where there is no room for that, or in a
// report that was read, the way is told in lines.
func (d *drawing) packet(p *Packet, id string) dom.Part {
	head := dom.Parts(dom.Element("p.asked", page.Code(p.Packet)), page.Compare(p.Want, "", p.Got))
	if told := d.story(p); told != nil {
		unfolded := dom.If(!d.shown, dom.Attribute("open", ""))
		d.shown = true
		return dom.Parts(head, dom.Element("details.source", unfolded,
			dom.Element("summary", dom.Text("The way, host by host")), page.NewWay(told, id).Body()))
	}
	return dom.Parts(head,
		dom.If(len(p.Ways) > 0, dom.Element("ul", dom.Each(p.Ways, page.Item))),
		dom.If(len(p.Way) > 0, dom.Element("details.source", dom.Element("summary", dom.Text("The way, rule by rule")),
			dom.Element("pre", dom.Attribute("tabindex", "0"), dom.Each(p.Way, func(l *string) dom.Part { return dom.Text(*l + "\n") })))))
}

// story is what became of a packet, for lanes; nil where it is not known, and where there is no room for it.
func (d *drawing) story(p *Packet) *stories.Story {
	if len(p.told) == 0 {
		return nil
	}
	var connections []network.Connection
	var journeys []network.Journey
	for i := range p.told {
		s := &p.told[i]
		if s.connection != nil {
			connections = append(connections, *s.connection)
			continue
		}
		journey := *s.journeys[0]
		journey.Probability = s.probability
		journeys = append(journeys, journey)
	}
	var out stories.Story
	if len(connections) > 0 {
		out = stories.OfConnections(p.Packet, connections, stories.Options{Names: d.names})
	} else {
		out = stories.OfJourneys(p.Packet, journeys, stories.Options{Names: d.names})
	}
	lines := page.Lines(&out)
	if lines > d.lines {
		return nil
	}
	d.lines -= lines
	return &out
}

// WriteHTML writes the matrix as a page.
func (m *Matrix) WriteHTML(w io.Writer) error {
	return page.Write(w, &page.Page{Title: m.Sentence(), What: "why", Body: m.body()})
}

func (m *Matrix) body() dom.Part {
	return dom.Parts(dom.Element("h1", dom.Text(m.Sentence())),
		dom.Each(m.Clients(), (*MatrixClient).body),
		page.Listed("Causes", m.Causes, page.Cause),
		page.Listed("Notes", m.Notes, page.Item))
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
