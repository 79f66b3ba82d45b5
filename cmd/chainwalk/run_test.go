package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// folder makes a folder of a test's own with files in it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// named is the small scenario under another name; failing has it expect an endpoint that is not there.
func named(name string) string { return strings.Replace(small, "a small scenario", name, 1) }

func failing(name string) string {
	return strings.Replace(named(name), `["10.244.2.2:8080"]`, `["10.244.2.3:8080"]`, 1)
}

func TestOneBrokenFileIsOneFailure(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.yaml": named("first"), "b.yml": "name: [", "c.yaml": failing("third"), "d/e.yaml": named("last"),
		"d/objects.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "notes.txt": "no scenario",
	})
	status, out, errOut := call("", "run", dir, "--ways", "none")
	assert.Equal(t, exitUsage, status)
	assert.Regexp(t,
		`(?s)^FAIL  \S*b.yml could not be read: \S*b.yml:\d+:\d+: not YAML: [^\n]*\nFAIL  third .*\nok    first .*\nok    last .*`+
			`\n4 scenarios, 2 failed, 0 skipped; `, out)
	assert.Regexp(t, `^chainwalk: 1 of 4 files could not be read:\n\S*b.yml:1:\d+: not YAML: `, errOut)

	_, out, _ = call("", "run", dir, "-o", "junit")
	assert.Regexp(t, `<testsuites tests="7" failures="2" errors="1" time="\d+\.\d{3}">`, out)
	_, out, _ = call("", "run", dir, "-o", "json")
	var report struct {
		Results []struct {
			Unread  bool
			Seconds float64
			Checks  []struct{ Error bool }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Len(t, report.Results, 4)
	assert.True(t, report.Results[1].Unread)
	assert.True(t, report.Results[1].Checks[0].Error)
	assert.Positive(t, report.Results[0].Seconds)
}

func TestRunChoosesScenarios(t *testing.T) {
	dir := folder(t,
		map[string]string{"a.yaml": named("hairpin of a pod"), "hairpin.yaml": named("of a node"), "c.yaml": named("others"), "z.yaml": "["})
	status, out, errOut := call("", "run", dir, "--run", "^hair|hairpin.yaml$", "-q")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Equal(t, "2 scenarios, 0 failed, 0 skipped; 4 checks, 0 failed\n", out)

	status, out, _ = call("", "run", dir, "--run", "hairpin", "--list")
	assert.Equal(t, exitHeld, status)
	assert.Equal(t, filepath.Join(dir, "a.yaml")+": hairpin of a pod\n"+filepath.Join(dir, "hairpin.yaml")+": of a node\n", out)
	status, out, _ = call("", "run", dir, "--list", "-o", "json")
	assert.Equal(t, exitUsage, status, "z.yaml could not be read")
	var list struct {
		Version   int
		Scenarios []listed
	}
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Scenarios, 4)
	assert.Equal(t, "others", list.Scenarios[1].Name)
	assert.Contains(t, list.Scenarios[3].Error, "z.yaml:1:")

	status, _, errOut = call("", "run", dir, "--run", "nothing")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "--run nothing: is in the name or path of no scenario (--list prints them)")
}

func TestRunReadsStandardInput(t *testing.T) {
	status, out, errOut := call(small, "run", "-")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "ok    a small scenario (<stdin> on sim, 2 checks)")
}

// TestRunPrintsTheSameHoweverManyRunAtOnce, but for times.
func TestRunPrintsTheSameHoweverManyRunAtOnce(t *testing.T) {
	seconds := regexp.MustCompile(`(?m)^\s*"seconds": .*\n|(time|timestamp)="[^"]*"`)
	which := "hairpin|affinity"
	if sample.Every(2) > 1 {
		which = "hairpin"
	}
	// What runs at once is the same for each form.
	for _, output := range race.Some(sample.Some(t, []string{"text", "json", "junit"}, 3), 3) {
		var outs []string
		for _, parallel := range []string{"1", "4", "4"} {
			status, out, errOut := call("", "run", cases, "--run", which, "-o", output, "--ways", "all", "--parallel", parallel)
			require.Equal(t, exitHeld, status, errOut)
			outs = append(outs, seconds.ReplaceAllString(out, ""))
		}
		assert.Equal(t, outs[0], outs[1], output)
		assert.Equal(t, outs[0], outs[2], output)
	}
}

func TestRunDetails(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": named("held"), "b.yaml": failing("wrong"), "c.yaml": failing("wrong as well")})
	status, out, _ := call("", "run", dir, "--fail-fast", "-v")
	assert.Equal(t, exitNotHeld, status)
	assert.Contains(t, out, "  ok    tcp 172.30.0.41:80 from client (iptables-legacy and -nft)\n")
	assert.Contains(t, out, "2 scenarios, 1 failed")
	assert.NotContains(t, out, "wrong as well")

	_, out, _ = call("", "run", dir, "-q", "--ways", "none")
	assert.NotContains(t, out, "held")
	assert.Equal(t, 2, strings.Count(out, "FAIL  "))
	assert.NotContains(t, out, "KUBE-SERVICES", "the way")
	assert.Contains(t, out, "decided by -A KUBE-SEP-")

	_, _, errOut := call("", "run", dir, "--progress", "--parallel", "1")
	assert.Contains(t, errOut, "1 of 3 done, running "+filepath.Join(dir, "b.yaml")+"\r\x1b[K")
	_, _, errOut = call("", "run", dir)
	assert.NotContains(t, errOut, "running", "nobody looks")
}

func TestRunRefusesOptions(t *testing.T) {
	path := write(t, "scenario.yaml", small)
	for _, row := range []struct{ want, args string }{
		{"--run: error parsing regexp", "--run ("},
		{"--parallel -1: want at least 1", "--parallel -1"},
		{"--parallel 2: on kind scenarios run one after the other", "--parallel 2 --on kind"},
		{"--timeout -1s: want a time such as 30s", "--timeout -1s"},
		{"--progress often: want auto, always or never", "--progress=often"},
		{"never: there is no such file (if it is a word of --progress, write --progress=never)", "--progress never"},
		{"--ways: unknown word", "--ways some"},
		{"were all set", "-q -v"},
		{"--watch: standard input cannot change", "--watch -"},
		{"-o junit: with --list want text or json", "--list -o junit"},
		{"find scenarios: ", "/does/not/exist"},
	} {
		status, out, errOut := call("", append([]string{"run", path}, strings.Fields(row.args)...)...)
		assert.Equal(t, exitUsage, status, row.args)
		assert.Empty(t, out)
		assert.Contains(t, errOut, row.want)
	}
}

func TestRunAndCheckWantPaths(t *testing.T) {
	for _, command := range []string{"run", "check"} {
		status, out, errOut := call("", command)
		assert.Equal(t, exitUsage, status)
		assert.Empty(t, out)
		assert.Equal(t, "chainwalk: no PATH is given: name scenario files, folders of them, or - for standard input\n", errOut)
	}
}

func TestRunThatIsInterruptedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	o := runOptions{backend: "sim", output: "text", ways: "one", progress: "never", clock: clock.RealClock{}}
	err := runScenarios(ctx, streams{out: &out, errOut: &errOut}, []string{write(t, "scenario.yaml", small)}, o)
	require.ErrorIs(t, err, errNotHeld)
	assert.Equal(t, "0 scenarios, 0 failed, 0 skipped; 0 checks, 0 failed\n", out.String())
	assert.Equal(t, "chainwalk: interrupted: 0 of 1 scenarios were run\n", errOut.String())
}

// heard passes on when a text was written.
type heard struct {
	all  bytes.Buffer
	text string
	yes  chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	n, err := h.all.Write(p)
	if strings.Contains(string(p), h.text) {
		h.yes <- struct{}{}
	}
	return n, err
}

func TestWatchRunsAgainWhenAFileChanges(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.yaml":           strings.Replace(small, "steps:", "- file: objects/shop.txt\nsteps:", 1),
		"objects/shop.txt": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
	})
	ctx, cancel := context.WithCancel(t.Context())
	out := &heard{text: "failed,", yes: make(chan struct{}, 1)}
	var errOut bytes.Buffer
	o := runOptions{backend: "sim", output: "text", ways: "none", progress: "never", watch: true, clock: clock.RealClock{}}
	ended := make(chan error, 1)
	go func() {
		ended <- runScenarios(ctx, streams{out: out, errOut: &errOut}, []string{dir}, o)
	}()
	await := func() {
		t.Helper()
		select {
		case <-out.yes:
		case err := <-ended:
			require.Fail(t, "it ended", "%v", err)
		}
	}
	await()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects/shop.txt"), []byte("{apiVersion: v1, kind: Nothing}"), 0o600))
	await()
	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "objects/shop.txt"), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"), 0o600))
	await()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(failing("other")), 0o600))
	await()
	cancel()
	err := <-ended
	assert.True(t, errors.Is(err, errNotHeld), err)
	assert.Regexp(t,
		`(?s)ok    a small scenario.*FAIL  \S*a.yaml could not be read: \S*shop.txt:1:1: unknown kind "Nothing".*`+
			`ok    a small scenario.*FAIL  other`, out.all.String())
	assert.Contains(t, errOut.String(), "shop.txt changed: running again\n")
}
