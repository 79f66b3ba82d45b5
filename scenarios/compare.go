package scenarios

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Fate is what came of a check in one of two runs.
type Fate struct {
	// Got is what was seen, or why nothing was; Rules are the rules that decided about its packets.
	Got    string   `json:"got"`
	Rules  []string `json:"rules,omitempty"`
	Passed bool     `json:"passed"`
}

// Change is a check that two runs of the same scenario saw another thing at. A run that ended before it has no Fate.
type Change struct {
	File   string `json:"file"`
	At     string `json:"at"`
	Name   string `json:"name"`
	Packet string `json:"packet,omitempty"`
	Tools  string `json:"tools"` // "legacy and -nft"
	Before *Fate  `json:"before,omitempty"`
	After  *Fate  `json:"after,omitempty"`
}

// Comparison is how two runs differ.
type Comparison struct {
	Version int      `json:"version"` // of this form: 1
	Checks  int      `json:"checks"`  // that both runs made, or one
	Files   int      `json:"files"`   // scenarios that at least one has run
	Changes []Change `json:"changes"`
}

// ErrNothingRun is the error of comparing reports without a check.
var ErrNothingRun = errors.New("no scenario was run")

// ReadJSON reads what WriteJSON wrote of results, as far as Compare looks at it.
func ReadJSON(r io.Reader) ([]*Result, error) {
	var report struct {
		Version int       `json:"version"`
		Results []*Result `json:"results"`
	}
	if err := json.NewDecoder(r).Decode(&report); err != nil {
		return nil, fmt.Errorf("no report of chainwalk run -o json: %w", err)
	}
	if report.Version != reportVersion {
		return nil, fmt.Errorf("a report of version %d (this program reads version %d)", report.Version, reportVersion)
	}
	return report.Results, nil
}

// place tells the checks of a run apart.
type place struct {
	file, at, name, packet string
	dialect                netfilter.Dialect
	step, nth              int
}

// Compare says which packets of the same scenarios are treated differently in a second run: where they end, with which probabilities, from
// which source they are seen to come. That a rule has another name is no difference. What the variants of the tools agree in is one change.
func Compare(before, after []*Result) (*Comparison, error) {
	first, order := fates(before)
	second, more := fates(after)
	out := &Comparison{Version: 1, Changes: []Change{}}
	files := map[string]bool{}
	for _, p := range slices.Concat(order, more) {
		a, b := first[p], second[p]
		if a == nil && b == nil {
			continue // it was looked at before
		}
		delete(first, p)
		delete(second, p)
		out.Checks++
		files[p.file] = true
		if a == nil || b == nil || a.Got != b.Got || a.Passed != b.Passed {
			out.add(Change{File: p.file, At: p.at, Name: p.name, Packet: p.packet, Tools: string(p.dialect), Before: a, After: b})
		}
	}
	if out.Files = len(files); out.Files == 0 {
		return nil, ErrNothingRun
	}
	slices.SortStableFunc(out.Changes, func(a, b Change) int { return strings.Compare(a.File, b.File) })
	return out, nil
}

// add adds a change, or the variant of the tools to one that is the same.
func (c *Comparison) add(change Change) {
	for i := range c.Changes {
		known := &c.Changes[i]
		if known.At == change.At && known.Name == change.Name && known.Packet == change.Packet && known.Before.is(change.Before) &&
			known.After.is(change.After) && !strings.Contains(known.Tools, change.Tools) {
			known.Tools += " and -" + change.Tools
			return
		}
	}
	c.Changes = append(c.Changes, change)
}

func (f *Fate) is(other *Fate) bool {
	if f == nil || other == nil {
		return f == other
	}
	return f.Got == other.Got && f.Passed == other.Passed
}

// fates are the fates of a run's checks, and their places in order.
func fates(results []*Result) (of map[place]*Fate, order []place) {
	of = map[place]*Fate{}
	for _, r := range results {
		for i := range r.Checks {
			c := &r.Checks[i]
			if c.Skipped != "" {
				continue
			}
			p := place{file: r.File, at: c.At, name: c.Name, packet: c.Packet, dialect: c.Dialect, step: c.Step}
			for of[p] != nil {
				p.nth++
			}
			of[p] = c.fate()
			order = append(order, p)
		}
	}
	return of, order
}

func (c *Check) fate() *Fate {
	f := &Fate{Got: cmp.Or(c.Got, c.Wrong), Passed: c.Passed}
	for i := range c.Ways {
		if rule := c.Ways[i].Rule; rule != "" && !slices.Contains(f.Rules, rule) {
			f.Rules = append(f.Rules, rule)
		}
	}
	return f
}

// fewChanges is as many as a person wants to read at first.
const fewChanges = 10

// WriteText writes the comparison for people, with the names of the two runs; all of the changes, or the first of them.
func (c *Comparison) WriteText(w io.Writer, before, after string, all bool) error {
	var b strings.Builder
	scenarios := map[string]bool{}
	for i := range c.Changes {
		scenarios[c.Changes[i].File] = true
	}
	if len(c.Changes) == 0 {
		fmt.Fprintf(&b, "no packet changes: %s in %s\n", count(c.Checks, "check"), count(c.Files, "scenario"))
	} else {
		fmt.Fprintf(&b, "%s in %d of %s\n", count(len(c.Changes), "change"), len(scenarios), count(c.Files, "scenario"))
	}
	for i := range c.Changes {
		if i == fewChanges && !all {
			fmt.Fprintf(&b, "\nand %d more (-v)\n", len(c.Changes)-i)
			break
		}
		change := &c.Changes[i]
		fmt.Fprintf(&b, "\n%s: %s (iptables-%s)\n", change.At, change.Name, change.Tools)
		if change.Packet != "" {
			fmt.Fprintf(&b, "  sent: %s\n", change.Packet)
		}
		change.Before.writeText(&b, before)
		change.After.writeText(&b, after)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Fate) writeText(b *strings.Builder, build string) {
	if f == nil {
		fmt.Fprintf(b, "  %s: did not come to it\n", build)
		return
	}
	verdict := ""
	if !f.Passed {
		verdict = "not as expected: "
	}
	fmt.Fprintf(b, "  %s: %s%s\n", build, verdict, strings.ReplaceAll(f.Got, "\n", "\n    "))
	for _, rule := range f.Rules {
		fmt.Fprintf(b, "    decided by %s\n", rule)
	}
}
