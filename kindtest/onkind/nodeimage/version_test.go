package nodeimage

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The node image, the programs and a kube-proxy that this project is compared with are one version.
func TestVersionIsThatOfTheModules(t *testing.T) {
	for _, module := range []string{"kubernetes/go.mod", "../../../proxier/upstream/versions/1.36.mod"} {
		text, err := os.ReadFile(module)
		require.NoError(t, err)
		required := regexp.MustCompile(`\tk8s\.io/kubernetes (v[^ \n]*)`).FindSubmatch(text)
		require.NotNil(t, required, module)
		assert.Equal(t, kubernetesVersion, string(required[1]), module)
	}
	text, err := os.ReadFile("../../../docs/kind.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(text), "`"+Tag+"`"), "docs/kind.md does not name the image %s", Tag)
}
