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

// links are the packages of this module, without the module's name, and what each of them links.
type links map[string][]string

func listLinks(t *testing.T) links {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"...").Output()
	require.NoError(t, err)
	found := links{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		found[strings.TrimPrefix(words[0], module)] = words[1:]
	}
	return found
}

// linking are the packages of a pattern, which may end in "...", that link a package whose path begins so, sorted.
func (l links) linking(t *testing.T, pattern, linked string) (found []string) {
	t.Helper()
	folder, below := strings.CutSuffix(pattern, "...")
	some := false
	for name, deps := range l {
		if name+"/" != folder && name != pattern && !(below && strings.HasPrefix(name, folder)) {
			continue
		}
		some = true
		if slices.ContainsFunc(deps, func(dep string) bool { return strings.HasPrefix(dep, linked) }) {
			found = append(found, name)
		}
	}
	require.True(t, some, "there is no package %s", pattern)
	slices.Sort(found)
	return found
}

// TestLinks holds what packages link, all by one go list.
func TestLinks(t *testing.T) {
	l := listLinks(t)
	// Only those packages link client-go that run an API and what watches it: the others are small enough for a page in a browser.
	t.Run("reading scenarios links no client", func(t *testing.T) {
		assert.Equal(t, []string{
			"scenarios/search/explore", "scenarios/search/fuzz", "scenarios/search/trackrecord/record", "scenarios/search/trial",
			"scenarios/search/twin",
			"scenarios/users/gather", "scenarios/users/large", "scenarios/users/large/measure", "scenarios/users/live",
			"scenarios/users/proxytest",
			"scenarios/world/api", "scenarios/world/controller", "scenarios/world/node", "scenarios/world/sim",
		}, l.linking(t, "scenarios/...", "k8s.io/client-go/"))
	})
	// Who links a typed client of client-go has the types of all groups of the API of Kubernetes: who was given a clientset.
	clientsets := []string{"kindtest/onkind/apiclient/clientset", "proxier/config/clientset"}
	t.Run("two link a typed client", func(t *testing.T) {
		assert.Equal(t, clientsets, l.linking(t, "...", "k8s.io/client-go/kubernetes/scheme"))
	})
	t.Run("two link the clientset", func(t *testing.T) {
		for name, deps := range l {
			assert.Equal(t, slices.Contains(clientsets, name), slices.Contains(deps, "k8s.io/client-go/kubernetes"), name)
		}
	})
	// What a browser needs for a trace of pasted rules and its page has no object of Kubernetes.
	t.Run("a trace links no Kubernetes", func(t *testing.T) {
		for _, of := range []string{
			"packetsim/...", "scenarios/explain/provenance", "scenarios/explain/story", "scenarios/explain/page", "scenarios/explain/browser/...",
			"scenarios/explain/cause",
		} {
			for _, linked := range []string{"k8s.io/api", "k8s.io/kube-proxy", "k8s.io/client-go"} {
				assert.Empty(t, l.linking(t, of, linked), "%s links %s", of, linked)
			}
		}
	})
	// Templates find fields and methods by reflection, for which the linker keeps every exported method of a program, and SHA-256 brings other
	// hashes and ciphers, which test themselves when a program starts. A browser would load all of it.
	t.Run("a page links nothing heavy", func(t *testing.T) {
		for _, of := range []string{"scenarios/explain/page", "scenarios/explain/browser/...", "internal/dom"} {
			for _, linked := range []string{"html/template", "text/template", "crypto/"} {
				assert.Empty(t, l.linking(t, of, linked), "%s links %s", of, linked)
			}
		}
	})
}
