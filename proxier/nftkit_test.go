package proxier_test

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// nftRun is one run of nft.
type nftRun struct {
	args, stdin string
}

// nftMachine is a fake kernel whose runs of nft are written down.
type nftMachine struct {
	kernel *fakekernel.Kernel
	runs   []nftRun
	// fail says which runs end with an error instead.
	fail func(nftRun) bool
	// beside is another kernel whose nft is run with the same, if it is not nil. Whether it took that is in disagreements.
	beside        exec.Interface
	disagreements []string
}

// newNFTMachine returns one at the time of the clock.
func newNFTMachine(clock *testclock.FakeClock) *nftMachine {
	return &nftMachine{kernel: fakekernel.New(fakekernel.Options{Clock: clock})}
}

// Run implements toolexec.Tools.
func (m *nftMachine) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var input []byte
	if stdin != nil {
		input, _ = io.ReadAll(stdin)
	}
	run := nftRun{strings.Join(argv[1:], " "), string(input)}
	m.runs = append(m.runs, run)
	if m.fail != nil && m.fail(run) {
		_, _ = io.WriteString(stderr, "Error: Could not process rule: Cannot allocate memory\n")
		return 1
	}
	status := m.kernel.NFTables().Run(argv, bytes.NewReader(input), stdout, stderr)
	if m.beside != nil {
		cmd := m.beside.Command(argv[0], argv[1:]...)
		cmd.SetStdin(bytes.NewReader(input))
		if output, err := cmd.CombinedOutput(); (err == nil) != (status == 0) {
			m.disagreements = append(m.disagreements, fmt.Sprintf("%s: status %d here, %v there: %s\n%s", run.args, status, err, output, input))
		}
	}
	return status
}

// tools returns nft of the machine.
func (m *nftMachine) tools(t require.TestingT, family v1.IPFamily) nftables.Interface {
	known := func(name string) bool { return path.Base(name) == "nft" }
	tools, err := nftables.New(&toolexec.Exec{Tools: m, Known: known}, family, nftables.Options{})
	require.NoError(t, err)
	return tools
}

// nft runs the tool as somebody else does, and returns what it prints.
func (m *nftMachine) nft(t require.TestingT, args string) string {
	if m.beside != nil {
		require.NoError(t, m.beside.Command("nft", strings.Fields(args)...).Run())
	}
	output, err := m.kernel.Exec().Command("nft", strings.Fields(args)...).CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

// compareBeside has nft of the other kernel list the same.
func (m *nftMachine) compareBeside(t require.TestingT) {
	require.Empty(t, m.disagreements)
	if m.beside == nil {
		return
	}
	output, err := m.beside.Command("nft", "list", "ruleset").CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, objectsOf(string(output)), m.listing(t))
}

// take returns the runs since the last time.
func (m *nftMachine) take() []nftRun {
	runs := m.runs
	m.runs = nil
	return runs
}

// written returns the transactions among the runs since the last time.
func (m *nftMachine) written() string {
	var all strings.Builder
	for _, run := range m.take() {
		if run.args == "-f -" {
			all.WriteString(run.stdin)
		}
	}
	return all.String()
}

// nftConfig is testConfig in mode nftables, on a new machine.
func nftConfig(t require.TestingT, family v1.IPFamily) (proxier.Config, *nftMachine, *testclock.FakeClock) {
	config, _ := testConfig(family)
	clock := testclock.NewFakeClock(time.Unix(1000000, 0))
	machine := newNFTMachine(clock)
	config.Clock, config.Rules = clock, proxier.NFTables{Tools: machine.tools(t, family)}
	machine.take()
	return config, machine, clock
}

// startedNFT is a proxier in mode nftables that has synced.
func startedNFT(t *testing.T) (*proxier.Proxier, *nftMachine, *testclock.FakeClock) {
	config, machine, clock := nftConfig(t, v1.IPv4Protocol)
	p := started(t, config)
	machine.take()
	return p, machine, clock
}

// listing returns what nft lists of the machine.
func (m *nftMachine) listing(t require.TestingT) map[string]string {
	return objectsOf(m.nft(t, "list ruleset"))
}

// objectsOf returns the text of each set, map and chain of a listing by its kind and name.
func objectsOf(listing string) map[string]string {
	objects := map[string]string{}
	name := ""
	for line := range strings.Lines(listing) {
		switch {
		case strings.HasPrefix(line, "\t\t"):
			objects[name] += line
		case strings.HasPrefix(line, "\t}") || line == "}\n" || line == "\n":
		default:
			name = strings.TrimSuffix(strings.TrimSpace(line), " {")
			objects[name] = ""
		}
	}
	return objects
}
