package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilexec "k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// TestMain is chainwalk itself if the test binary was started by the name of a tool, or by its own. The commands that tests run are to
// collect as rarely as the tests (internal/garbage), whatever suits a process of one command; benchmarks measure them as they are.
func TestMain(m *testing.M) {
	if toolstate.IsTool(os.Args[0]) || filepath.Base(os.Args[0]) == "chainwalk" {
		main()
	}
	flag.Parse()
	if bench := flag.Lookup("test.bench"); os.Getenv("GOGC") == "" && bench.Value.String() == "" {
		if err := os.Setenv("GOGC", strconv.Itoa(collectSeldom)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// linkTools makes links with the tools' names to this program, and puts them first in PATH with a state of their own.
func linkTools(t *testing.T, names ...string) {
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.Symlink(self, filepath.Join(bin, name)))
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("CHAINWALK_STATE", t.TempDir())
	// With the race detector every tool would sleep for a second at its end, in case a goroutine is left.
	t.Setenv("GORACE", "atexit_sleep_ms=0")
}

// TestRunnerOnLinkedTools runs the proxier's runner, which does not know fake tools, through os/exec.
func TestRunnerOnLinkedTools(t *testing.T) {
	linkTools(t, "iptables", "iptables-save", "iptables-restore")
	for _, tools := range []string{"legacy", "nft"} {
		t.Setenv("CHAINWALK_TOOLS", tools)
		runner, err := iptables.New(utilexec.New(), iptables.ProtocolIPv4, iptables.Options{})
		require.NoError(t, err)
		require.NoError(t, runner.Present())

		existed, err := runner.EnsureChain(iptables.TableNAT, "KUBE-SERVICES")
		require.NoError(t, err)
		assert.False(t, existed)
		for _, want := range []bool{false, true} {
			existed, err = runner.EnsureRule(iptables.Append, iptables.TableNAT, iptables.ChainOutput, "-j", "KUBE-SERVICES")
			require.NoError(t, err)
			assert.Equal(t, want, existed)
		}
		rules := "*nat\n-A KUBE-SERVICES -d 10.0.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.1.1:8080\nCOMMIT\n"
		require.NoError(t, runner.RestoreAll([]byte(rules), iptables.NoFlushTables, iptables.RestoreCounters))
		var saved bytes.Buffer
		require.NoError(t, runner.SaveInto(iptables.TableNAT, &saved))
		assert.Contains(t, saved.String(), "\n-A OUTPUT -j KUBE-SERVICES\n"+
			"-A KUBE-SERVICES -d 10.0.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.1.1:8080\n")

		var refused *iptables.RestoreError
		err = runner.RestoreAll([]byte("*nat\n-A NOPE\nCOMMIT\n"), iptables.NoFlushTables, iptables.RestoreCounters)
		require.ErrorAs(t, err, &refused)
	}
}

// TestToolEndsBySignal holds that a tool that waits for its input dies of SIGTERM, as the real ones do.
func TestToolEndsBySignal(t *testing.T) {
	linkTools(t, "iptables-restore", "iptables-save")
	tool := exec.Command("iptables-restore", "-v")
	in, err := tool.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	require.NoError(t, tool.Start())
	// More than a pipe holds: once all of it is written, the tool reads its input.
	_, err = in.Write(bytes.Repeat([]byte("# nothing\n"), 1<<14))
	require.NoError(t, err)
	require.NoError(t, tool.Process.Signal(syscall.SIGTERM))
	var ended *exec.ExitError
	require.ErrorAs(t, tool.Wait(), &ended)
	assert.Equal(t, syscall.SIGTERM, ended.Sys().(syscall.WaitStatus).Signal())
}

func TestToolCommand(t *testing.T) {
	t.Setenv("CHAINWALK_STATE", t.TempDir())
	for _, row := range []struct {
		about  string
		args   []string
		status int
		out    string
		errOut string
	}{
		{"a tool works", []string{"tool", "iptables", "-N", "A"}, 0, "", ""},
		{"its flags are its own", []string{"tool", "iptables", "-S", "A"}, 0, "-N A\n", ""},
		{"its status is kept", []string{"tool", "iptables", "-N", "A"}, 1, "", "iptables: Chain already exists.\n"},
		{"other statuses too", []string{"tool", "ip6tables", "-t", "none", "-S"}, 3, "",
			"ip6tables v1.8.9 (legacy): can't initialize ip6tables table `none': Table does not exist (do you need to insmod?)\nPerhaps ip6tables " +
				"or your kernel needs to be upgraded.\n"},
		{"no such tool", []string{"tool", "ebtables"}, 2, "", "chainwalk: tool: there is no tool \"ebtables\"\n"},
		{"no tool named", []string{"tool"}, 2, "", "chainwalk: tool: name a tool, for example iptables-save\n"},
	} {
		t.Run(row.about, func(t *testing.T) {
			var out, errOut bytes.Buffer
			status := run(row.args, bytes.NewReader(nil), &out, &errOut)
			assert.Equal(t, []any{row.status, row.out, row.errOut}, []any{status, out.String(), errOut.String()})
		})
	}
}

// TestToolWithoutPlaceForItsState holds that a state which cannot be kept is an error of the tool.
func TestToolWithoutPlaceForItsState(t *testing.T) {
	linkTools(t, "iptables")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("CHAINWALK_STATE", file)
	out, err := exec.Command("iptables", "-S").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 4, exit.ExitCode())
	assert.Contains(t, string(out), "iptables: making the folder of the state: ")
}
