package scenarios_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadingScenariosLinksNoClient has only those packages link client-go that run an API and what watches it: the others are small enough
// for a page in a browser.
func TestReadingScenariosLinksNoClient(t *testing.T) {
	const here = "github.com/chainwalk/chainwalk/scenarios"
	linking := []string{
		"search/explore", "search/fuzz", "search/trackrecord/record", "search/trial", "search/twin", "users/live", "users/proxytest",
		"world/api", "world/controller", "world/node", "world/sim",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, here+"/...").Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if slices.ContainsFunc(words[1:], func(dep string) bool { return strings.HasPrefix(dep, "k8s.io/client-go/") }) {
			found = append(found, strings.TrimPrefix(strings.TrimPrefix(words[0], here), "/"))
		}
	}
	assert.Equal(t, linking, found)
}
