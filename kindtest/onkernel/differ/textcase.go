package differ

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// textCase is a sequence of tool runs in one namespace, with what the real tools gave if it is known.
type textCase struct {
	Title   string            `json:"title,omitempty"`
	Dialect netfilter.Dialect `json:"dialect" required:"true"`
	Steps   []textStep        `json:"steps"`
	Kernel  []toolrun.Run     `json:"kernel,omitempty"`
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

// newFakeRunner is a namespace where no tool has run. Names are looked up in the files of etc.
func newFakeRunner(d netfilter.Dialect, etc fs.FS) *fakeRunner {
	return &fakeRunner{fakeipt.New(fakeipt.Options{Dialect: d, Etc: etc})}
}

func (f *fakeRunner) run(s *textStep) (toolrun.Run, error) {
	return runFake(f.kernel, slices.Clone(s.Argv), s.Stdin), nil
}

// folderRunner is a namespace of the fake whose tools are programs that keep their state in a folder. Each run is also made in memory, and
// must give the same.
type folderRunner struct {
	memory *fakeRunner
	store  *toolstate.Store
}

// newFolderRunner has its state in a folder, which the caller removes.
func newFolderRunner(d netfilter.Dialect, folder string, etc fs.FS) *folderRunner {
	return &folderRunner{newFakeRunner(d, etc), toolstate.New(folder, d, etc)}
}

func (f *folderRunner) run(s *textStep) (toolrun.Run, error) {
	run, _ := f.memory.run(s)
	var stdout, stderr bytes.Buffer
	status := f.store.Run(slices.Clone(s.Argv), strings.NewReader(s.Stdin), &stdout, &stderr)
	stored := toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}
	steady, _ := toolrun.Steady(run)
	if storedSteady, _ := toolrun.Steady(stored); storedSteady != steady {
		// A difference that is in memory, too, does not come from the folder.
		stored.Stderr += notAsInMemory
		return stored, nil
	}
	return run, nil
}

// notAsInMemory ends what a tool has said that found in its folder another state than it had left.
const notAsInMemory = "(in memory the tool says something else)\n"

// undefined is a runner that can tell what depends on memory that a real tool has not written.
type undefined interface {
	comparesUndefined(s *textStep, theirs, ours *toolrun.Run) bool
}

// comparesUndefined says that ip6tables-legacy -C has not found a rule which is like the one asked about in all that the tool's mask
// covers, and not in all that it has: what it compares behind the mask is not to be known. -D compares everything.
func (f *folderRunner) comparesUndefined(s *textStep, theirs, ours *toolrun.Run) bool {
	return f.memory.comparesUndefined(s, theirs, ours)
}

func (f *fakeRunner) comparesUndefined(s *textStep, theirs, ours *toolrun.Run) bool {
	at := slices.IndexFunc(s.Argv, func(w string) bool { return w == "-C" || w == "--check" })
	if s.Argv[0] != tool("iptables", netfilter.Legacy, netfilter.IPv6) || at < 0 || theirs.Status != 1 || ours.Status != 0 {
		return false
	}
	again, err := readAgain(f.kernel)
	if err != nil {
		return false
	}
	argv := slices.Clone(s.Argv)
	argv[at] = "-D"
	deleted := runFake(again, argv, "")
	return deleted.Status == 1 && deleted.Stderr == theirs.Stderr
}

// readAgain is a kernel with what another one has written of its state.
func readAgain(k *fakeipt.Kernel) (*fakeipt.Kernel, error) {
	again := fakeipt.New(fakeipt.Options{Dialect: k.Dialect(), Etc: machineEtc()})
	if err := again.ReadObjects(k.AppendObjects(nil)); err != nil {
		return nil, err
	}
	for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		tables, err := ruleset.StateTables(k.AppendState(nil, f))
		if err != nil {
			return nil, err
		}
		if err := again.ReadState(f, tables, nil); err != nil {
			return nil, err
		}
	}
	return again, nil
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
		if u, ok := fake.(undefined); ok && u.comparesUndefined(s, &theirs, &ours) {
			v.Excused = "-C of ip6tables-legacy compares options by what happens to stand in its memory behind a mask that is too short"
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

// textKind names a difference by the tool and the first message of each side, and where these are the same by what differs in the output.
func textKind(s *textStep, theirs, ours *toolrun.Run) string {
	first := func(r *toolrun.Run) string {
		line := strings.SplitN(r.Stderr, "\n", 2)[0]
		return varying.ReplaceAllString(line, "*")
	}
	kind := fmt.Sprintf("%s: real %d %q, ours %d %q", s.Argv[0], theirs.Status, first(theirs), ours.Status, first(ours))
	if theirs.Stderr == ours.Stderr {
		kind += ", in the output: " + outputKind(theirs.Stdout, ours.Stdout)
	}
	return kind
}

// outputKind names the first line that differs by the extensions and options in it.
func outputKind(theirs, ours string) string {
	real, fake := strings.Split(theirs, "\n"), strings.Split(ours, "\n")
	i := 0
	for i < len(real)-1 && i < len(fake)-1 && real[i] == fake[i] {
		i++
	}
	var names []string
	words := strings.Fields(real[i] + " " + fake[i])
	for n, w := range words {
		if strings.HasPrefix(w, "--") || n > 0 && (words[n-1] == "-m" || words[n-1] == "-j") {
			names = append(names, varying.ReplaceAllString(w, "*"))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}
