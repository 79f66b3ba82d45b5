package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// joinFiles puts reports beside one another.
func joinFiles(out io.Writer, paths []string) (held bool, err error) {
	var all []*report
	for _, path := range paths {
		r, err := readReport(path)
		if err != nil {
			return false, err
		}
		all = append(all, r)
	}
	for _, r := range all {
		fmt.Fprintf(out, "%s\n\n", r.title())
		r.writeTotals(out)
	}
	writeTable(out, all)
	differences := differencesOf(all)
	findings := 0
	for _, d := range differences {
		if d.isFinding() {
			findings++
		}
	}
	fmt.Fprintf(out, "\n%d differences, %d of them findings\n", len(differences), findings)
	for _, d := range differences {
		d.write(out, all)
	}
	return findings == 0, nil
}

// write prints a difference, and what allows it.
func (d *difference) write(out io.Writer, all []*report) {
	fmt.Fprintf(out, "\n- %s: %s (%s)\n", d.scenario, d.probe, d.packet)
	for i, outcomes := range d.outcomes {
		fmt.Fprintf(out, "  - %s: %s\n", all[i].title(), strings.Join(outcomes, "; "))
		if a := d.allowed[i]; a != nil {
			fmt.Fprintf(out, "    - allowed: %s\n", a)
		}
	}
	if d.isFinding() {
		fmt.Fprintln(out, "  - a finding: no document allows it")
	}
}

// writeMarkdown writes a report's sums, what failed, and its scenarios and changes.
func (r *report) writeMarkdown(out io.Writer) {
	fmt.Fprintf(out, "# %s, %s\n\n", r.title(), r.Family)
	r.writeTotals(out)
	if failures := r.failuresOf(); len(failures) > 0 {
		fmt.Fprint(out, "## What failed\n\n")
		for i := range failures {
			failures[i].write(out)
		}
		fmt.Fprintln(out)
	}
	writeTable(out, []*report{r})
}

func (r *report) writeTotals(out io.Writer) {
	for _, line := range r.summary() {
		bare := strings.TrimLeft(line, " ")
		fmt.Fprintf(out, "%s- %s\n", line[:len(line)-len(bare)], bare)
	}
	fmt.Fprintln(out)
}

func (f *failure) write(out io.Writer) {
	where, between := "", ""
	if f.At != "" {
		where = " (" + f.At + ")"
	}
	if f.Between != "" {
		between = string(f.Between) + ": "
	}
	fmt.Fprintf(out, "- %s%s: %s%s\n", f.Name, where, between, strings.ReplaceAll(f.Why, "\n", " "))
	for _, r := range f.Rules {
		fmt.Fprintf(out, "  - %s\n", r)
	}
}

// writeTable writes scenarios and changes by proxy, as Markdown.
func writeTable(out io.Writer, all []*report) {
	row := func(cells ...string) {
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(cells[i], "\n", " "), "|", "\\|")
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	titles, rule := []string{"scenario"}, []string{"---"}
	for _, r := range all {
		titles, rule = append(titles, r.title()), append(rule, "---")
	}
	row(titles...)
	row(rule...)
	for _, name := range namesOf(all, func(r *report) []scenarioRow { return r.Scenarios }, func(s scenarioRow) string { return s.File }) {
		cells := []string{name}
		for _, r := range all {
			cells = append(cells, r.scenario(name).cell())
		}
		row(cells...)
	}
	for _, name := range namesOf(all, func(r *report) []changeRow { return r.Changes }, func(c changeRow) string { return c.Name }) {
		cells := []string{"under traffic: " + name}
		for _, r := range all {
			cells = append(cells, r.change(name))
		}
		row(cells...)
	}
}

// namesOf are the names of rows of all reports, in order of appearance.
func namesOf[T any](all []*report, rows func(*report) []T, name func(T) string) []string {
	var out []string
	for _, r := range all {
		for _, row := range rows(r) {
			if n := name(row); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// scenario is the row of a file, nil if the report has none.
func (r *report) scenario(file string) *scenarioRow {
	for i := range r.Scenarios {
		if r.Scenarios[i].File == file {
			return &r.Scenarios[i]
		}
	}
	return nil
}

func (r *report) change(name string) string {
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Name == name && c.Result == resultHeld {
			return c.Result
		} else if c.Name == name {
			return c.Result + ": " + c.Told
		}
	}
	return ""
}

// cell is a row as one proxy's cell.
func (s *scenarioRow) cell() string {
	switch {
	case s == nil:
		return ""
	case s.Result == resultNotRun:
		return "not run: " + s.Why
	case s.Result == resultHeld:
		return fmt.Sprintf("ok (%d probes)", len(s.Probes))
	}
	wrong, allowed := 0, 0
	for i := range s.Probes {
		switch {
		case s.Probes[i].Allowed != nil:
			allowed++
		case s.Probes[i].wrong():
			wrong++
		}
	}
	if s.Result == resultDiffers {
		return fmt.Sprintf("differs as allowed (%d of %d probes)", allowed, len(s.Probes))
	}
	return fmt.Sprintf("**failed** (%d of %d probes)", wrong, len(s.Probes))
}

// difference is a probe of which not all reports have the same outcomes.
type difference struct {
	scenario, probe, packet string
	outcomes                [][]string   // by report
	compared                [][]string   // the same, as far as it is compared
	allowed                 []*allowance // by report: what allows its outcomes, nil if nothing does
}

// isFinding reports whether the reports differ also but for those whose mode is allowed to.
func (d *difference) isFinding() bool {
	var rest [][]string
	for i, outcomes := range d.compared {
		if d.allowed[i] == nil {
			rest = append(rest, outcomes)
		}
	}
	return differ(rest)
}

// differ reports whether not all are the same.
func differ(all [][]string) bool {
	return len(all) > 0 && slices.ContainsFunc(all[1:], func(o []string) bool { return !slices.Equal(o, all[0]) })
}

// manyOutcomes is as many outcomes of one probe as a hundred tries are sure to show. Where there are more, only their kinds are compared.
const manyOutcomes = 6

// differencesOf compares the probes that all reports have.
func differencesOf(all []*report) []difference {
	var out []difference
	first := all[0]
	for i := range first.Scenarios {
		s := &first.Scenarios[i]
		for j := range s.Probes {
			if d, ok := differenceAt(all, s.File, s.Probes[j].At, j); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

// differenceAt compares a probe of a file by its place and number; false if a report has no such probe, or all have the same.
func differenceAt(all []*report, file, at string, number int) (difference, bool) {
	var d difference
	many := false
	for _, r := range all {
		s := r.scenario(file)
		if s == nil || number >= len(s.Probes) || s.Probes[number].At != at {
			return d, false
		}
		p := &s.Probes[number]
		d.scenario, d.probe, d.packet = s.Name, p.Name, p.Packet
		d.outcomes = append(d.outcomes, p.Outcomes)
		d.allowed = append(d.allowed, allowedBy(r.Mode, p.Packet, p.Clauses, p.Outcomes))
		many = many || len(p.Outcomes) > manyOutcomes
	}
	for _, outcomes := range d.outcomes {
		if many {
			outcomes = kindsOf(outcomes)
		}
		d.compared = append(d.compared, outcomes)
	}
	return d, differ(d.compared)
}

// kindsOf are outcomes but for who answered.
func kindsOf(outcomes []string) []string {
	var out []string
	for _, o := range outcomes {
		kind, _, _ := strings.Cut(o, " by ")
		out = append(out, kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
