package main

import (
	"fmt"
	"io"
	"os"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page/report"
)

// reporter prints what comes of scenarios: each as it comes, or all at the end.
type reporter struct {
	add func(*scenarios.Result) error
	end func([]*scenarios.Result) error
}

func (o *runOptions) reporter(s streams) (*reporter, error) {
	ways, err := scenarios.ParseWays(o.ways)
	if err != nil {
		return nil, fmt.Errorf("--ways: %w", err)
	}
	atTheEnd := func(*scenarios.Result) error { return nil }
	switch o.output {
	case "text":
		text := scenarios.NewTextReport(s.out, ways, o.detail())
		return &reporter{add: text.Add, end: func([]*scenarios.Result) error { return text.End() }}, nil
	case "json":
		return &reporter{add: atTheEnd, end: func(results []*scenarios.Result) error { return scenarios.WriteJSON(s.out, results, ways) }}, nil
	case "junit":
		return &reporter{add: atTheEnd, end: func(results []*scenarios.Result) error { return scenarios.WriteJUnit(s.out, results) }}, nil
	case "html":
		return &reporter{add: atTheEnd, end: func(results []*scenarios.Result) error {
			return report.Run(s.out, results, report.RunOptions{Ways: ways, Source: sourceOf})
		}}, nil
	}
	return nil, fmt.Errorf("-o %s: want text, json, junit or html", o.output)
}

// sourceOf is the text of a scenario's file; empty if it cannot be read once more.
func sourceOf(r *scenarios.Result) string {
	text, err := os.ReadFile(r.File)
	if err != nil {
		return ""
	}
	return string(text)
}

func (o *runOptions) detail() scenarios.Detail {
	switch {
	case o.quiet:
		return scenarios.Quiet
	case o.verbose:
		return scenarios.Verbose
	case o.backend == scenarios.BackendKind:
		return scenarios.Each // they take so long that somebody waits for each
	}
	return scenarios.Normal
}

// listed is a scenario in the JSON of --list.
type listed struct {
	File  string `json:"file"`
	Name  string `json:"name,omitempty"`
	Error string `json:"error,omitempty"` // why the file could not be read
}

// listScenarios prints the scenarios that would run.
func listScenarios(s streams, paths []string, o runOptions) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o %s: with --list want text or json", o.output)
	}
	files, err := o.load(s, paths)
	if err != nil {
		return err
	}
	var list []listed
	unread := 0
	for _, f := range files {
		one := listed{File: f.Path}
		if f.Err != nil {
			one.Error = f.Err.Error()
			unread++
		} else {
			one.Name = f.Scenario.Name
		}
		list = append(list, one)
	}
	if err := writeList(s.out, list, o.output); err != nil {
		return err
	}
	if unread > 0 {
		return fmt.Errorf("%d of %d files could not be read", unread, len(files))
	}
	return nil
}

func writeList(w io.Writer, list []listed, output string) error {
	if output == "json" {
		return writeJSON(w, struct {
			Version   int      `json:"version"`
			Scenarios []listed `json:"scenarios"`
		}{1, list})
	}
	for _, one := range list {
		text := one.Name
		if one.Error != "" {
			text = "could not be read: " + one.Error
		}
		fmt.Fprintf(w, "%s: %s\n", one.File, text)
	}
	return nil
}

// progressLine is a line on a terminal that says what is running. Its methods are called one at a time.
type progressLine struct {
	w          io.Writer // nil: nobody looks
	all, ended int
	shown      bool
}

func newProgressLine(w io.Writer, all int, o runOptions) *progressLine {
	wanted := o.progress == "always" || o.progress == "auto" && o.backend != scenarios.BackendKind && isTerminal(w)
	if !wanted {
		w = nil
	}
	return &progressLine{w: w, all: all}
}

func (p *progressLine) begin(f *scenarios.File) {
	if p.w != nil {
		p.clear()
		fmt.Fprintf(p.w, "%d of %d done, running %s", p.ended, p.all, f.Path)
		p.shown = true
	}
}

func (p *progressLine) done() { p.ended++ }

// clear takes the line away, before something else is printed.
func (p *progressLine) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
