package scenarios

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// The elements of a JUnit report, as Jenkins and GitLab read them.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitTotals
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string `xml:"name,attr"`
		File      string `xml:"file,attr"`
		Timestamp string `xml:"timestamp,attr,omitempty"`
		junitTotals
		Cases []junitCase `xml:"testcase"`
	}
	junitTotals struct {
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     junitSeconds `xml:"time,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Time    junitSeconds  `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// junitSeconds is a time in seconds, never with an exponent.
type junitSeconds time.Duration

// MarshalText writes milliseconds as well.
func (s junitSeconds) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

// WriteJUnit writes the results as JUnit XML: a suite for each scenario, a case for each check. Names have no line numbers, so that a
// check is the same one in the next report. What could not be looked at is an error, what was not as expected a failure.
func WriteJUnit(w io.Writer, results []*Result) error {
	var doc junitSuites
	for _, r := range results {
		suite := junitOf(r)
		doc.add(suite.junitTotals)
		doc.Suites = append(doc.Suites, suite)
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

func (t *junitTotals) add(more junitTotals) {
	t.Tests += more.Tests
	t.Failures += more.Failures
	t.Errors += more.Errors
	t.Skipped += more.Skipped
	t.Time += more.Time
}

func junitOf(r *Result) junitSuite {
	suite := junitSuite{Name: r.Name, File: r.File}
	suite.Time = junitSeconds(r.Duration)
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
	}
	class := junitClass(r.File)
	if r.Skipped != "" {
		suite.Skipped = 1
		suite.Cases = []junitCase{{Name: r.Name, Class: class, File: r.File, Skipped: &junitMessage{Message: r.Skipped}}}
	}
	names := map[string]int{}
	for i := range r.Checks {
		one := suite.check(&r.Checks[i])
		one.Class, one.File = class, r.File
		if names[one.Name]++; names[one.Name] > 1 {
			one.Name += fmt.Sprintf(" #%d", names[one.Name])
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// check is the case of a check, which the suite counts.
func (s *junitSuite) check(c *Check) junitCase {
	one := junitCase{Name: c.Name + inBrackets(string(c.Tool)), Time: junitSeconds(c.Duration)}
	if c.Skipped != "" {
		one.Skipped = &junitMessage{Message: c.Skipped}
		s.Skipped++
	}
	if c.Passed {
		return one
	}
	var text strings.Builder
	textCheck(&text, c, string(c.Tool), places(len(c.Ways)))
	textPredicted(&text, c.PredictedWays)
	why := &junitMessage{Message: firstLine(c.Wrong), Text: strings.TrimSpace(text.String())}
	if c.Error {
		one.Error = why
		s.Errors++
	} else {
		one.Failure = why
		s.Failures++
	}
	return one
}

// junitClass is a path as the name of a class, whose last dot parts the package from the class: cases/hairpin.yaml is cases.hairpin.
func junitClass(path string) string {
	path = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(path)), filepath.Ext(path))
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, ".", "_")
		if part == ".." {
			parts[i] = ""
		}
	}
	return strings.Trim(strings.Join(parts, "."), ".")
}
