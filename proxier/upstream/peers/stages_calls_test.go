package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/fakenft/nftstate"
	"github.com/chainwalk/chainwalk/internal/dumps/nftcalls"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/proxier/upstream/bothkernels"
)

// call is a run of nft.
type call struct {
	Argv                  []string
	Stdin, Stdout, Stderr string
	Status                int
}

// notebook notes the runs of a tool.
type notebook struct {
	tool  toolexec.Tools
	calls []call
	file  string // the calls are kept there, a line of JSON each, if the tool is a program; empty: in calls
}

// Run implements toolexec.Tools.
func (n *notebook) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := call{Argv: slices.Concat([]string{"nft"}, argv[1:])}
	if stdin != nil {
		text, err := io.ReadAll(stdin)
		if err != nil {
			panic(err) // a reader of the test
		}
		c.Stdin = string(text)
	}
	var out, said strings.Builder
	c.Status = n.tool.Run(argv, strings.NewReader(c.Stdin), &out, &said)
	c.Stdout, c.Stderr = out.String(), said.String()
	n.note(&c)
	_, _ = io.WriteString(stdout, c.Stdout)
	_, _ = io.WriteString(stderr, c.Stderr)
	return c.Status
}

// note keeps a call.
func (n *notebook) note(c *call) {
	if n.file == "" {
		n.calls = append(n.calls, *c)
		return
	}
	line, err := json.Marshal(c)
	if err != nil {
		panic(err) // of strings
	}
	file, err := os.OpenFile(n.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the test finds no calls
	}
	_, err = file.Write(append(line, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		panic(err)
	}
}

// take returns the calls of kube-proxy since the last time, without those that somebody else made, and forgets them.
func (n *notebook) take(t *testing.T) []call {
	calls := n.calls
	n.calls = nil
	if n.file != "" {
		text, err := os.ReadFile(n.file)
		require.NoError(t, err)
		require.NoError(t, os.Remove(n.file))
		for line := range bytes.Lines(text) {
			var c call
			require.NoError(t, json.Unmarshal(line, &c))
			calls = append(calls, c)
		}
	}
	return slices.DeleteFunc(calls, func(c call) bool { return len(c.Argv) > 1 && (c.Argv[1] == "add" || c.Argv[1] == "delete") })
}

// exec is the noted tool as a program.
func (n *notebook) exec() exec.Interface {
	return &toolexec.Exec{Tools: n, Known: func(name string) bool { return path.Base(name) == nft }, Prompt: true}
}

// recorded are the calls of a stage, and the listing after it.
func recorded(t *testing.T, files fs.FS, stage string) (calls []call, ruleset string) {
	text := func(name string) string {
		b, err := fs.ReadFile(files, path.Join(stage, name))
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		require.NoError(t, err)
		return string(b)
	}
	names, err := fs.Glob(files, path.Join(stage, "calls", "*.argv"))
	require.NoError(t, err)
	for _, name := range names {
		base := path.Join("calls", strings.TrimSuffix(path.Base(name), ".argv"))
		c := call{Argv: strings.Fields(text(base + ".argv")), Stdin: text(base + ".stdin")}
		c.Stdout, c.Stderr = text(base+".stdout"), text(base+".stderr")
		_, err := fmt.Sscan(text(base+".status"), &c.Status)
		require.NoError(t, err)
		calls = append(calls, c)
	}
	return calls, text("ruleset.nft")
}

// contestedIP is the external IP of two services, whose owner the order of a Go map decides in each sync.
const contestedIP = "198.51.100.99"

// unordered are the lines of a text without what Go's maps decide: their order, and the owner of the contested address.
func unordered(text string) []string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, contestedIP) })
	slices.Sort(lines)
	return lines
}

// listed is JSON of nft without what depends on the order in which objects were made.
func listed(t *testing.T, text string) []string {
	var all struct{ Nftables []map[string]map[string]any }
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return []string{text} // the version
	}
	var lines []string
	for _, object := range all.Nftables {
		for kind, fields := range object {
			delete(fields, "handle")
			elements, _ := fields["elem"].([]any)
			fields["elem"] = slices.DeleteFunc(elements, func(e any) bool { return strings.Contains(fmt.Sprint(e), contestedIP) })
			line, err := json.Marshal(fields)
			require.NoError(t, err)
			lines = append(lines, kind+string(line))
		}
	}
	slices.Sort(lines)
	return lines
}

// The test's own program stands for nft on PATH: with a folder of state, as chainwalk has where a link to it has the name nft. It notes its
// calls.
func TestMain(m *testing.M) {
	if name := path.Base(os.Args[0]); name == nft {
		book := notebook{tool: &nftstate.Store{Dir: os.Getenv("CHAINWALK_STATE")}, file: os.Getenv("CHAINWALK_CALLS")}
		os.Exit(book.Run(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// stage is what kube-proxy did in a stage, and what nft listed after it.
type stage struct {
	calls   []call
	ruleset string
}

// inTheProcess plays the stages with a tool in this process.
func inTheProcess(t *testing.T, tool toolexec.Tools) map[string]stage {
	book, seen := &notebook{tool: tool}, map[string]stage{}
	playStages(t, book.exec(), false, func(name string) {
		s := stage{calls: book.take(t), ruleset: ruleset(t, book.exec())}
		book.take(t)
		seen[name] = s
	})
	return seen
}

// onPATH plays them with the program nft of PATH, where kube-proxy finds it by itself.
func onPATH(t *testing.T) map[string]stage {
	folder := t.TempDir()
	own, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(own, path.Join(folder, nft)))
	withoutNetlink(t)
	book, seen := &notebook{file: path.Join(folder, "calls")}, map[string]stage{}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("CHAINWALK_STATE", path.Join(folder, "state"))
	t.Setenv("CHAINWALK_CALLS", book.file)
	playStages(t, exec.New(), true, func(name string) {
		s := stage{calls: book.take(t), ruleset: ruleset(t, exec.New())}
		book.take(t)
		seen[name] = s
	})
	return seen
}

// withoutNetlink has knftables list with the program, and not by netlink, which reaches no fake: v1.37 has a gate for that, which is on by
// default.
func withoutNetlink(t *testing.T) {
	gates := utilfeature.DefaultMutableFeatureGate
	if _, has := gates.GetAll()["NFTablesNetlink"]; !has {
		return
	}
	require.NoError(t, gates.Set("NFTablesNetlink=false"))
	t.Cleanup(func() { assert.NoError(t, gates.Set("NFTablesNetlink=true")) })
}

func ruleset(t *testing.T, programs exec.Interface) string {
	text, err := programs.Command(nft, "list", "ruleset").Output()
	require.NoError(t, err)
	return string(text)
}

// sameStages compares two plays, but for what Go's maps decide.
func sameStages(t *testing.T, want, got map[string]stage) {
	calls := 0
	assert.Len(t, got, 29)
	for name, w := range want {
		g := got[name]
		assert.Equal(t, unordered(w.ruleset), unordered(g.ruleset), name)
		if !assert.Len(t, g.calls, len(w.calls), name) {
			continue
		}
		for i := range w.calls {
			at := fmt.Sprintf("%s, call %d: %s", name, i+1, strings.Join(w.calls[i].Argv, " "))
			assert.Equal(t, w.calls[i].Argv, g.calls[i].Argv, at)
			assert.Equal(t, unordered(w.calls[i].Stdin), unordered(g.calls[i].Stdin), at)
			assert.Equal(t, w.calls[i].Status, g.calls[i].Status, at)
			assert.Equal(t, w.calls[i].Stderr, g.calls[i].Stderr, at)
			assert.Equal(t, listed(t, w.calls[i].Stdout), listed(t, g.calls[i].Stdout), at)
			calls++
		}
	}
	t.Logf("%d calls in %d stages are the same", calls, len(got))
}

// TestStagesOnTheFake has kube-proxy do on the fake nft, in this process and as a program on PATH, what v1.36.3 was recorded doing on the
// real one: it makes the same calls and gets the same answers. Other versions make other calls; both ways must be the same then.
func TestStagesOnTheFake(t *testing.T) {
	want := inTheProcess(t, fakekernel.New(fakekernel.Options{}).NFTables())
	t.Run("on PATH", func(t *testing.T) { sameStages(t, want, onPATH(t)) })
	if Minor != 36 {
		return
	}
	t.Run("as recorded", func(t *testing.T) {
		files, err := nftcalls.Files()
		require.NoError(t, err)
		recordings := map[string]stage{}
		for name := range want {
			var r stage
			r.calls, r.ruleset = recorded(t, files, name)
			recordings[name] = r
		}
		sameStages(t, recordings, want)
	})
}

// TestKernelStages runs each call of the stages on the real kernel and on the fake one.
func TestKernelStages(t *testing.T) {
	kerneltest.Need(t, nft)
	both := bothkernels.New(kerneltest.New(t).Exec(), fakekernel.New(fakekernel.Options{}).Exec())
	seen := inTheProcess(t, both)
	assert.Len(t, seen, 29)
	assert.Empty(t, both.Differences())
	t.Logf("%d calls have the same answers", both.Calls())
}
