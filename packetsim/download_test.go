package packetsim_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/ram"
)

// TestWhatAUserDownloads makes a module that imports fakeipt and packetsim alone, has go fetch what it needs into an empty cache, and
// prints that. What go list loads is what go build compiles; go mod tidy looks at the tests of the packages too.
func TestWhatAUserDownloads(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go mod tidy and go list")
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	user := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(user, name), []byte(text), 0o600))
	}
	write("user.go", "package user\n\nimport (\n\t_ \""+chainwalk+"/fakeipt\"\n\t_ \""+chainwalk+"/packetsim\"\n)\n")
	known, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	write("go.sum", string(known))
	const head = "module example.org/user\n\ngo 1.26.8\n\nrequire " + chainwalk + " v0.0.0\n\n"
	replace := "replace " + chainwalk + " => " + root + "\n"
	write("go.mod", head+replace)
	assert.ElementsMatch(t, strings.Fields(`
		github.com/cockroachdb/datadriven github.com/pmezard/go-difflib github.com/stretchr/testify github.com/vishvananda/netlink
		github.com/vishvananda/netns go.yaml.in/yaml/v3 golang.org/x/sys k8s.io/utils pgregory.net/rapid`), fetched(t, user, "mod", "tidy"))
	tidy, err := os.ReadFile(filepath.Join(user, "go.mod"))
	require.NoError(t, err)
	required := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(string(tidy), head), replace, ""))
	require.Len(t, required, 5, string(tidy))
	assert.Equal(t, []string{"require", "k8s.io/utils"}, required[:2], "what its go.mod names beside chainwalk")
	assert.Equal(t, []string{"k8s.io/utils"}, fetched(t, user, "list", "-deps", "./..."))
	assert.Equal(t, []string{"k8s.io/utils/clock", "k8s.io/utils/exec"}, strings.Fields(command(t, user, nil, "list", "-deps", "-f",
		`{{with .Module}}{{if not (or .Main .Replace)}}{{$.ImportPath}}{{end}}{{end}}`, "./...")))
}

const chainwalk = "github.com/chainwalk/chainwalk"

// fetched are the modules that a go command downloads into an empty cache.
func fetched(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cache := t.TempDir()
	have, proxy, _ := strings.Cut(strings.TrimSpace(command(t, dir, nil, "env", "GOMODCACHE", "GOPROXY")), "\n")
	command(t, dir, []string{
		"GOMODCACHE=" + cache, "GOFLAGS=-modcacherw", "GOPROXY=file://" + filepath.Join(have, "cache", "download") + "," + proxy, "GOSUMDB=off",
	}, args...)
	var modules []string
	var size int64
	downloads := filepath.Join(cache, "cache", "download")
	require.NoError(t, filepath.WalkDir(downloads, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".zip" {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		module, _, _ := strings.Cut(strings.TrimPrefix(path, downloads+string(filepath.Separator)), string(filepath.Separator)+"@v")
		modules = append(modules, filepath.ToSlash(module))
		return nil
	}))
	t.Logf("go %s downloads %d modules, %d kB: %s", strings.Join(args, " "), len(modules), size/1000, strings.Join(modules, " "))
	return modules
}

func command(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"GOWORK=off", "GOTOOLCHAIN=local"}, env...)...)
	out, err := cmd.Output()
	require.NoError(t, err, "go %s", strings.Join(args, " "))
	return string(out)
}
