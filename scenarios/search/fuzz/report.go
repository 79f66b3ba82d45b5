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
// none of a run that is too short to say. rare are those that need not be.
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
		if r.Figures.Clauses[c.Name] == 0 && c.Force == oracle.Must {
			out = append(out, c.Name)
		}
	}
	return out
}

// WriteText prints a result for people.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s, commit %s\n", r.Seed, r.shard(), cmp.Or(r.Commit, "unknown"))
	f := &r.Figures
	fmt.Fprintf(&b, "%d cases: %d states judged by %d connections and %d packets of kept ones\n", r.Cases, f.States, f.Connections, f.Packets)
	reached(&b, "clauses that must hold", binding(), r.clausesMissed())
	if len(r.Figures.Marks) > 0 { // those of another proxier are not known
		reached(&b, "marks", len(mark.All()), r.marksMissed())
	}
	r.writeRules(&b)
	for i := range r.Failures {
		r.Failures[i].writeText(&b, r.Program)
	}
	r.Found.writeText(&b)
	fmt.Fprintf(&b, "%d failures\n", len(r.Failures))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) shard() string {
	if r.Shard == 0 {
		return "several shards"
	}
	return fmt.Sprintf("shard %d of %d", r.Shard, r.Shards)
}

// binding counts the clauses that must hold. The others say what need not.
func binding() int {
	n := 0
	for _, c := range oracle.Clauses() {
		if c.Force == oracle.Must {
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

func (f *Failure) writeText(b *strings.Builder, program string) {
	fmt.Fprintf(b, "\nFAIL  %s (%s): %s\n", f.Clause, cmp.Or(f.Law, "no law"), f.Text)
	if f.Cause != "" {
		fmt.Fprintf(b, "      cause: %s\n", f.Cause)
	}
	fmt.Fprintf(b, "      %s%s\n      want %s\n      got  %s\n", f.Where(), f.byTwins(), f.Want, f.Got)
	fmt.Fprintf(b, "      again: %s\n", f.Again(program))
	for line := range strings.SplitSeq(strings.TrimRight(f.File, "\n"), "\n") {
		b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	}
	b.WriteString("\n")
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
