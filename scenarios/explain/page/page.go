package page

import (
	_ "embed" // the style and the script
	"io"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// Page is what a page shows.
type Page struct {
	Title string
	// What is the command that it is of: trace, run, doctor.
	What string
	Body dom.Part
}

// Trace writes the page of one packet, or of one connection.
func Trace(w io.Writer, s *story.Story) error {
	return Write(w, &Page{Title: s.Sentence, What: "trace", Body: trace(s)})
}

// TraceBody writes what Trace has in its page, for a page that has a style and a script of its own.
func TraceBody(w io.Writer, s *story.Story) error { return dom.Write(w, trace(s)) }

// Write writes a page.
func Write(w io.Writer, p *Page) error {
	return dom.WriteDocument(w, dom.Element("html", dom.Attribute("lang", "en"),
		dom.Element("head",
			dom.Element("meta", dom.Attribute("charset", "utf-8")),
			dom.Element("meta", dom.Attribute("http-equiv", "Content-Security-Policy"), dom.Attribute("content", policy)),
			dom.Element("meta", dom.Attribute("name", "viewport"), dom.Attribute("content", "width=device-width, initial-scale=1")),
			dom.Element("meta", dom.Attribute("name", "color-scheme"), dom.Attribute("content", "light dark")),
			dom.Element("title", dom.Text(p.Title)),
			dom.Element("style", dom.Source(style))),
		dom.Element("body",
			dom.Element("a.skip", dom.Link("main"), dom.Text("Skip to the content")),
			dom.Element("header.bar",
				dom.Element("span.brand", dom.Text("chainwalk")), dom.Text(" "), dom.Element("span.what", dom.Text(p.What)), dom.Text("\n"),
				dom.Element("span.scripted", dom.Attribute("role", "group"), dom.Label("Colours"), dom.ID("themes"),
					theme("", true, "Auto"), theme("light", false, "Light"), theme("dark", false, "Dark"))),
			dom.Element("main", dom.ID("main"), p.Body),
			dom.Element("script", dom.Source(script)))))
}

// policy is the Content-Security-Policy: it lets the script of this package run, and nothing be loaded. The script's hash is a constant
// since SHA-256 is much of what a browser would load; a test holds it.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-5O74hxfsHr/MYlz1ypomQEgV/JFBwRTAWnkkG9hbGFE='"

// theme is a button that chooses colours.
func theme(name string, pressed bool, text string) dom.Part {
	return dom.Element("button", dom.Attribute("type", "button"), dom.Data("theme", name), dom.Pressed(pressed), dom.Text(text))
}

// stateOf is the colour of a verdict, which has a word as well.
func stateOf(v story.Verdict) string {
	switch v {
	case story.Passes:
		return "good"
	case story.NotKnown:
		return "open"
	}
	return "bad"
}

// percent is a probability as people read it.
func percent(p float64) string {
	if p > 0 && p < 0.001 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
}
