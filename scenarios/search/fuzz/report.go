package fuzz

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// enough is the number of cases that reach what is reached now and then. A run with as
// many must have reached it all.
const enough = 5000

// Missed are the marks and clauses that the run should have reached and did not, by name;
// none if the run is too short to say. rare are the ones that it may miss.
func (r *Result) Missed(rare map[string]bool) []string {
	if r.Cases < enough {
		return nil
	}
	var out []string
	for _, name := range append(r.marksMissed(), r.clausesMissed()...) {
		if !rare[name] {
			out = append(out, name)
		}
	}
	return out
}

func (r *Result) marksMissed() []string {
	var out []string
	for _, m := range mark.All() {
		if r.Figures.Marks[m.String()] == 0 {
			out = append(out, m.String())
		}
	}
	return out
}

func (r *Result) clausesMissed() []string {
	var out []string
	for _, c := range oracle.Clauses() {
		if r.Figures.Clauses[c.Name] == 0 && c.Force == oracle.Must && r.runs(c.Mode) {
			out = append(out, c.Name)
		}
	}
	return out
}

// runs says whether kube-proxy ran in a mode; every run does for the clauses of no mode.
func (r *Result) runs(m oracle.Mode) bool {
	return m == "" || r.Mode == bothModes || cmp.Or(r.Mode, string(oracle.IPTables)) == string(m)
}

// fewBugs is as many as a screen has room for.
const fewBugs = 5

// WriteText prints a result for people: what failed, and how to see it again. If all is to be told, also what was reached, and the
// scenarios.
func (r *Result) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s, commit %s\n", r.Seed, r.shard(), cmp.Or(r.Commit, "unknown"))
	f := &r.Figures
	fmt.Fprintf(&b, "%d cases: %d states judged by %d connections and %d packets of kept ones\n", r.Cases, f.States, f.Connections, f.Packets)
	if r.Interrupted {
		b.WriteString("interrupted: this is what was found so far; some scenarios may not be shrunk\n")
	}
	if all {
		r.writeReached(&b)
	}
	bugs := r.Bugs()
	for i, bug := range bugs {
		if i == fewBugs && !all {
			fmt.Fprintf(&b, "\nand %d more (-v)\n", len(bugs)-i)
			break
		}
		bug.writeText(&b, r.Program, all)
	}
	if len(bugs) > 0 {
		b.WriteString("\n")
	}
	if all {
		r.Found.writeText(&b)
	}
	b.WriteString(total(len(r.Failures), len(bugs)))
	_, err := io.WriteString(w, b.String())
	return err
}

// total is the last line: how many clauses were broken, and by how much.
func total(failures, bugs int) string {
	if bugs == failures {
		return fmt.Sprintf("%d failures\n", failures)
	}
	return fmt.Sprintf("%d failures, which look like %d\n", failures, bugs)
}

// writeReached says what of the specification and of the proxier the cases came to.
func (r *Result) writeReached(b *strings.Builder) {
	reached(b, "clauses that must hold", r.binding(), r.clausesMissed())
	if len(r.Figures.Marks) > 0 { // those of another proxier are not known
		reached(b, "marks", len(mark.All()), r.marksMissed())
	}
	r.writeRules(b)
}

// Bug are failures that look like one: the same kind of rule decides, and what happens differs in the same way. The first is the smallest.
type Bug []*Failure

// Bugs puts the failures of a result together, in their order. What is known to have different causes stays apart.
func (r *Result) Bugs() []Bug {
	var out []Bug
	for i := range r.Failures {
		f := &r.Failures[i]
		at := slices.IndexFunc(out, func(b Bug) bool { return f.Broken != "" && f.Broken == b[0].Broken && f.Cause == b[0].Cause })
		if at < 0 {
			out = append(out, Bug{f})
			continue
		}
		out[at] = append(out[at], f)
	}
	for _, bug := range out {
		slices.SortStableFunc(bug, func(a, b *Failure) int { return cmp.Compare(len(a.File), len(b.File)) })
	}
	return out
}

func (r *Result) shard() string {
	if r.Shard == 0 {
		return "several shards"
	}
	return fmt.Sprintf("shard %d of %d", r.Shard, r.Shards)
}

// binding counts the clauses that must hold in the mode of the run. The others say what need not.
func (r *Result) binding() int {
	n := 0
	for _, c := range oracle.Clauses() {
		if c.Force == oracle.Must && r.runs(c.Mode) {
			n++
		}
	}
	return n
}

func reached(b *strings.Builder, what string, all int, missed []string) {
	fmt.Fprintf(b, "%s: %d of %d reached", what, all-len(missed), all)
	if len(missed) > 0 {
		fmt.Fprintf(b, ", but not %s", strings.Join(missed, ", "))
	}
	b.WriteString("\n")
}

func (bug Bug) writeText(b *strings.Builder, program string, all bool) {
	f := bug[0]
	fmt.Fprintf(b, "\nFAIL  %s (%s): %s\n", f.Clause, cmp.Or(f.Law, "no law"), f.Text)
	if f.Cause != "" {
		fmt.Fprintf(b, "      cause: %s\n", f.Cause)
	}
	fmt.Fprintf(b, "      %s%s\n      want %s\n      got  %s\n", f.Where(), f.byTwins(), f.Want, f.Got)
	if f.Broken != "" {
		fmt.Fprintf(b, "      %s\n", f.Broken)
	}
	fmt.Fprintf(b, "      again: %s\n", f.Again(program))
	for _, other := range bug[1:] {
		fmt.Fprintf(b, "      also breaks %s: %s\n", other.Clause, other.Again(program))
	}
	if all {
		for _, one := range bug {
			one.writeFile(b)
		}
	}
}

func (f *Failure) writeFile(b *strings.Builder) {
	for line := range strings.SplitSeq(strings.TrimRight(f.File, "\n"), "\n") {
		b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	}
}

// writeText prints how often which clause was broken, by cause.
func (f Found) writeText(b *strings.Builder) {
	for _, cause := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(b, "findings of %s:", cmp.Or(cause, "no known cause"))
		comma := ""
		for _, clause := range slices.Sorted(maps.Keys(f[cause])) {
			fmt.Fprintf(b, "%s %s %d", comma, clause, f[cause][clause])
			comma = ","
		}
		b.WriteString("\n")
	}
}

// WriteJSON prints a result as one JSON document, which ReadResult reads.
func (r *Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// ReadResult reads a result that WriteJSON printed.
func ReadResult(r io.Reader) (*Result, error) {
	var out Result
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("no result of chainwalk fuzz: %w", err)
	}
	return &out, nil
}
