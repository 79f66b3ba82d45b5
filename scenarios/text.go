package scenarios

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Detail says how much of what held a text tells.
type Detail uint8

// The details.
const (
	Normal  Detail = iota // a line for each folder of scenarios, and what failed
	Each                  // a line for each scenario
	Quiet                 // what failed, and how many held
	Verbose               // a line for each scenario and check; what failed is told in full each time
)

// TextReport writes a report for people as results come: for checks that failed what was sent, which way it took and what decided, and at
// the end a line for each folder whose scenarios held (or, as they come, for each scenario), one packet's way, and what decided in the
// failures. Of differences of one kind the first is told in full, the others in a line; what both variants of the tools agree in is told
// once.
type TextReport struct {
	w      io.Writer
	ways   Ways
	detail Detail
	sample sample
	held   []heldFolder
	failed []*Result
	tally  tally
	ofMode ofMode
	differ differing
}

// heldFolder are the scenarios of a folder that held.
type heldFolder struct {
	path, backend          string
	scenarios, all, checks int
	line                   string // of the only one that held
}

// NewTextReport begins a report.
func NewTextReport(w io.Writer, ways Ways, detail Detail) *TextReport {
	if ways == WaysAll && detail == Normal {
		detail = Each // a way needs the name of its scenario above it
	}
	return &TextReport{w: w, ways: ways, detail: detail, differ: differing{}}
}

// WriteText writes a report for people at once.
func WriteText(w io.Writer, results []*Result, ways Ways) error {
	t := NewTextReport(w, ways, Normal)
	for _, r := range results {
		if err := t.Add(r); err != nil {
			return err
		}
	}
	return t.End()
}

// Add writes what came of a scenario.
func (t *TextReport) Add(r *Result) error {
	t.tally.add(r)
	t.ofMode.add(r)
	t.differ.add(r)
	t.sample.look(r)
	var b strings.Builder
	switch {
	case r.Failed():
		t.failed = append(t.failed, r)
		t.result(&b, r)
	case t.detail != Quiet:
		t.result(&b, r)
	}
	if t.detail == Normal && r.Skipped == "" {
		t.count(r)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// End writes the way of one packet, if that is wanted, and the totals.
func (t *TextReport) End() error {
	var b strings.Builder
	for i := range t.held {
		t.held[i].write(&b)
	}
	if c := t.sample.check; t.ways == WaysOne && t.detail != Quiet && c != nil && c.Passed {
		b.WriteByte('\n')
		textCheck(&b, c, c.tools(), []int{t.sample.way})
		b.WriteByte('\n')
	}
	if groups := FailureGroups(t.failed); len(t.failed) > 1 {
		b.WriteString("failed:\n")
		for i := range groups {
			fmt.Fprintf(&b, "  %s\n", groups[i].String())
		}
	}
	b.WriteString(t.differ.String())
	b.WriteString(t.ofMode.String())
	b.WriteString(t.tally.String())
	_, err := io.WriteString(t.w, b.String())
	return err
}

// count counts a result to those of its folder.
func (t *TextReport) count(r *Result) {
	path := filepath.Dir(r.File)
	i := slices.IndexFunc(t.held, func(f heldFolder) bool { return f.path == path })
	if i < 0 {
		i = len(t.held)
		t.held = append(t.held, heldFolder{path: path, backend: r.Backend})
	}
	f := &t.held[i]
	f.all++
	if !r.Failed() {
		f.scenarios++
		f.checks += checksMade(r)
		f.line = heldLine(r)
	}
}

func heldLine(r *Result) string {
	return fmt.Sprintf("ok    %s (%s on %s, %s)\n", r.Name, r.File, r.Backend, checksOf(r))
}

// write says how many scenarios of a folder held; of one it says which.
func (f *heldFolder) write(b *strings.Builder) {
	switch {
	case f.scenarios <= 1:
		b.WriteString(f.line)
	case f.scenarios < f.all:
		fmt.Fprintf(b, "ok    %s: %d of %s on %s, %s\n", f.path, f.scenarios, count(f.all, "scenario"), f.backend, count(f.checks, "check"))
	default:
		fmt.Fprintf(b, "ok    %s: %s on %s, %s\n", f.path, count(f.scenarios, "scenario"), f.backend, count(f.checks, "check"))
	}
}

func (t *TextReport) result(b *strings.Builder, r *Result) {
	switch {
	case r.Skipped != "":
		fmt.Fprintf(b, "skip  %s (%s): %s\n", r.Name, r.File, r.Skipped)
	case r.Unread:
		fmt.Fprintf(b, "FAIL  %s could not be read: %s\n", r.File, firstLine(r.Checks[0].Wrong))
	case r.Failed():
		fmt.Fprintf(b, "FAIL  %s (%s on %s)\n", r.Name, r.File, r.Backend)
	case t.detail != Normal:
		b.WriteString(heldLine(r))
	}
	if r.Failed() {
		logged(b, r.Log)
	}
	before := b.Len()
	if !r.Unread {
		t.checks(b, r)
	}
	if b.Len() > before && !strings.HasSuffix(b.String(), "\n\n") && (r.Failed() || t.ways == WaysAll) {
		b.WriteByte('\n')
	}
}

// logged is what the proxies of a scenario that failed have said.
func logged(b *strings.Builder, lines []string) {
	const most = 10
	for _, line := range lines[:min(len(lines), most)] {
		fmt.Fprintf(b, "  logged: %s\n", strings.ReplaceAll(line, "\n", "\n    "))
	}
	if len(lines) > most {
		fmt.Fprintf(b, "  and %s more logged\n", count(len(lines)-most, "line"))
	}
}

// checks writes the checks that a report shows. What the variants of the tools agree in, it shows once.
func (t *TextReport) checks(b *strings.Builder, r *Result) {
	groups := agreed(r.Checks)
	told := map[string]bool{}
	for i, g := range groups {
		kind := g.check.difference
		switch ways, shown := t.ways.shows(g.check); {
		case shown && (kind == "" || !t.brief()):
			t.full(b, g, ways)
		case shown && !told[kind]:
			told[kind] = true
			t.full(b, g, ways)
			alike(b, groups[i+1:], kind)
		case !shown && t.detail == Verbose:
			textHeld(b, g)
		}
	}
}

// brief says whether only the first difference of each kind is told in full.
func (t *TextReport) brief() bool { return t.detail != Verbose && t.ways != WaysAll }

func (t *TextReport) full(b *strings.Builder, g group, ways []int) {
	if t.ways == WaysNone {
		ways = nil
	}
	b.WriteByte('\n')
	textCheck(b, g.check, g.tools, ways)
	t.more(b, g.check, len(ways))
}

// alike are the checks that differ in the same way as one before them, in a line each.
func alike(b *strings.Builder, groups []group, kind string) {
	for _, g := range groups {
		if !g.check.Passed && g.check.difference == kind {
			fmt.Fprintf(b, "  also %s: %s%s: %s\n", g.check.At, g.check.Name, inBrackets(g.tools), firstLine(g.check.Wrong))
		}
	}
}

// more are the ways beyond those that are shown: where none is to be, the rule that decided stands for them.
func (t *TextReport) more(b *strings.Builder, c *Check, shown int) {
	if t.ways != WaysNone {
		if hidden := len(c.Ways) - shown; hidden > 0 {
			fmt.Fprintf(b, "    and %s more (--ways all)\n", count(hidden, "way"))
		}
		if !c.Passed {
			textPredicted(b, c.PredictedWays)
		}
		return
	}
	if len(c.Ways) > 0 && c.Ways[max(c.faulty, 0)].Rule != "" {
		fmt.Fprintf(b, "    decided by %s\n", c.Ways[max(c.faulty, 0)].Rule)
	}
}

// textHeld is a check that held, or was not made, in a line.
func textHeld(b *strings.Builder, g group) {
	word, why := "ok  ", ""
	switch {
	case g.check.Skipped != "":
		word, why = "skip", ": "+g.check.Skipped
	case g.check.Documented != nil:
		word, why = "ok  ", ": "+g.check.Documented.String()
	case len(g.check.OfMode) > 0:
		why = ", but for what is about rules of mode iptables: " + strings.Join(g.check.OfMode, ", ")
	}
	fmt.Fprintf(b, "  %s  %s%s%s\n", word, g.check.Name, inBrackets(g.tools), why)
}

// group is a check as the variants of the tools agree in it.
type group struct {
	check *Check // the first's
	tools string
}

// agreed puts checks together that differ in the tools only, in the order of the first ones.
func agreed(checks []Check) []group {
	type key struct {
		at, name, packet, expected, predicted, got, wrong, skipped, unreached string
		step, nth                                                             int
	}
	var out []group
	place, nth := map[key]int{}, map[key]int{}
	for i := range checks {
		c := &checks[i]
		k := key{at: c.At, name: c.Name, packet: c.Packet, expected: c.Expected, predicted: c.Predicted, got: c.Got, wrong: c.Wrong,
			skipped: c.Skipped, step: c.Step,
			unreached: fmt.Sprint(c.Unreached, c.Notes)}
		own := k
		own.skipped += "\x00" + c.tools()
		k.nth = nth[own]
		nth[own]++
		if at, known := place[k]; known {
			out[at].tools += " and " + strings.TrimPrefix(c.tools(), "iptables")
			continue
		}
		place[k] = len(out)
		out = append(out, group{c, c.tools()})
	}
	return out
}

// tools names the mode and the variant of the tools that a check was made with.
func (c *Check) tools() string { return toolsIn(c.Mode, c.Dialect) }

// inBrackets names variants of the tools behind a check's name.
func inBrackets(tools string) string {
	if tools == "" {
		return ""
	}
	return " (" + tools + ")"
}

// checksOf is how many checks were made of a scenario, and how many were not.
func checksOf(r *Result) string {
	made := checksMade(r)
	text := count(made, "check")
	if left := len(r.Checks) - made; left > 0 {
		text += fmt.Sprintf(", %d skipped", left)
	}
	return text
}

func checksMade(r *Result) int {
	made := 0
	for i := range r.Checks {
		if r.Checks[i].Skipped == "" {
			made++
		}
	}
	return made
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func textCheck(b *strings.Builder, c *Check, tools string, ways []int) {
	fmt.Fprintf(b, "  %s: %s%s\n", c.At, c.Name, inBrackets(tools))
	width := len("expected:")
	if c.Predicted != "" {
		width = len("predicted:")
	}
	for _, line := range []struct{ label, text string }{
		{"sent", c.Packet}, {"expected", c.Expected}, {"predicted", c.Predicted}, {"got", c.Got}, {"wrong", c.Wrong},
		{"names", namesText(c.Names)}, {"note", strings.Join(c.Notes, "\n")},
	} {
		if line.text != "" && (line.label != "wrong" || line.text != c.Got) {
			fmt.Fprintf(b, "    %-*s %s\n", width, line.label+":", strings.ReplaceAll(line.text, "\n", "\n      "))
		}
	}
	if len(ways) == 0 {
		textUnreached(b, c.Unreached, fewestUnreached)
	} else {
		textUnreached(b, c.Unreached, fewUnreached)
	}
	for _, i := range ways {
		textWay(b, &c.Ways[i], i+1, len(c.Ways))
	}
}

// textPredicted shows the ways that were predicted where what happened is another thing, or not as expected.
func textPredicted(b *strings.Builder, ways []Way) {
	for i := range ways[:min(len(ways), fewWays)] {
		fmt.Fprintf(b, "    predicted with the chance %.9g: %s\n", ways[i].Probability, ways[i].Describe())
		textWay(b, &ways[i], i+1, 1)
	}
}

func textWay(b *strings.Builder, w *Way, number, of int) {
	if of > 1 {
		fmt.Fprintf(b, "    way %d of %d, with the chance %.9g: %s\n", number, of, w.Probability, w.Describe())
	}
	if w.Rule != "" {
		fmt.Fprintf(b, "    decided by %s\n", w.Rule)
	}
	textHops(b, "there", w.Forward)
	textHops(b, "back", w.Back)
}

// maxHops is as many hosts of a way as a person wants to read: more are a loop.
const maxHops = 12

func textHops(b *strings.Builder, direction string, hops []Hop) {
	for i, h := range hops {
		if i == maxHops {
			fmt.Fprintf(b, "      and %d hosts more\n", len(hops)-i)
			return
		}
		fmt.Fprintf(b, "      %s, %s: %s\n", direction, h.Host, h.Packet)
		for _, s := range h.Steps {
			fmt.Fprintf(b, "        %s\n", s.String())
		}
		fmt.Fprintf(b, "        %s\n", h.Result)
	}
}

// tally counts results and their checks.
type tally struct{ scenarios, failed, skipped, checks, failedChecks, skippedChecks int }

func (t *tally) add(r *Result) {
	t.scenarios++
	if r.Skipped != "" {
		t.skipped++
	}
	if r.Failed() {
		t.failed++
	}
	for i := range r.Checks {
		switch {
		case r.Checks[i].Skipped != "":
			t.skippedChecks++
			continue
		case !r.Checks[i].Passed:
			t.failedChecks++
		}
		t.checks++
	}
}

// String is the last line of a report.
func (t *tally) String() string {
	last := "\n"
	if t.skippedChecks > 0 {
		last = fmt.Sprintf(", %d skipped\n", t.skippedChecks)
	}
	return fmt.Sprintf("%s, %d failed, %d skipped; %s, %d failed%s", count(t.scenarios, "scenario"), t.failed, t.skipped,
		count(t.checks, "check"), t.failedChecks, last)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
