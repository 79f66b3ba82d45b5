package programs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/fakenft/nftstate"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// What is in the folder of a life. The recorder stands there too, and every tool of the life is a link to it.
const (
	realFolder  = "real"    // the real tools, under their names
	stateFolder = "state"   // of the fake tools
	dialectFile = "dialect" // of tools whose name does not say theirs
	callsFile   = "calls"   // every call, one a line
)

// statusBroken is the recorder's own exit status, which no tool has.
const statusBroken = 99

// saves are what is compared at the end of a phase.
var saves = [][]string{
	{"iptables-legacy-save", "-c"}, {"ip6tables-legacy-save", "-c"},
	{"iptables-nft-save", "-c"}, {"ip6tables-nft-save", "-c"},
	{"ipset", "save"},
}

// nativeFile is there in the life of a program that writes nft's own tables: these are compared too.
const nativeFile = "native"

// saves are what is compared in this life.
func (r Recorder) saves() [][]string {
	if _, err := os.Stat(filepath.Join(r.Folder, nativeFile)); err != nil {
		return saves
	}
	return append([][]string{{"nft", "list", "ruleset"}, {"nft", "-j", "list", "ruleset"}, {"nft", "-a", "list", "ruleset"}}, saves...)
}

// Recorder runs tools on both kernels.
type Recorder struct {
	// Folder is that of the life.
	Folder string
}

// Run runs the tool argv[0] on the real kernel and on the fake, writes down both answers, gives the real one and returns its exit status.
// The command "phase NAME" compares instead what both kernels hold.
func (r Recorder) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if filepath.Base(argv[0]) == "phase" {
		if len(argv) != 2 {
			return broken(stderr, errors.New("phase: want one name"))
		}
		for _, save := range r.saves() {
			if _, err := r.record(&call{Phase: argv[1], Argv: save}); err != nil {
				return broken(stderr, err)
			}
		}
		return 0
	}
	c := &call{Argv: argv}
	if readsInput(argv) {
		// It is read before the lock is taken: who writes it may have to run a tool first.
		text, err := io.ReadAll(stdin)
		if err != nil {
			return broken(stderr, err)
		}
		c.Stdin = string(text)
	}
	answer, err := r.record(c)
	if err != nil {
		return broken(stderr, err)
	}
	// As with the tools themselves: the status says whether what was asked was done, and a reader may go before the end.
	_, _ = io.WriteString(stdout, answer.Stdout)
	_, _ = io.WriteString(stderr, answer.Stderr)
	return answer.Status
}

func broken(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "recorder: %v\n", err)
	return statusBroken
}

// record makes a call on both kernels and writes it down. Calls wait for one another, so that both see them in one order.
func (r Recorder) record(c *call) (answer toolrun.Run, err error) {
	calls, err := os.OpenFile(filepath.Join(r.Folder, callsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, calls.Close()) }()
	if err := syscall.Flock(int(calls.Fd()), syscall.LOCK_EX); err != nil {
		return answer, fmt.Errorf("lock %s: %w", calls.Name(), err)
	}
	if c.Real, err = r.real(c); err != nil {
		return answer, err
	}
	if c.Fake, err = r.fake(c); err != nil {
		return answer, err
	}
	line, err := json.Marshal(c)
	if err != nil {
		return answer, err
	}
	_, err = calls.Write(append(line, '\n'))
	return c.Real, err
}

// nfacctOption names an accounting object in a rule.
const nfacctOption = "--nfacct-name"

// shareAccounts makes in the fake the accounting objects that the real kernel has, where a call names one: kube-proxy makes them by
// netlink, for which no tool is called.
func (r Recorder) shareAccounts(c *call, store *toolstate.Store) error {
	if !strings.Contains(c.Stdin, nfacctOption) && !slices.Contains(c.Argv, nfacctOption) {
		return nil
	}
	list := call{Argv: []string{"nfacct", "list"}}
	theirs, err := r.real(&list)
	if err != nil {
		return err
	}
	ours := runFake(store, &list)
	for _, name := range accounts(theirs.Stdout) {
		if slices.Contains(accounts(ours.Stdout), name) {
			continue
		}
		if made := runFake(store, &call{Argv: []string{"nfacct", "add", name}}); made.Status != 0 {
			return fmt.Errorf("nfacct add %s: %s", name, made.Stderr)
		}
	}
	return nil
}

// accounts are the names in a list of accounting objects.
func accounts(list string) []string {
	var names []string
	for line := range strings.Lines(list) {
		if _, name, ok := strings.Cut(line, "} = "); ok {
			names = append(names, strings.TrimSuffix(strings.TrimSpace(name), ";"))
		}
	}
	return names
}

// real runs the real tool.
func (r Recorder) real(c *call) (toolrun.Run, error) {
	var stdout, stderr bytes.Buffer
	tool := exec.Command(filepath.Join(r.Folder, realFolder, filepath.Base(c.Argv[0])))
	tool.Args = c.Argv
	tool.Stdin, tool.Stdout, tool.Stderr = strings.NewReader(c.Stdin), &stdout, &stderr
	err := tool.Run()
	run := toolrun.Run{}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		run.Status, err = exit.ExitCode(), nil
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			run.Status = toolrun.StatusSignal + int(status.Signal())
		}
	}
	run.Stdout, run.Stderr = stdout.String(), stderr.String()
	return run, err
}

// fake runs the fake tool.
func (r Recorder) fake(c *call) (toolrun.Run, error) {
	name, err := os.ReadFile(filepath.Join(r.Folder, dialectFile))
	if err != nil {
		return toolrun.Run{}, err
	}
	store := toolstate.New(filepath.Join(r.Folder, stateFolder), netfilter.Dialect(name), os.DirFS("/etc"))
	if nftstate.IsTool(c.Argv[0]) {
		here, err := os.Getwd()
		if err != nil {
			return toolrun.Run{}, err
		}
		return runFake(&nftstate.Store{Dir: store.Dir(), Files: os.DirFS("/"), WorkDir: here, Etc: os.DirFS("/etc"), Join: store.Join}, c), nil
	}
	if err := r.shareAccounts(c, store); err != nil {
		return toolrun.Run{}, err
	}
	return runFake(store, c), nil
}

func runFake(store toolexec.Tools, c *call) toolrun.Run {
	var stdout, stderr bytes.Buffer
	status := store.Run(slices.Clone(c.Argv), strings.NewReader(c.Stdin), &stdout, &stderr)
	return toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}
}
