package scenarios_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/chainwalk/chainwalk/"

// linking are the packages below a pattern that link one of a module, without the module's name.
func linking(t *testing.T, pattern, linked string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+pattern).Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if slices.ContainsFunc(words[1:], func(dep string) bool { return strings.HasPrefix(dep, linked) }) {
			found = append(found, strings.TrimPrefix(words[0], module))
		}
	}
	return found
}

// TestReadingScenariosLinksNoClient has only those packages link client-go that run an API and what watches it: the others are small enough
// for a page in a browser.
func TestReadingScenariosLinksNoClient(t *testing.T) {
	assert.Equal(t, []string{
		"scenarios/search/explore", "scenarios/search/fuzz", "scenarios/search/trackrecord/record", "scenarios/search/trial",
		"scenarios/search/twin",
		"scenarios/users/live", "scenarios/users/proxytest",
		"scenarios/world/api", "scenarios/world/controller", "scenarios/world/node", "scenarios/world/sim",
	}, linking(t, "scenarios/...", "k8s.io/client-go/"))
}

// TestATraceLinksNoKubernetes holds what a browser needs for a trace of pasted rules and its page: no object of Kubernetes.
func TestATraceLinksNoKubernetes(t *testing.T) {
	for _, of := range []string{
		"packetsim/...", "scenarios/explain/provenance", "scenarios/explain/story", "scenarios/explain/page", "scenarios/explain/browser/...",
		"scenarios/explain/cause",
	} {
		for _, linked := range []string{"k8s.io/api", "k8s.io/kube-proxy", "k8s.io/client-go"} {
			assert.Empty(t, linking(t, of, linked), "%s links %s", of, linked)
		}
	}
}

// TestAPageLinksNothingHeavy: templates find fields and methods by reflection, for which the linker keeps every exported method of a program,
// and SHA-256 brings other hashes and ciphers, which test themselves when a program starts. A browser would load all of it.
func TestAPageLinksNothingHeavy(t *testing.T) {
	for _, of := range []string{"scenarios/explain/page", "scenarios/explain/browser/...", "internal/dom"} {
		for _, linked := range []string{"html/template", "text/template", "crypto/"} {
			assert.Empty(t, linking(t, of, linked), "%s links %s", of, linked)
		}
	}
}
