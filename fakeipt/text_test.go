package fakeipt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// machine runs a tool somewhere: on the fake kernel, or on a real one.
type machine interface {
	// run runs argv[0] with the dialect put into its name.
	run(t testing.TB, argv []string, stdin string) (stdout, stderr string, status int)
	// reset makes everything as if no tool had run.
	reset(t testing.TB)
}

// fakeMachine is a Kernel.
type fakeMachine struct {
	dialect netfilter.Dialect
	kernel  *Kernel
}

// newFakeMachines is a machine with the tools of each dialect.
func newFakeMachines() map[netfilter.Dialect]machine {
	return map[netfilter.Dialect]machine{netfilter.Legacy: newFakeMachine(netfilter.Legacy), netfilter.NFT: newFakeMachine(netfilter.NFT)}
}

func newFakeMachine(d netfilter.Dialect) *fakeMachine {
	return &fakeMachine{dialect: d, kernel: New(Options{Dialect: d})}
}

func (m *fakeMachine) reset(testing.TB) { m.kernel = New(Options{Dialect: m.dialect}) }

func (m *fakeMachine) run(_ testing.TB, argv []string, stdin string) (string, string, int) {
	var stdout, stderr bytes.Buffer
	status := m.kernel.Run(argv, strings.NewReader(stdin), &stdout, &stderr)
	return stdout.String(), stderr.String(), status
}

// withDialect is the full name of a tool: iptables-save becomes iptables-nft-save.
func withDialect(name string, d netfilter.Dialect) string {
	word := "-" + string(d)
	for _, family := range []string{"ip6tables", "iptables"} {
		if rest, ok := strings.CutPrefix(name, family); ok {
			return family + word + rest
		}
	}
	return name
}

// result is what one run looks like in a test file.
func result(stdout, stderr string, status int) string {
	var b strings.Builder
	for line := range strings.Lines(stdout) {
		if !strings.HasPrefix(line, "# Generated") && !strings.HasPrefix(line, "# Completed") {
			fmt.Fprintf(&b, "%s\n", escapeText(strings.TrimSuffix(line, "\n")))
		}
	}
	for line := range strings.Lines(stderr) {
		fmt.Fprintf(&b, "2> %s\n", escapeText(strings.TrimSuffix(line, "\n")))
	}
	if status != 0 {
		fmt.Fprintf(&b, "exit %d\n", status)
	}
	return b.String()
}

// escapeText keeps trailing blanks, empty lines and the byte 0 visible, which the test files need.
func escapeText(line string) string {
	line = strings.ReplaceAll(line, "\x00", "\\0")
	if line == "" || strings.HasSuffix(line, " ") {
		return line + "$"
	}
	return line
}

// runCase runs one directive on a machine: the lines of the input are commands, or
// the input of a restore.
func runCase(t *testing.T, m machine, d netfilter.Dialect, td *datadriven.TestData) string {
	switch td.Cmd {
	case "fresh":
		m.reset(t)
		return ""
	case "run":
		var out strings.Builder
		for line := range strings.Lines(td.Input) {
			words := xtables.WordList{}
			if err := words.Add([]byte(line), 1); err != nil {
				return err.Error()
			}
			argv := make([]string, len(words.Words))
			for i, w := range words.Words {
				argv[i] = string(w)
			}
			out.WriteString(oneRun(t, m, d, argv, ""))
		}
		return out.String()
	case "restore", "restore6":
		tool := map[string]string{"restore": "iptables-restore", "restore6": "ip6tables-restore"}[td.Cmd]
		argv := []string{tool}
		for _, a := range td.CmdArgs {
			argv = append(argv, strings.Split(a.String(), "=")...)
		}
		return oneRun(t, m, d, argv, td.Input+"\n")
	}
	t.Fatalf("%s: unknown directive %q", td.Pos, td.Cmd)
	return ""
}

func oneRun(t *testing.T, m machine, d netfilter.Dialect, argv []string, stdin string) string {
	argv[0] = withDialect(argv[0], d)
	return result(m.run(t, argv, stdin))
}

// runFile runs a test file on a machine of each dialect. Where the two do not say
// the same, the expectation has both.
func runFile(t *testing.T, path string, machines map[netfilter.Dialect]machine) {
	for _, m := range machines {
		m.reset(t)
	}
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		return bothResults(runCase(t, machines[netfilter.Legacy], netfilter.Legacy, td), runCase(t, machines[netfilter.NFT], netfilter.NFT, td))
	})
}

func TestFilesOnTheFakeKernel(t *testing.T) {
	datadriven.Walk(t, "testdata/tools", func(t *testing.T, path string) {
		runFile(t, path, newFakeMachines())
	})
}
