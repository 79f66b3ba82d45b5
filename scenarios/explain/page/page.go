package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

//go:embed page.html page.css page.js
var files embed.FS

// Page is what the template shows: a trace, a run, a search or an examination.
type Page struct {
	Title string
	Trace *Way
	// Run and Fuzz are those of package report; Doctor is a Report, and Matrix a Matrix of package live.
	Run, Fuzz, Doctor, Matrix any
}

// content is what the template is given.
type content struct {
	Page
	Style  template.CSS
	Script template.JS
	// Policy is the Content-Security-Policy: it lets this script run, and nothing be loaded.
	Policy string
}

// Trace writes the page of one packet, or of one connection.
func Trace(w io.Writer, s *story.Story) error {
	return Write(w, &Page{Title: s.Sentence, Trace: NewWay(s, "w")})
}

// Write writes a page.
func Write(w io.Writer, p *Page) error {
	parsed, err := template.New("page.html").Funcs(functions()).ParseFS(files, "page.html")
	if err != nil {
		return err
	}
	css, err := files.ReadFile("page.css")
	if err != nil {
		return err
	}
	js, err := files.ReadFile("page.js")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(js)
	d := content{Page: *p, Style: template.CSS(css), Script: template.JS(js)} //nolint:gosec // both are files of this package
	d.Policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return parsed.Execute(w, d)
}

// functions are those of the template.
func functions() template.FuncMap {
	return template.FuncMap{"style": style, "header": headerOf, "percent": percent, "apart": apart, "stateOf": stateOf, "named": named}
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

// apart are the ends of several ways, which reports join by semicolons, each in a line of its own.
func apart(got string) string { return strings.ReplaceAll(got, "; ", "\n") }

// list is a list with what it is of.
type list struct {
	What string
	List any
}

func named(what string, of any) list { return list{what, of} }

// percent is a probability as people read it.
func percent(p float64) string {
	if p > 0 && p < 0.001 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
}

// style marks a declaration that this package has put together from numbers as one that needs no escaping.
func style(s declaration) template.CSS { return template.CSS(s) }

// declaration is CSS that is made of numbers and words of this package, never of what others wrote.
type declaration string
