package nftdiffer

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	_ "github.com/chainwalk/chainwalk/internal/ram"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// sessions are the folder with the sessions of people.
const sessions = "testdata/sessions"

// runSessions runs the sessions of a file: "new" begins one, "file" writes a file, "nft" runs the tool with the arguments in the first line
// of its input and the rest as its standard input, and "end" lists what is left.
func runSessions(t *testing.T, path string, takes func(t testing.TB, i int) bool, fresh func() (machine, error)) {
	var m machine
	begun, taken := 0, false
	t.Cleanup(func() {
		if m != nil {
			m.close()
		}
	})
	var differ differences
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		if td.Cmd == "new" {
			begun++
			taken = takes(t, begun)
		}
		if !taken {
			return td.Expected
		}
		switch td.Cmd {
		case "new":
			if m != nil {
				m.close()
			}
			var err error
			m, err = fresh()
			require.NoError(t, err)
			return ""
		case "end":
			text, err := endResult(m)
			require.NoError(t, err)
			return differ.note(td, text)
		}
		s, err := stepOf(td)
		require.NoError(t, err, td.Pos)
		run, err := s.do(m)
		require.NoError(t, err, td.Pos)
		return differ.note(td, result(run))
	})
	differ.report(t)
}

// differences are what was said otherwise than a file has it. A file is run to its end.
type differences struct {
	runs, wrong int
	lacks       []string // what was refused by name
	text        strings.Builder
}

// note notes what a step has given. It returns what the file is to have.
func (d *differences) note(td *datadriven.TestData, got string) string {
	d.runs++
	if got == td.Expected || td.Rewrite {
		return got
	}
	if _, what, refused := strings.Cut(got, "chainwalk does not support "); refused {
		what, _, _ = strings.Cut(what, "\n")
		d.lacks = append(d.lacks, what)
		return td.Expected
	}
	d.wrong++
	fmt.Fprintf(&d.text, "%s: %s\n%s\n%s\n", td.Pos, td.Cmd, td.Input,
		toolrun.Diff(strings.Split(td.Expected, "\n"), strings.Split(got, "\n")))
	return td.Expected
}

func (d *differences) report(t *testing.T) {
	t.Logf("%d of %d runs as expected; refused by name: %q", d.runs-d.wrong-len(d.lacks), d.runs, d.lacks)
	if d.wrong > 0 {
		t.Errorf("%d of %d runs differ\n%s", d.wrong, d.runs, d.text.String())
	}
}

// stepOf reads a step.
func stepOf(td *datadriven.TestData) (*step, error) {
	file := ""
	if name, there := td.Arg("name"); there && len(name.Vals) == 1 {
		file = name.Vals[0]
	}
	return readStep(td.Cmd, file, td.HasArg("raw"), td.Input)
}

// TestSessions runs them on the fake, which must say what the real tool has said. In every fourth session (internal/sample) it keeps its
// state in a folder, too.
func TestSessions(t *testing.T) {
	if flag.Lookup("rewrite").Value.String() == "true" {
		return // TestKernelSessions writes the files now: the fake must not write into them
	}
	begun := 0
	datadriven.Walk(t, sessions, func(t *testing.T, path string) {
		runSessions(t, path, sample.InAll, func() (machine, error) {
			m, err := newFakeMachine()
			if begun++; err == nil && !sample.Takes(t, begun, 4) {
				m.(*fakeMachine).stored = nil
			}
			return m, err
		})
	})
}
