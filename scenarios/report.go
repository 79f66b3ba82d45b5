package scenarios

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// reportVersion is raised when a field of the JSON report changes its meaning.
const reportVersion = 1

// Ways says which packets a report shows the way of, beside those of checks that failed.
type Ways string

// The choices.
const (
	WaysNone Ways = "none"
	WaysOne  Ways = "one" // the first of the last scenario that sends any
	WaysAll  Ways = "all"
)

// ParseWays reads one of the choices.
func ParseWays(s string) (Ways, error) {
	switch w := Ways(s); w {
	case WaysNone, WaysOne, WaysAll:
		return w, nil
	}
	return "", fmt.Errorf("unknown word %q (want none, one or all)", s)
}

// fewWays is as many ways of one packet as a person wants to read.
const fewWays = 3

// shown are the checks that a report shows, each with the places of the ways to show.
func (w Ways) shown(results []*Result) map[*Check][]int {
	show := map[*Check][]int{}
	for _, r := range results {
		for i := range r.Checks {
			c := &r.Checks[i]
			switch {
			case w == WaysAll && (len(c.Ways) > 0 || !c.Passed):
				show[c] = places(len(c.Ways))
			case !c.Passed && len(c.Ways) > fewWays && c.faulty >= 0:
				show[c] = []int{c.faulty}
			case !c.Passed:
				show[c] = places(min(len(c.Ways), fewWays))
			}
		}
	}
	if c := firstPacket(results); w == WaysOne && c != nil && c.Passed {
		show[c] = places(1)
	}
	return show
}

// places are 0 to n-1.
func places(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// firstPacket is the first check of the last scenario that sends a packet.
func firstPacket(results []*Result) *Check {
	for _, r := range slices.Backward(results) {
		for i := range r.Checks {
			if len(r.Checks[i].Ways) > 0 {
				return &r.Checks[i]
			}
		}
	}
	return nil
}

// WriteText writes a report for people: a line for each scenario, and for each
// check that failed what was sent, which way it took and what decided.
func WriteText(w io.Writer, results []*Result, ways Ways) error {
	var b strings.Builder
	show := ways.shown(results)
	for _, r := range results {
		textResult(&b, r, show)
	}
	textSummary(&b, results)
	_, err := io.WriteString(w, b.String())
	return err
}

func textResult(b *strings.Builder, r *Result, show map[*Check][]int) {
	switch {
	case r.Skipped != "":
		fmt.Fprintf(b, "skip  %s (%s): %s\n", r.Name, r.File, r.Skipped)
	case r.Failed():
		fmt.Fprintf(b, "FAIL  %s (%s on %s)\n", r.Name, r.File, r.Backend)
	default:
		fmt.Fprintf(b, "ok    %s (%s on %s, %s)\n", r.Name, r.File, r.Backend, checksOf(r))
	}
	any := false
	for i := range r.Checks {
		if ways, ok := show[&r.Checks[i]]; ok {
			b.WriteByte('\n')
			textCheck(b, &r.Checks[i], ways)
			any = true
		}
	}
	if any {
		b.WriteByte('\n')
	}
}

// checksOf is how many checks were made of a scenario, and how many were not.
func checksOf(r *Result) string {
	made := 0
	for i := range r.Checks {
		if r.Checks[i].Skipped == "" {
			made++
		}
	}
	text := count(made, "check")
	if left := len(r.Checks) - made; left > 0 {
		text += fmt.Sprintf(", %d skipped", left)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func textCheck(b *strings.Builder, c *Check, ways []int) {
	fmt.Fprintf(b, "  %s: %s (iptables-%s)\n", c.At, c.Name, c.Tool)
	width := len("expected:")
	if c.Predicted != "" {
		width = len("predicted:")
	}
	for _, line := range []struct{ label, text string }{
		{"sent", c.Packet}, {"expected", c.Expected}, {"predicted", c.Predicted}, {"got", c.Got}, {"wrong", c.Wrong},
	} {
		if line.text != "" && (line.label != "wrong" || line.text != c.Got) {
			fmt.Fprintf(b, "    %-*s %s\n", width, line.label+":", strings.ReplaceAll(line.text, "\n", "\n      "))
		}
	}
	for _, i := range ways {
		textWay(b, &c.Ways[i], i+1, len(c.Ways))
	}
	if hidden := len(c.Ways) - len(ways); hidden > 0 {
		fmt.Fprintf(b, "    and %s more (--ways all)\n", count(hidden, "way"))
	}
	if !c.Passed {
		textPredicted(b, c.PredictedWays)
	}
}

// textPredicted shows the ways that were predicted where what happened is another thing, or not as expected.
func textPredicted(b *strings.Builder, ways []Way) {
	for i := range ways[:min(len(ways), fewWays)] {
		fmt.Fprintf(b, "    predicted with the chance %.9g: %s\n", ways[i].Probability, ways[i].describe())
		textWay(b, &ways[i], i+1, 1)
	}
}

func textWay(b *strings.Builder, w *Way, number, of int) {
	if of > 1 {
		fmt.Fprintf(b, "    way %d of %d, with the chance %.9g: %s\n", number, of, w.Probability, w.describe())
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
			fmt.Fprintf(b, "        %s\n", strings.TrimSpace(s.At+"  "+s.Rule))
		}
		fmt.Fprintf(b, "        %s\n", h.Result)
	}
}

func textSummary(b *strings.Builder, results []*Result) {
	var checks, failedChecks, skippedChecks, failed, skipped int
	for _, r := range results {
		if r.Skipped != "" {
			skipped++
		}
		if r.Failed() {
			failed++
		}
		for i := range r.Checks {
			switch {
			case r.Checks[i].Skipped != "":
				skippedChecks++
				continue
			case !r.Checks[i].Passed:
				failedChecks++
			}
			checks++
		}
	}
	last := "\n"
	if skippedChecks > 0 {
		last = fmt.Sprintf(", %d skipped\n", skippedChecks)
	}
	fmt.Fprintf(b, "%s, %d failed, %d skipped; %s, %d failed%s", count(len(results), "scenario"), failed, skipped,
		count(checks, "check"), failedChecks, last)
}

// WriteJSON writes the results as one JSON document.
func WriteJSON(w io.Writer, results []*Result, ways Ways) error {
	show := ways.shown(results)
	printed := make([]Result, len(results))
	for i, r := range results {
		printed[i] = *r
		printed[i].Checks = slices.Clone(r.Checks)
		for j := range r.Checks {
			if _, ok := show[&r.Checks[j]]; !ok {
				printed[i].Checks[j].Ways, printed[i].Checks[j].PredictedWays = nil, nil
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Version int      `json:"version"`
		Results []Result `json:"results"`
	}{reportVersion, printed})
}

// The elements of a JUnit report, as CI systems read them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		File     string      `xml:"file,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// WriteJUnit writes the results as JUnit XML: a suite for each scenario, a case
// for each check.
func WriteJUnit(w io.Writer, results []*Result) error {
	var doc junitSuites
	for _, r := range results {
		doc.Suites = append(doc.Suites, junitOf(r))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitOf(r *Result) junitSuite {
	suite := junitSuite{Name: r.Name, File: r.File}
	if r.Skipped != "" {
		suite.Skipped = 1
		suite.Cases = []junitCase{{Name: r.Name, Class: r.File, Skipped: &junitMessage{Message: r.Skipped}}}
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		one := junitCase{Name: fmt.Sprintf("%s (iptables-%s, %s)", c.Name, c.Tool, c.At), Class: r.File}
		if c.Skipped != "" {
			one.Skipped = &junitMessage{Message: c.Skipped}
			suite.Skipped++
		}
		if !c.Passed {
			var text strings.Builder
			textCheck(&text, c, places(len(c.Ways)))
			one.Failure = &junitMessage{Message: firstLine(c.Wrong), Text: strings.TrimSpace(text.String())}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.Tests = len(suite.Cases)
	return suite
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
