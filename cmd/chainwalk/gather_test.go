package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

// savedDump is a folder as gather --save writes it, of the recorded cluster with the snapshots of some of its nodes, and of another one
// that did not answer.
func savedDump(t *testing.T, silent string, nodes ...string) string {
	t.Helper()
	from, folder := clusterDump, t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "nodes"), 0o755))
	copyTo := func(to string, path ...string) {
		text, err := os.ReadFile(filepath.Join(append([]string{from}, path...)...))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, to), text, 0o600))
	}
	copyTo("objects.yaml", "objects.yaml")
	config, err := os.ReadFile(filepath.Join(from, "legacy", "demo-worker", "kube-proxy.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kube-proxy.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: kube-proxy, namespace: kube-system}\ndata:\n  config.conf: |\n    "+
		strings.ReplaceAll(string(config), "\n", "\n    ")+"\n"), 0o600))
	for _, node := range nodes {
		copyTo(filepath.Join("nodes", node+".yaml"), "legacy", node+".yaml")
	}
	if silent != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "nodes", silent+".missing"), []byte("its kubelet is silent\n"), 0o600))
	}
	return folder
}

// TestWhatWasKeptIsReadByAll holds that commands read a folder as they read its files.
func TestWhatWasKeptIsReadByAll(t *testing.T) {
	race.OneGoroutine(t)
	folder := savedDump(t, "", dumpNodes[1:]...)
	files := recorded(clusterDump, dumpNodes[1:]...)
	for _, command := range []string{"doctor", "why pod/shop/echo-77c9b5bcb7-d6rwv svc/shop/web", "scenario from"} {
		words := strings.Fields(command)
		status, out, errOut := call("", append(words, files...)...)
		keptStatus, kept, keptErr := call("", append(words, "--saved", folder)...)
		assert.Equal(t, status, keptStatus, keptErr)
		assert.Equal(t, out, kept)
		assert.Equal(t, errOut, keptErr)
	}
	status, out, errOut := call("", "trace", "--saved", folder, "--summary", "tcp pod/shop/echo-77c9b5bcb7-d6rwv:40000 > svc/shop/web:http")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "shop/web:http")
}

// TestANodeThatDidNotAnswerIsNotSound: nothing is wrong with the others, and that is no all-clear. A snapshot that was
// taken by hand stands in.
func TestANodeThatDidNotAnswerIsNotSound(t *testing.T) {
	race.OneGoroutine(t)
	folder := savedDump(t, "demo-worker2", "demo-control-plane", "demo-worker")
	status, out, errOut := call("", "doctor", "--saved", folder)
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.True(t, strings.HasPrefix(out, "no snapshot of demo-worker2 (its kubelet is silent); nothing is wrong: "), out)

	byHand := filepath.Join(clusterDump, "legacy", "demo-worker2.yaml")
	status, out, errOut = call("", "doctor", "--saved", folder, "--node", byHand)
	assert.Equal(t, exitHeld, status, errOut)
	assert.True(t, strings.HasPrefix(out, "nothing is wrong: "), out)

	status, out, errOut = call("", "doctor", "--saved", savedDump(t, "demo-worker"))
	assert.Equal(t, exitUsage, status, errOut)
	assert.True(t, strings.HasPrefix(out, "no snapshot of demo-worker (its kubelet is silent); nothing can be said of any node"), out)
}

func TestOneSourceOfACluster(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	for _, row := range []struct{ args, want string }{
		{"doctor -A -f x.yaml", "-f (--filename) and -A (--all-namespaces): give one of them"},
		{"doctor --saved x -f x.yaml --node n", "-f (--filename) and --saved: give one of them"},
		{"why a b --saved x --context c", "--saved and --context: give one of them"},
		{"doctor --yes", "--yes is for gathering from a cluster: give -A"},
		{"doctor --saved x --image y", "--image is for gathering from a cluster"},
		{"doctor", "(or give --saved FOLDER, or -A, --context NAME or --kubeconfig FILE to gather all of it from a cluster)"},
		{"doctor --saved " + filepath.Dir(nowhere), "want a folder that chainwalk gather --save has written"},
		{"doctor --kubeconfig " + nowhere, "no cluster to gather from"},
		{"gather", "--save is missing: give the folder for the gathered objects and snapshots"},
		{"gather --save x --clean", "clean rights save"},
		{"trace --saved x --rules y packet", "rules saved"},
	} {
		status, out, errOut := call("", strings.Fields(row.args)...)
		assert.Equal(t, exitUsage, status, row.args)
		assert.Empty(t, out, row.args)
		assert.Contains(t, errOut, row.want, row.args)
	}
}

// TestNothingIsMadeUnasked: where nobody can answer, what would be made is said, and --yes is asked for.
func TestNothingIsMadeUnasked(t *testing.T) {
	var errOut bytes.Buffer
	s := streams{in: strings.NewReader("y\n"), errOut: &errOut}
	err := confirm(t.Context(), s, "the plan\n", false)
	assert.ErrorContains(t, err, "standard input is no terminal")
	assert.ErrorContains(t, err, "--yes")
	assert.Equal(t, "the plan\n", errOut.String())
	assert.NoError(t, confirm(t.Context(), s, "", true))
}

func TestAnAnswerIsYesOrNo(t *testing.T) {
	for typed, yes := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "no\n": false, "": false, "yesterday\n": false} {
		var errOut bytes.Buffer
		err := ask(t.Context(), streams{in: strings.NewReader(typed), errOut: &errOut})
		assert.Equal(t, yes, err == nil, "%q", typed)
		assert.Equal(t, "Make them? [y/N] ", errOut.String())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	defer func() { _ = w.Close() }()
	assert.ErrorContains(t, ask(ended, streams{in: r, errOut: &bytes.Buffer{}}), "interrupted")
}

func TestImagesAreOfReleasedVersions(t *testing.T) {
	assert.Equal(t, "ghcr.io/chainwalk/chainwalk-collect:v1.2.3", releasedImage("v1.2.3"))
	for _, other := range []string{"", "(devel)", "v1.2.3+dirty", "v0.0.0-20261124130000-0123456789ab"} {
		assert.Empty(t, releasedImage(other))
	}
}

// TestAPluginSaysWhatIsTyped starts the program by the name of a plugin of kubectl.
func TestAPluginSaysWhatIsTyped(t *testing.T) {
	assert.Equal(t, "kubectl chainwalk", calledAs("/usr/local/bin/kubectl-chainwalk"))
	assert.Equal(t, "kubectl chainwalk", calledAs("kubectl-chainwalk.exe"))
	assert.Equal(t, "chainwalk", calledAs("/usr/local/bin/chainwalk"))
	plugin := func(args ...string) string {
		var out, errOut bytes.Buffer
		runCalled(pluginName, args, strings.NewReader(""), &out, &errOut)
		return out.String() + errOut.String()
	}
	for _, command := range [][]string{{"--help"}, {"doctor", "--help"}, {"scenario", "from", "--help"}, {"gather", "--help"}} {
		help := plugin(command...)
		assert.Contains(t, help, "kubectl chainwalk", command)
		assert.NotRegexp(t, `(^|[^l]) chainwalk (doctor|gather|snapshot|scenario|\[)`, help, command)
	}
	assert.Contains(t, plugin("fuzz", "merg"), `chainwalk: fuzz: unknown command "merg" (did you mean "merge"?)`)
}
