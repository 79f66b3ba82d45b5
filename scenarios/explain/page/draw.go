package page

import (
	"strings"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// trace is what the page of a trace shows.
func trace(s *story.Story) dom.Part {
	return dom.Parts(
		dom.If(len(s.Doubts) > 0, dom.Element("p.state.undecided", dom.Text("Undecided"))),
		dom.Element("h1", dom.Text(s.Sentence)),
		dom.Element("p.asked", Code(s.Packet)),
		NewWay(s, "w").Body())
}

// Body is a way: its doubts, causes and notes, the outcomes to choose from, and each of them.
func (w *Way) Body() dom.Part {
	return dom.Element("article.way", dom.ID(w.ID),
		dom.If(len(w.Doubts) > 0, dom.Element("ul.doubts", dom.Label("Doubts"), dom.Each(w.Doubts, doubt))),
		dom.If(len(w.Causes) > 0, dom.Element("ul.notes", dom.Label("Causes"), dom.Each(w.Causes, Cause))),
		Notes(w.Notes),
		dom.If(len(w.Outcomes) > 1, dom.Element("nav.outcomes", dom.Label("Outcomes"), dom.Each(w.Cards, (*card).body))),
		dom.If(len(w.Brief) > 0, brief(w.Brief)),
		Unreached(w.Unreached),
		dom.Each(w.Outcomes, (*outcome).body),
		dom.If(len(w.Outcomes) == 0, dom.Element("p", dom.Text("No way was walked."))))
}

func doubt(d *packetsim.Doubt) dom.Part {
	return dom.Element("li", dom.Text("unless "+d.Unless), dom.If(d.See != "", dom.Text("; see "), Code(d.See)))
}

// Cause is an item of a list of causes.
func Cause(c *cause.Cause) dom.Part {
	return dom.Element("li", dom.Element("b", dom.Text(string(c.Code))), dom.Text(" "+c.Says+" "), Code(c.What),
		dom.If(c.Remedy != "", dom.Text(" To fix it: "), Code(c.Remedy)))
}

// Notes are notes as a list, and nothing without any.
func Notes(notes []string) dom.Part {
	return dom.If(len(notes) > 0, dom.Element("ul.notes", dom.Each(notes, Item)))
}

// Item is a text as an item of a list.
func Item(text *string) dom.Part { return dom.Element("li", dom.Text(*text)) }

// Unreached are the endpoints that are not reached and why, and nothing without any.
func Unreached(list []story.Unreached) dom.Part {
	return dom.If(len(list) > 0, dom.Element("section.unreached", dom.Element("h2", dom.Text("Not reached, and why")),
		dom.Element("dl", dom.Each(list, func(u *story.Unreached) dom.Part {
			return dom.Element("div", dom.Element("dt", dom.Text(u.What)), dom.Element("dd", dom.Text(u.Why)))
		}))))
}

// State is an answer in a word and its colour: good, bad or open.
func State(colour, word string) dom.Part {
	return dom.Element("span.state", dom.Class(colour), dom.Text(word))
}

// Compare shows what was expected beside what happened, and the prediction if there is one. Several ways, which reports join by semicolons,
// have a line each.
func Compare(expected, predicted, got string) dom.Part {
	return dom.Element("div.beside",
		dom.Element("div.expected", dom.Element("h4", dom.Text("expected")), dom.Element("p", dom.Text(expected))),
		dom.If(predicted != "", dom.Element("div", dom.Element("h4", dom.Text("predicted")), dom.Element("p", dom.Text(predicted)))),
		dom.Element("div.got", dom.Element("h4", dom.Text("got")), dom.Element("p", dom.Text(strings.ReplaceAll(got, "; ", "\n")))))
}

// Code is a text as programs read it.
func Code(text string) dom.Part { return dom.Element("code", dom.Text(text)) }

// Fact is a row of a list of class facts.
func Fact(what string, value dom.Part) dom.Part {
	return dom.Element("div", dom.Element("dt", dom.Text(what)), dom.Element("dd", value))
}

// Listed is a list with a title, and nothing without items.
func Listed[T any](title string, list []T, item func(*T) dom.Part) dom.Part {
	return dom.If(len(list) > 0, dom.Element("section", dom.Element("h2", dom.Text(title)), dom.Element("ul.notes", dom.Each(list, item))))
}

// object is the name of an object.
func object(name string) dom.Part {
	return dom.If(name != "", dom.Text(" "), dom.Element("span.object", dom.Text(name)))
}

func verdict(v story.Verdict) dom.Part { return dom.If(v != "", State(stateOf(v), string(v))) }

func (c *card) body() dom.Part {
	share, class := c.Text, "many"
	if share == "" {
		share, class = percent(c.Outcomes[0].Probability), ""
	}
	return dom.Element("div.card", dom.Class(class),
		dom.Element("div.sum", verdict(c.Verdict), dom.Text(" "), dom.Element("b", dom.Text(share)),
			dom.Element("span.share", dom.Element("span", dom.Style(c.Width)))),
		dom.Each(c.Outcomes, func(o **outcome) dom.Part {
			return dom.Parts(dom.Element("a", dom.Link((*o).ID), dom.Text((*o).Sentence)), dom.Text("\n"))
		}))
}

// brief are the outcomes whose ways are left out.
func brief(outcomes []story.Outcome) dom.Part {
	return dom.Element("details.brief", dom.Element("summary", dom.Textf("%d more outcomes, without their ways", len(outcomes))),
		dom.Element("table",
			dom.Element("thead", dom.Element("tr", dom.Element("th", dom.Text("Probability")), dom.Element("th", dom.Text("Outcome")))),
			dom.Element("tbody", dom.Each(outcomes, func(o *story.Outcome) dom.Part {
				return dom.Element("tr", dom.Element("td", dom.Text(percent(o.Probability))), dom.Element("td", dom.Text(o.Sentence)))
			}))))
}

func (o *outcome) body() dom.Part {
	several := o.Of > 1
	return dom.Element("section.outcome", dom.ID(o.ID), dom.Labelf("Outcome %d of %d", o.Number, o.Of),
		dom.Element("div.head",
			dom.If(several, dom.Element("h2", dom.Element("span.number", dom.Textf("Outcome %d of %d", o.Number, o.Of)), dom.Text(" "),
				verdict(o.Verdict), dom.Text(" "+o.Sentence))),
			dom.If(!several, verdict(o.Verdict)), dom.Text("\n"),
			dom.If(len(o.Assumed) > 0, dom.Element("p.assumed", dom.Text("Not known. It is so if "+strings.Join(o.Assumed, ", and ")+"."))),
			o.jump()),
		o.Lanes.body(),
		dom.Element("div.passages",
			dom.If(several, dom.Element("p.legend", dom.Element("span.own"), dom.Text(" not in all outcomes"))),
			dom.Each(o.Passages, (*passage).body)))
}

// jump leads to the rule that decided.
func (o *outcome) jump() dom.Part {
	if o.Deciding == nil {
		return nil
	}
	return dom.Element("a.jump", dom.Link(o.Deciding.ID), dom.Text("Jump to the deciding rule "), Code(o.Deciding.At))
}
