package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// textCase is a sequence of tool runs in one namespace, with what the real tools gave if it is known.
type textCase struct {
	Title   string          `json:"title,omitempty"`
	Dialect fakeipt.Dialect `json:"dialect" required:"true"`
	Steps   []textStep      `json:"steps"`
	Kernel  []toolrun.Run   `json:"kernel,omitempty"`
}

// textStep is one run of a tool. Bytes that are no text are kept by YAML's !!binary.
type textStep struct {
	Argv  []string `json:"argv" flow:"true"` // argv[0] names the dialect
	Stdin string   `json:"stdin,omitempty"`
}

func (s *textStep) String() string {
	text := toolrun.CommandLine(s.Argv)
	if s.Stdin != "" {
		text += "\n" + strings.TrimSuffix(fmt.Sprintf("%q", s.Stdin), "\n")
	}
	return text
}

// runner runs tools in one namespace.
type runner interface {
	run(s *textStep) (toolrun.Run, error)
}

// fakeRunner is a namespace of the fake.
type fakeRunner struct{ kernel *fakeipt.Kernel }

func newFakeRunner(d fakeipt.Dialect) *fakeRunner {
	return &fakeRunner{fakeipt.New(fakeipt.Options{Dialect: d})}
}

func (f *fakeRunner) run(s *textStep) (toolrun.Run, error) {
	return runFake(f.kernel, slices.Clone(s.Argv), s.Stdin), nil
}

// recordedRuns is the real tools' answer in a case.
type recordedRuns struct{ runs []toolrun.Run }

func (r *recordedRuns) run(*textStep) (toolrun.Run, error) {
	if len(r.runs) == 0 {
		return toolrun.Run{}, fmt.Errorf("the recorded answer has too few runs")
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
	Runs    []toolrun.Run // of the real tools, up to the disagreement, masked
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
		theirs, reasons := toolrun.Steady(theirs)
		v.Runs, v.Masked = append(v.Runs, theirs), append(v.Masked, reasons...)
		ours, err := fake.run(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		ours, _ = toolrun.Steady(ours)
		if ours == theirs {
			continue
		}
		if v.Excused = excuse(&theirs, &ours); v.Excused != "" {
			return v, nil
		}
		v.Kind = textKind(s, &theirs, &ours)
		v.Disagreement = fmt.Sprintf("%s\n%s", s, toolrun.Diff(theirs.Lines(), ours.Lines()))
		return v, nil
	}
	return v, nil
}

// excuse is the reason why a difference is none: the fake says what it lacks, or one that holds for every comparison of tools.
func excuse(theirs, ours *toolrun.Run) string {
	if i := strings.Index(ours.Stderr, "not supported: "); i >= 0 {
		return "the fake says " + strings.SplitN(ours.Stderr[i:], "\n", 2)[0]
	}
	return toolrun.Excuse(theirs, ours)
}

// varying is what differs between messages of one kind: numbers and quoted words.
var varying = regexp.MustCompile("[0-9]+|`[^']*'|\"[^\"]*\"|'[^']*'")

// textKind names a difference by the tool and the real tool's first message, or ours if it says nothing.
func textKind(s *textStep, theirs, ours *toolrun.Run) string {
	first := func(r *toolrun.Run) string {
		line := strings.SplitN(r.Stderr, "\n", 2)[0]
		return varying.ReplaceAllString(line, "*")
	}
	return fmt.Sprintf("%s: real %d %q, ours %d %q", s.Argv[0], theirs.Status, first(theirs), ours.Status, first(ours))
}
