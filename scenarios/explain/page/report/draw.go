package report

import (
	"cmp"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
)

func figures(list []figure) dom.Part {
	return dom.Element("dl.figures", dom.Each(list, func(f *figure) dom.Part {
		return dom.Element("div", dom.Element("dd", dom.Text(strconv.Itoa(f.Number))), dom.Element("dt", dom.Text(f.What)))
	}))
}

func (r *run) body() dom.Part {
	return dom.Parts(
		dom.Element("h1", dom.Text(r.Sentence)),
		figures(r.Figures),
		dom.If(r.LeftOut > 0, dom.Element("p.notes",
			dom.Textf("The ways of %d checks are not in this page, which would be too big to be opened.", r.LeftOut))),
		dom.If(len(r.Groups) > 0, dom.Element("section.failures", dom.Label("Failures by what decided"),
			dom.Element("h2", dom.Text("By what decided")), dom.Element("ol", dom.Each(r.Groups, group)))),
		dom.If(len(r.Failures) > 0, dom.Element("nav.failures", dom.Label("Failures"),
			dom.Element("h2", dom.Text("What failed")), dom.Element("ol", dom.Each(r.Failures, failure)))),
		dom.Element("section", dom.Label("Scenarios"),
			dom.Element("div.tools-bar", dom.Element("h2", dom.Text("Scenarios")), filter()),
			dom.Element("div.scenarios", dom.If(r.Timed, dom.Class("timed")),
				dom.Each(r.Scenarios, func(s **scenario) dom.Part { return (*s).folded() }))))
}

func group(g *scenarios.FailureGroup) dom.Part {
	return dom.Element("li", dom.Text(plural(len(g.Files), "file")+": "+g.What+" "),
		dom.Element("details.files", dom.Element("summary", dom.Text("the files")),
			dom.Element("ul", dom.Each(g.Files, func(f *string) dom.Part { return dom.Element("li.file", dom.Text(*f)) }))))
}

func failure(of **check) dom.Part {
	c := *of
	return dom.Element("li", dom.Element("a", dom.Link(c.ID), dom.Text(c.Scenario+": "+c.Name)), dom.Text(" "),
		tools(c.Tools), dom.Text(" "), dom.Element("span.wrong", dom.Text(c.Wrong)))
}

// tools are the variants of iptables that agree about a check.
func tools(which string) dom.Part { return dom.Element("span.tools", dom.Text("iptables-"+which)) }

// filter chooses scenarios, by the script.
func filter() dom.Part {
	button := func(verdict, text string) dom.Part {
		return dom.Element("button", dom.Attribute("type", "button"), dom.Data("verdict", verdict), dom.Pressed(verdict == ""), dom.Text(text))
	}
	return dom.Element("form.scripted", dom.ID("filter"), dom.Attribute("role", "search"),
		dom.Element("label", dom.Text("Filter "),
			dom.Element("input", dom.Attribute("type", "search"), dom.Attribute("name", "text"),
				dom.Attribute("placeholder", "name, file or check"))), dom.Text("\n"),
		dom.Element("span", dom.Attribute("role", "group"), dom.Label("Verdicts"),
			button("", "All"), button(verdictFailed, "Failed"), button(verdictHeld, "Held"), button(verdictSkipped, "Skipped")), dom.Text("\n"),
		dom.Element("output"))
}

// folded is a scenario of the list, open if it failed.
func (s *scenario) folded() dom.Part {
	count := plural(len(s.Checks), "check")
	if s.Skipped != "" {
		count = ""
	}
	return dom.Element("details.scenario", dom.Class(s.Verdict), dom.ID(s.ID), dom.Data("verdict", s.Verdict),
		dom.If(len(s.Failing) > 0, dom.Attribute("open", "")),
		dom.Element("summary", dom.Element("span.verdict", dom.Text(s.Verdict)), dom.Text(" "), dom.Element("span.name", dom.Text(s.Name)),
			dom.Text(" "), dom.Element("span.file", dom.Text(s.File)), dom.Text(" "), dom.Element("span.count", dom.Text(count)),
			dom.If(s.Time != "", dom.Text(" "), dom.Element("span.time", dom.Text(s.Time)))),
		s.body())
}

// body is what came of a scenario.
func (s *scenario) body() dom.Part {
	return dom.Element("div.body",
		dom.If(s.Skipped != "", dom.Element("p.reason", dom.Text("Not run: "+s.Skipped))),
		dom.Each(s.Failing, func(c **check) dom.Part { return (*c).body() }),
		dom.If(len(s.Passed) > 0, dom.Element("details.passed", dom.Element("summary", dom.Textf("%d held", len(s.Passed))),
			dom.Element("ul", dom.Each(s.Passed, func(c **check) dom.Part { return dom.Element("li", (*c).passed()) })))),
		dom.If(s.NoRoom, dom.Element("p.none", dom.Text("The scenario's file is not in this page, which would be too big to be opened."))),
		dom.If(len(s.Source) > 0, source(dom.Each(s.Source, func(l *sourceLine) dom.Part {
			if l.ID == "" {
				return dom.Text(l.Text)
			}
			return dom.Element("mark", dom.ID(l.ID), dom.Text(l.Text))
		}))))
}

// source is the file of a scenario, folded unless it is told to be open.
func source(lines dom.Part, open ...dom.Part) dom.Part {
	return dom.Element("details.source", dom.Parts(open...), dom.Element("summary", dom.Text("The scenario's YAML")),
		dom.Element("pre", dom.Attribute("tabindex", "0"), lines))
}

// passed is a check that held: with its way all of it, otherwise in a line.
func (c *check) passed() dom.Part {
	if c.Way != nil {
		return c.body()
	}
	said := "iptables-" + c.Tools
	if c.Skipped != "" {
		said = "skipped: " + c.Skipped
	}
	return dom.Parts(dom.Element("span.name", dom.Text(c.Name)), dom.Text(" "), dom.Element("span.tools", dom.Text(said)),
		dom.If(c.Got != "", dom.Text(" "), dom.Element("span.got", dom.Text(c.Got))))
}

func (c *check) body() dom.Part {
	colour, word, class := "bad", "failed", "bad"
	if c.Passed {
		colour, word, class = "good", "held", ""
	}
	at := dom.Text(c.At)
	if c.Line != "" {
		at = dom.Element("a", dom.Link(c.Line), at)
	}
	return dom.Element("section.check", dom.Class(class), dom.ID(c.ID),
		dom.Element("h3", page.State(colour, word), dom.Text(" "+c.Name+" "), tools(c.Tools)),
		dom.Element("p.asked", dom.If(c.Packet != "", dom.Element("code", dom.Text(c.Packet)), dom.Text(" ")), at),
		dom.If(len(c.Names) > 0, dom.Element("ul.named", dom.Each(c.Names, func(n *scenarios.Named) dom.Part {
			return dom.Element("li", dom.Element("code", dom.Text(n.Address)), dom.Text(" "), dom.Element("span.object", dom.Text(n.Name)))
		}))),
		dom.If(c.Expected != "" || c.Got != "", page.Compare(c.Expected, c.Predicted, c.Got)),
		dom.If(c.Wrong != c.Got && c.Wrong != "", dom.Element("p.wrong", dom.Text(c.Wrong))),
		page.Notes(c.Notes),
		page.Unreached(c.Unreached),
		c.ways())
}

// ways are the ways that a check's packet took, and the predicted ones.
func (c *check) ways() dom.Part {
	var parts []dom.Part
	if c.Way != nil {
		parts = append(parts, c.Way.Body())
	}
	if c.More > 0 {
		parts = append(parts, dom.Element("p.none", dom.Text(plural(c.More, "more way")+" not in this page (--ways all).")))
	}
	if c.Foretold != nil {
		parts = append(parts, dom.Element("h4", dom.Text("Predicted")), c.Foretold.Body())
	}
	return dom.Parts(parts...)
}

func (s *search) body() dom.Part {
	shard := ""
	if s.Shard > 0 {
		shard = ", shard " + strconv.Itoa(s.Shard) + " of " + strconv.Itoa(s.Shards)
	}
	return dom.Parts(
		dom.Element("h1", dom.Text(s.Sentence)),
		figures(s.Figures),
		dom.Element("p.asked", dom.Textf("seed %d%s, commit %s", s.Seed, shard, cmp.Or(s.Commit, "unknown"))),
		dom.Each(s.Sections, (*section).body))
}

func (s *section) body() dom.Part {
	replay := source(dom.Text(s.File), dom.Attribute("open", ""))
	if s.Replay != nil {
		replay = s.Replay.body()
	}
	return dom.Element("section.finding", dom.ID(s.ID),
		dom.Element("h2", dom.Text(s.Clause+" "), dom.Element("span.tools", dom.Text(cmp.Or(s.Law, "no law")))),
		dom.Element("p.clause", dom.Text(s.Text)),
		dom.If(s.Cause != "", dom.Element("p", dom.Text("cause: "+s.Cause))),
		dom.Element("p.asked", dom.Text(s.Where+"; again: "), dom.Element("code", dom.Text(s.Again))),
		dom.If(len(s.Also) > 0, dom.Element("ul.notes", dom.Each(s.Also, func(a *Again) dom.Part {
			return dom.Element("li", dom.Text("also breaks "+a.Clause+": "), dom.Element("code", dom.Text(a.Command)))
		}))),
		page.Compare(s.Want, "", s.Got),
		replay)
}
