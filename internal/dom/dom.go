// Package dom builds HTML of parts: elements, attributes and texts. golang.org/x/net/html writes it.
//
// A text is always escaped, and an attribute always quoted. Names of elements and attributes are constants in the caller's source: their
// type is not exported, so a caller cannot give a variable. No attribute that a browser loads, runs or applies takes a text: a link leads
// to a place of the same page, and a style is made of constants and numbers.
//
// html/template does the same and more, but by reflection, for which the linker keeps every exported method of a program. That is a quarter
// of what a browser loads for a page.
package dom

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// constant is a text that stands in a program's source.
type constant string

// Part is what an element is made of: other elements, texts, attributes. The zero Part is nothing.
type Part func(parent *html.Node)

// blocks are the elements that begin a line of the source.
const blocks = " html head meta title style body header main h1 h2 h3 h4 p ol ul li dl div nav section article form " +
	"details table tr pre script "

// Element is an element: a tag with its classes, such as "p" or "span.state.good", and what is in it.
func Element(tag constant, parts ...Part) Part {
	name, classes, _ := strings.Cut(string(tag), ".")
	return func(parent *html.Node) {
		if strings.Contains(blocks, " "+name+" ") {
			Text("\n")(parent)
		}
		n := &html.Node{Type: html.ElementNode, Data: name}
		if classes != "" {
			Class(strings.Split(classes, ".")...)(n)
		}
		Parts(parts...)(n)
		parent.AppendChild(n)
	}
}

// Text is what a reader sees.
func Text(text string) Part {
	return func(parent *html.Node) {
		if text != "" {
			parent.AppendChild(&html.Node{Type: html.TextNode, Data: text})
		}
	}
}

// Textf is a text by its format.
func Textf(format string, args ...any) Part { return Text(fmt.Sprintf(format, args...)) }

// Source is the text of a style or a script, which a browser takes as it is. It must be a program's own, and is left out if it
// could end its element.
func Source(own string) Part {
	if strings.Contains(own, "</") {
		return nil
	}
	return Text(own)
}

// Parts are several parts as one.
func Parts(parts ...Part) Part {
	return func(parent *html.Node) {
		for _, p := range parts {
			if p != nil {
				p(parent)
			}
		}
	}
}

// If are the parts if something is so.
func If(so bool, parts ...Part) Part {
	if !so {
		return nil
	}
	return Parts(parts...)
}

// Each makes a part of each of a list.
func Each[T any](list []T, one func(*T) Part) Part {
	return func(parent *html.Node) {
		for i := range list {
			Parts(one(&list[i]))(parent)
		}
	}
}

// Joined are texts with commas between them.
func Joined(texts []string) Part { return Text(strings.Join(texts, ", ")) }

// attribute sets an attribute.
func attribute(name, value string) Part {
	return func(parent *html.Node) { parent.Attr = append(parent.Attr, html.Attribute{Key: name, Val: value}) }
}

// Attribute is one whose value is a constant too.
func Attribute(name, value constant) Part { return attribute(string(name), string(value)) }

// ID names the place that an element is. A page has it once.
func ID(id string) Part { return attribute("id", id) }

// Class adds classes; those that are empty are none.
func Class(classes ...string) Part {
	return func(parent *html.Node) {
		for _, class := range classes {
			addClass(parent, class)
		}
	}
}

func addClass(n *html.Node, class string) {
	if class == "" {
		return
	}
	for i := range n.Attr {
		if n.Attr[i].Key == "class" {
			n.Attr[i].Val += " " + class
			return
		}
	}
	attribute("class", class)(n)
}

// Label says to those who do not see it what an element is.
func Label(text string) Part { return attribute("aria-label", text) }

// Labelf is a label by its format.
func Labelf(format string, args ...any) Part { return Label(fmt.Sprintf(format, args...)) }

// Pressed says whether a button that stays pressed is.
func Pressed(is bool) Part { return attribute("aria-pressed", strconv.FormatBool(is)) }

// Data is an attribute for scripts: "verdict" is data-verdict.
func Data(name constant, value string) Part { return attribute("data-"+string(name), value) }

// Link has an <a> lead to the place of the same page that has an id.
func Link(id string) Part { return attribute("href", "#"+id) }

// Declaration is CSS that is made of constants and numbers.
type Declaration struct{ css string }

// Declare is a declaration by its format.
func Declare[N int | float64](format constant, numbers ...N) Declaration {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = n
	}
	return Declaration{fmt.Sprintf(string(format), args...)}
}

// And is a declaration with more at its end.
func (d Declaration) And(more constant) Declaration { return Declaration{d.css + string(more)} }

// Style applies a declaration to an element.
func Style(d Declaration) Part { return attribute("style", d.css) }

// Write writes parts as they stand in a page.
func Write(w io.Writer, parts ...Part) error {
	root := &html.Node{Type: html.DocumentNode}
	Parts(parts...)(root)
	return html.Render(w, root)
}

// WriteDocument writes parts as a document of HTML 5.
func WriteDocument(w io.Writer, parts ...Part) error {
	doctype := func(parent *html.Node) { parent.AppendChild(&html.Node{Type: html.DoctypeNode, Data: "html"}) }
	return Write(w, append([]Part{doctype}, parts...)...)
}
