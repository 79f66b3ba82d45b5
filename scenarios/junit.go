package scenarios

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// The elements of a JUnit report, as Jenkins and GitLab read them: those of junit-10.xsd of Jenkins' xUnit plugin
// (https://github.com/jenkinsci/xunit-plugin), whose testsuites count nothing that was skipped, and beyond it the file of a case, which
// GitLab shows (https://docs.gitlab.com/ci/testing/unit_test_reports).
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitTotals
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      junitText `xml:"name,attr"`
		File      junitText `xml:"file,attr"`
		Timestamp string    `xml:"timestamp,attr,omitempty"`
		junitTotals
		Skipped int         `xml:"skipped,attr"`
		Cases   []junitCase `xml:"testcase"`
	}
	junitTotals struct {
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     junitSeconds `xml:"time,attr"`
	}
	junitCase struct {
		Name    junitText     `xml:"name,attr"`
		Class   junitText     `xml:"classname,attr"`
		File    junitText     `xml:"file,attr"`
		Time    junitSeconds  `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message junitText `xml:"message,attr"`
		Text    string    `xml:",cdata"`
	}
)

// junitText is a text in an attribute.
type junitText string

// MarshalText leaves out what no document of XML may have.
func (s junitText) MarshalText() ([]byte, error) { return []byte(legalXML(string(s))), nil }

// legalXML is a text with a replacement character for each that XML 1.0 has no way to write: controls, and what is not UTF-8.
func legalXML(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// messageOf is the reason of a case: readers show the text, or the message.
func messageOf(message, text string) *junitMessage {
	return &junitMessage{Message: junitText(firstLine(message)), Text: legalXML(text)}
}

// junitSeconds is a time in seconds, never with an exponent.
type junitSeconds time.Duration

// secondsOf is a time to the millisecond, so that times can be added as they are written. A clock that was set back took none.
func secondsOf(d time.Duration) junitSeconds { return junitSeconds(max(d, 0).Round(time.Millisecond)) }

// MarshalText writes milliseconds as well.
func (s junitSeconds) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

// WriteJUnit writes the results as JUnit XML: a suite for each scenario, a case for each check. Names have no line numbers, so that a
// check is the same one in the next report. What could not be looked at is an error, what was not as expected a failure.
func WriteJUnit(w io.Writer, results []*Result) error {
	var doc junitSuites
	names := map[[2]junitText]int{}
	for _, r := range results {
		suite := junitOf(r, names)
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
	t.Time += more.Time
}

// junitOf is the suite of a scenario. Names has how often a class has a name so far: of cases with one name GitLab takes the first alone.
func junitOf(r *Result, names map[[2]junitText]int) junitSuite {
	suite := junitSuite{Name: junitText(r.Name), File: junitText(r.File)}
	suite.Time = secondsOf(r.Duration)
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
	}
	if r.Skipped != "" {
		suite.Skipped = 1
		suite.Cases = []junitCase{{Name: suite.Name, Skipped: messageOf(r.Skipped, r.Skipped)}}
	}
	for i := range r.Checks {
		suite.Cases = append(suite.Cases, suite.check(&r.Checks[i]))
	}
	class := junitText(junitClass(r.File))
	for i := range suite.Cases {
		one := &suite.Cases[i]
		one.Class, one.File = class, suite.File
		key := [2]junitText{class, one.Name}
		if names[key]++; names[key] > 1 {
			one.Name += junitText(fmt.Sprintf(" #%d", names[key]))
		}
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// check is the case of a check, which the suite counts.
func (s *junitSuite) check(c *Check) junitCase {
	one := junitCase{Name: junitText(c.Name + inBrackets(c.tools())), Time: secondsOf(c.Duration)}
	if c.Skipped != "" {
		one.Skipped = messageOf(c.Skipped, c.Skipped)
		s.Skipped++
	}
	if c.Passed {
		return one
	}
	var text strings.Builder
	textCheck(&text, c, c.tools(), places(len(c.Ways)))
	textPredicted(&text, c.PredictedWays)
	why := messageOf(c.Wrong, strings.TrimSpace(text.String()))
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
	return cmp.Or(strings.Trim(strings.Join(parts, "."), "."), "scenario")
}
