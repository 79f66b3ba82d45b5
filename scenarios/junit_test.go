package scenarios

import (
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// junitSchema are the attributes and the children that junit-10.xsd of Jenkins' xUnit plugin allows, as far as a report has such elements;
// the attributes that it requires have an exclamation mark. The file of a case is beyond it, for GitLab.
var junitSchema = map[string]struct{ attributes, children []string }{
	"testsuites": {[]string{"name", "time", "tests", "failures", "errors"}, []string{"testsuite"}},
	"testsuite": {[]string{"name!", "tests!", "failures!", "errors!", "group", "time", "skipped", "timestamp", "hostname", "id", "package",
		"file", "log", "url"},
		[]string{"properties", "testcase", "system-out", "system-err"}},
	"testcase": {[]string{"name!", "time", "classname", "group", "file"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"failure":  {[]string{"type", "message"}, nil},
	"error":    {[]string{"type", "message"}, nil},
	"skipped":  {[]string{"type", "message"}, nil},
}

// checkJUnitSchema holds the elements of a report to the schema.
func checkJUnitSchema(t *testing.T, report string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(report))
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			require.Empty(t, open)
			return
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			if len(open) == 0 {
				require.Equal(t, "testsuites", name)
			} else {
				require.Contains(t, junitSchema[open[len(open)-1]].children, name)
			}
			open = append(open, name)
			checkJUnitAttributes(t, &e)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

func checkJUnitAttributes(t *testing.T, e *xml.StartElement) {
	t.Helper()
	allowed := junitSchema[e.Name.Local].attributes
	given := map[string]string{}
	for _, a := range e.Attr {
		assert.True(t, slices.Contains(allowed, a.Name.Local) || slices.Contains(allowed, a.Name.Local+"!"), "%s has no %s", e.Name.Local,
			a.Name.Local)
		given[a.Name.Local] = a.Value
	}
	for _, a := range allowed {
		if name, required := strings.CutSuffix(a, "!"); required {
			assert.Contains(t, given, name, e.Name.Local)
		}
	}
	if seconds, ok := given["time"]; ok {
		assert.Regexp(t, `^[0-9]+\.[0-9]{3}$`, seconds, "SUREFIRE_TIME")
	}
}

// checkJUnit holds a report to what the JUnit plugin of Jenkins and GitLab's reader take from one: the elements and attributes of their
// documentation, totals that are right, and names that tell cases apart.
func checkJUnit(t *testing.T, report string) {
	t.Helper()
	checkJUnitSchema(t, report)
	type counts struct {
		Tests    *int     `xml:"tests,attr"`
		Failures *int     `xml:"failures,attr"`
		Errors   *int     `xml:"errors,attr"`
		Time     *float64 `xml:"time,attr"`
	}
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var doc struct {
		XMLName xml.Name `xml:"testsuites"`
		counts
		Suites []struct {
			counts
			Skipped *int   `xml:"skipped,attr"`
			Name    string `xml:"name,attr"`
			Cases   []struct {
				Name    string   `xml:"name,attr"`
				Class   string   `xml:"classname,attr"`
				File    string   `xml:"file,attr"`
				Time    *float64 `xml:"time,attr"`
				Failure *message `xml:"failure"`
				Error   *message `xml:"error"`
				Skipped *message `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal([]byte(report), &doc))
	var all [4]int
	seconds := 0.0
	seen := map[string]bool{}
	for _, s := range doc.Suites {
		var own [4]int
		for _, c := range s.Cases {
			for i, is := range []bool{true, c.Failure != nil, c.Error != nil, c.Skipped != nil} {
				if is {
					own[i]++
					all[i]++
				}
			}
			assert.NotNil(t, c.Time)
			assert.NotEmpty(t, c.Name)
			assert.NotEmpty(t, c.Class)
			for _, m := range []*message{c.Failure, c.Error, c.Skipped} {
				assert.True(t, m == nil || m.Message != "" && m.Text != "", "Jenkins shows the message of what was skipped, GitLab the text: %+v", m)
			}
			assert.NotEmpty(t, c.File)
			assert.NotContains(t, c.Class, "/", "Jenkins parts packages at dots")
			assert.NotRegexp(t, `\.yaml|:\d+:\d+`, c.Class+c.Name, "the place of a check changes with the lines above it")
			assert.False(t, seen[c.Class+"\x00"+c.Name], "two cases are one to the server: %s", c.Name)
			seen[c.Class+"\x00"+c.Name] = true
		}
		assert.NotEmpty(t, s.Name)
		assert.Equal(t, own, [4]int{*s.Tests, *s.Failures, *s.Errors, *s.Skipped})
		require.NotNil(t, s.Time)
		seconds += *s.Time
	}
	assert.Equal(t, all[:3], []int{*doc.Tests, *doc.Failures, *doc.Errors})
	assert.Less(t, math.Abs(seconds-*doc.Time), 1e-6, "%v", report)
}

func TestJUnitTellsChecksOfOneNameApart(t *testing.T) {
	s, err := Read("../cases/v1.2/web.yaml",
		strings.NewReader("name: a\nsteps: [{connect: &c {from: node1, to: 'tcp 172.30.0.1:81', expect: reject}}, {connect: *c}]\n"))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, WriteJUnit(&out, []*Result{Run(t.Context(), s, &canned{})}))
	checkJUnit(t, out.String())
	assert.Contains(t, out.String(), `name="tcp 172.30.0.1:81 from node1 (iptables-nft) #2" classname="cases.v1_2.web"`)
}

// reportOf is a report of results that have a text wherever a text of a scenario can come.
func reportOf(t *testing.T, text, file string, took time.Duration) string {
	t.Helper()
	way := Way{End: Lost, Host: text, Reason: text, Rule: text,
		Forward: []Hop{{Host: text, Packet: text, Result: text, Steps: []TraceStep{{Rule: text}}}}}
	failed := Check{Name: text, At: text, Dialect: netfilter.NFT, Packet: text, Expected: text, Got: text, Wrong: "wrong: " + text,
		Names:     []Named{{text, text}},
		Unreached: []story.Unreached{{What: text, Why: text}}, Notes: []string{text}, Ways: []Way{way}, Duration: took}
	broken := failed
	broken.Error = true
	results := []*Result{
		{Name: text, File: file, Backend: text, Checks: []Check{failed, failed, broken, {Name: text, Passed: true, Skipped: "since " + text}},
			Duration: took, Started: suiteStart},
		{Name: text, File: file, Skipped: "not here: " + text, Duration: took / 3},
		{Name: text, File: file + "x", Checks: []Check{{Name: "held", Passed: true, Duration: -took}}, Duration: -took},
	}
	for _, r := range results {
		r.Name = "name " + r.Name
		for i := range r.Checks {
			r.Checks[i].Name = "check " + r.Checks[i].Name
		}
	}
	var out strings.Builder
	require.NoError(t, WriteJUnit(&out, results))
	return out.String()
}

// checkWhatCanBeRead parses a report that has a text everywhere, and looks for the text in it.
func checkWhatCanBeRead(t *testing.T, text, file string, took time.Duration) {
	t.Helper()
	report := reportOf(t, text, "f"+file, took)
	require.True(t, utf8.ValidString(report))
	checkJUnit(t, report)
	var doc struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Failure string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal([]byte(report), &doc))
	assert.Equal(t, "name "+legalXML(text), doc.Suites[0].Name)
	if text == "" {
		return
	}
	want := strings.ReplaceAll("decided by "+legalXML(text), "\r\n", "\n")
	assert.Contains(t, doc.Suites[0].Cases[0].Failure, strings.TrimSpace(strings.ReplaceAll(want, "\r", "\n")),
		"readers take every end of a line for a newline")
}

// hard are texts that XML has no word for, or that mean something in it.
var hard = []string{
	"plain", "", "\x00\x01\x08\x0b\x1b[31m\x7f", "\xff\xfe\x80", "\xed\xa0\x80 lone surrogate", "\ufffe\uffff", "]]>", "<![CDATA[",
	"&amp; <b a='\"'>",
	"two\nlines", "a\rb\r\nc\td", "\u2028 \u0085 \U0001F600", strings.Repeat("long ", 10_000),
}

func TestJUnitIsXMLWhateverAScenarioIsCalled(t *testing.T) {
	race.OneGoroutine(t)
	for _, text := range hard {
		checkWhatCanBeRead(t, text, ".yaml", 1234567*time.Microsecond)
	}
	checkWhatCanBeRead(t, "far", "/../.yaml", 100*time.Hour+333333*time.Nanosecond)
}

// FuzzJUnit: what is written can be read back, is what readers of JUnit take, and has every text.
func FuzzJUnit(f *testing.F) {
	race.OneGoroutine(f)
	for _, text := range hard {
		f.Add(text, "cases/a.yaml", int64(1))
	}
	f.Add("a", "../..", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, text, file string, took int64) {
		checkWhatCanBeRead(t, text, file, time.Duration(took)%(1000*time.Hour))
	})
}
