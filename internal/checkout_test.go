package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/checkout"
)

// clone makes a folder with these files.
func clone(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for file, text := range files {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

const proxier = "pkg/proxy/iptables/proxier.go"

func TestOpenSaysWhatAFolderIs(t *testing.T) {
	kubernetes := "module k8s.io/kubernetes\n"
	file := filepath.Join(clone(t, "x", map[string]string{"file": ""}), "file")
	for name, row := range map[string]struct{ dir, want string }{
		"nothing":         {filepath.Join(t.TempDir(), "none"), "there is no such folder"},
		"a file":          {file, "is a file"},
		"an empty folder": {clone(t, "x", nil), "has no go.mod: give the root of a clone of github.com/kubernetes/kubernetes"},
		"another module": {clone(t, "x", map[string]string{"go.mod": "module k8s.io/api\n"}),
			"is of the module k8s.io/api, not k8s.io/kubernetes"},
		"no module":  {clone(t, "x", map[string]string{"go.mod": "go 1.26\n"}), "go.mod names no module"},
		"no proxier": {clone(t, "x", map[string]string{"go.mod": kubernetes}), "has no pkg/proxy/iptables/proxier.go"},
	} {
		_, err := checkout.Open(t.Context(), row.dir)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "KUBERNETES="+row.dir, name)
		assert.Contains(t, err.Error(), row.want, name)
	}
}

func TestOpenTellsTheVersionAndTheModulesOfACheckout(t *testing.T) {
	files := map[string]string{"go.mod": "module k8s.io/kubernetes\n", proxier: ""}
	c, err := checkout.Open(t.Context(), clone(t, "kubernetes@v1.36.3", files))
	require.NoError(t, err)
	assert.Equal(t, 36, c.Minor, "by its name")
	assert.Empty(t, c.Staging)

	c, err = checkout.Open(t.Context(), clone(t, "kubernetes", files))
	require.NoError(t, err)
	assert.Zero(t, c.Minor, "nothing says it")
	assert.Equal(t, 37, c.Line([]int{35, 36, 37}), "the newest")

	files["CHANGELOG/CHANGELOG-1.9.md"], files["CHANGELOG/CHANGELOG-1.34.md"], files["CHANGELOG/README.md"] = "", "", ""
	files["staging/src/k8s.io/api/go.mod"], files["staging/src/k8s.io/apimachinery/go.mod"] = "", ""
	files["staging/src/k8s.io/README.md"] = ""
	c, err = checkout.Open(t.Context(), clone(t, "kubernetes", files))
	require.NoError(t, err)
	assert.Equal(t, 34, c.Minor, "by its change logs")
	assert.Equal(t, 35, c.Line([]int{35, 36, 37}), "the nearest")
	assert.Equal(t, []string{"k8s.io/api", "k8s.io/apimachinery"}, c.Staging)
}

func TestModFileTakesKubernetesFromTheCheckout(t *testing.T) {
	dir := clone(t, "kubernetes", map[string]string{
		"go.mod": "module k8s.io/kubernetes\n", "go.sum": "b v1 h1:b=\n", proxier: "", "staging/src/k8s.io/api/go.mod": "module k8s.io/api\n",
	})
	c, err := checkout.Open(t.Context(), dir)
	require.NoError(t, err)
	base := clone(t, "base", map[string]string{
		"go.mod": "module m\n\ngo 1.26\n\nreplace m2 => ../..\n\nreplace k8s.io/api => k8s.io/api v0.36.3\n", "go.sum": "a v1 h1:a=\n",
	})
	out := filepath.Join(t.TempDir(), "bin", "checkout.mod")
	require.NoError(t, c.WriteModFile(t.Context(), filepath.Join(base, "go.mod"), out))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	for _, want := range []string{
		"m2 => ../..\n", "k8s.io/kubernetes => " + dir + "\n", "k8s.io/api => " + filepath.Join(dir, "staging/src/k8s.io/api") + "\n",
	} {
		assert.Contains(t, string(text), want)
	}
	assert.NotContains(t, string(text), "v0.36.3")
	sums, err := os.ReadFile(filepath.Join(filepath.Dir(out), "checkout.sum"))
	require.NoError(t, err)
	assert.Equal(t, "a v1 h1:a=\nb v1 h1:b=\n", string(sums))
}
