package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// textCase is a sequence of tool runs in one namespace, with what the real tools gave if it is known.
type textCase struct {
	Title   string          `json:"title,omitempty"`
	Dialect fakeipt.Dialect `json:"dialect" required:"true"`
	Steps   []textStep      `json:"steps"`
	Kernel  []toolRun       `json:"kernel,omitempty"`
}

// textStep is one run of a tool. Bytes that are no text are kept by YAML's !!binary.
type textStep struct {
	Argv  []string `json:"argv" flow:"true"` // argv[0] names the dialect
	Stdin string   `json:"stdin,omitempty"`
}

func (s *textStep) String() string {
	text := "$"
	for _, a := range s.Argv {
		if a == "" || strings.ContainsAny(a, " \"'\\!*") {
			a = fmt.Sprintf("%q", a)
		}
		text += " " + a
	}
	if s.Stdin != "" {
		text += "\n" + strings.TrimSuffix(fmt.Sprintf("%q", s.Stdin), "\n")
	}
	return text
}

// runner runs tools in one namespace.
type runner interface {
	run(s *textStep) (toolRun, error)
}

// fakeRunner is a namespace of the fake.
type fakeRunner struct{ kernel *fakeipt.Kernel }

func newFakeRunner(d fakeipt.Dialect) *fakeRunner {
	return &fakeRunner{fakeipt.New(fakeipt.Options{Dialect: d})}
}

func (f *fakeRunner) run(s *textStep) (toolRun, error) {
	return runFake(f.kernel, slices.Clone(s.Argv), s.Stdin), nil
}

// recordedRuns is the real tools' answer in a case.
type recordedRuns struct{ runs []toolRun }

func (r *recordedRuns) run(*textStep) (toolRun, error) {
	if len(r.runs) == 0 {
		return toolRun{}, fmt.Errorf("the recorded answer has too few runs")
	}
	run := r.runs[0]
	r.runs = r.runs[1:]
	return run, nil
}

// textVerdict is what comparing a text case gave.
type textVerdict struct {
	// Disagreement is empty if all runs are the same. Kind is the same for disagreements that look alike.
	Disagreement, Kind string
	// Excused is the reason for a difference that is not meant to be imitated.
	Excused string
	Runs    []toolRun // of the real tools, up to the disagreement, masked
	// Masked are the reasons of the masks that found something, once for each run.
	Masked []string
}

// judgeText runs a case on both sides, up to the first difference.
func judgeText(c *textCase, real, fake runner) (*textVerdict, error) {
	v := &textVerdict{}
	for i := range c.Steps {
		s := &c.Steps[i]
		theirs, err := real.run(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		theirs, reasons := steady(theirs)
		v.Runs, v.Masked = append(v.Runs, theirs), append(v.Masked, reasons...)
		ours, err := fake.run(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		ours, _ = steady(ours)
		if ours == theirs {
			continue
		}
		if v.Excused = excuse(&theirs, &ours); v.Excused != "" {
			return v, nil
		}
		v.Kind = textKind(s, &theirs, &ours)
		v.Disagreement = fmt.Sprintf("%s\n%s", s, diff(theirs.lines(), ours.lines()))
		return v, nil
	}
	return v, nil
}

func (r *toolRun) lines() []string {
	var lines []string
	for line := range strings.Lines(r.Stdout) {
		lines = append(lines, fmt.Sprintf("1> %q", line))
	}
	for line := range strings.Lines(r.Stderr) {
		lines = append(lines, fmt.Sprintf("2> %q", line))
	}
	return append(lines, fmt.Sprintf("exit %d", r.Status))
}

// excuse is the reason why a difference is none. Each is counted and printed.
func excuse(theirs, ours *toolRun) string {
	if theirs.Status > statusSignal && theirs.Status <= statusSignal+lastSignal {
		return fmt.Sprintf("the real tool was ended by signal %d", theirs.Status-statusSignal)
	}
	if i := strings.Index(ours.Stderr, "not supported: "); i >= 0 {
		return "the fake says " + strings.SplitN(ours.Stderr[i:], "\n", 2)[0]
	}
	if theirs.Status != ours.Status {
		return ""
	}
	switch {
	case leftOver.MatchString(theirs.Stderr) && strings.Contains(ours.Stderr, "Bad rule (does a matching rule exist in that chain?)"),
		strings.HasSuffix(theirs.Stderr, ": Bad built-in chain name.\n") &&
			strings.HasSuffix(ours.Stderr, ": No chain/target/match by that name.\n"):
		return "the nft tools say of -Z of a chain or rule that is not there what an earlier command has left behind"
	case debugging.MatchString(theirs.Stdout) && !debugging.MatchString(ours.Stdout):
		return "with -v twice the real tools print what they keep in memory or send to the kernel, which spoils the reason of a later error"
	case theirs.Stderr != ours.Stderr:
		return ""
	case sharesBuckets(theirs.Stdout, ours.Stdout):
		return "elements of a set share a bucket in the kernel, by a number that it draws, and take less memory"
	case usage.MatchString(theirs.Stdout) && usage.MatchString(ours.Stdout):
		return "the fake has words of its own for the help"
	}
	return ""
}

// leftOver is a message of the nft tools that depends on an error which they have got over.
var leftOver = regexp.MustCompile(`Incompatible with this kernel\.|restore: line [0-9]+ failed\n$`)

// usage is a line of the help. debugging is how the dumps of -v -v begin: of the legacy tools, and of the nft tools.
var (
	usage     = regexp.MustCompile(`(?m)^Usage: `)
	debugging = regexp.MustCompile(`(?m)^libiptc v|^(table )?\S+ \S+ .*\buse [0-9]+`)
)

// statusSignal is added to a signal that ended a tool; lastSignal is the greatest there is.
const (
	statusSignal = 128
	lastSignal   = 64
)

// varying is what differs between messages of one kind: numbers and quoted words.
var varying = regexp.MustCompile("[0-9]+|`[^']*'|\"[^\"]*\"|'[^']*'")

// textKind names a difference by the tool and the real tool's first message, or ours if it says nothing.
func textKind(s *textStep, theirs, ours *toolRun) string {
	first := func(r *toolRun) string {
		line := strings.SplitN(r.Stderr, "\n", 2)[0]
		return varying.ReplaceAllString(line, "*")
	}
	return fmt.Sprintf("%s: real %d %q, ours %d %q", s.Argv[0], theirs.Status, first(theirs), ours.Status, first(ours))
}
