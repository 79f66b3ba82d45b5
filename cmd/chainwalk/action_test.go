package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// TestAction plays action/review.sh on a git repository, without GitHub: "commit" puts files into it, "change" changes them and does not
// commit, "review" prints the comment on what has changed since the first commit, and the exit status.
func TestAction(t *testing.T) {
	for _, tool := range []string{"bash", "git", "tar"} {
		_, err := exec.LookPath(tool)
		if err != nil && runtime.GOOS == "windows" {
			t.Skip("the action runs on Linux: ", err)
		}
		require.NoError(t, err)
	}
	linkTools(t, "chainwalk")
	script, err := filepath.Abs("../../action/review.sh")
	require.NoError(t, err)
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name)) // a hook that runs the tests has set them
	}
	datadriven.Walk(t, "../../action/testdata", func(t *testing.T, path string) {
		r := reviewed{t, t.TempDir(), script}
		r.git("init", "--quiet")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "commit", "change":
				r.write(d.Input)
				if d.Cmd == "commit" {
					r.git("add", "--all")
					r.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "a commit")
				}
				return ""
			case "review":
				return r.review()
			}
			d.Fatalf(t, "no command %s", d.Cmd)
			return ""
		})
	})
}

// reviewed is a repository in which the script runs.
type reviewed struct {
	t           *testing.T
	dir, script string
}

func (r *reviewed) git(args ...string) {
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, string(out))
}

// write writes files, as txtar has them. One that is empty is removed.
func (r *reviewed) write(archive string) {
	for _, f := range txtar.Parse([]byte(archive + "\n")).Files {
		path := filepath.Join(r.dir, filepath.FromSlash(f.Name))
		if len(f.Data) == 0 {
			require.NoError(r.t, os.Remove(path))
			continue
		}
		require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(r.t, os.WriteFile(path, f.Data, 0o600))
	}
}

func (r *reviewed) review() string {
	comment := filepath.Join(r.t.TempDir(), "comment.md")
	cmd := exec.CommandContext(r.t.Context(), "bash", r.script, "HEAD", comment)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "CHAINWALK=chainwalk", "OBJECTS=objects", "SCENARIOS=scenarios")
	out, err := cmd.CombinedOutput()
	text, failed := os.ReadFile(comment) //nolint:gosec // the test has named it
	require.NoError(r.t, failed, string(out))
	status := "status 0\n"
	if err != nil {
		status = err.Error() + "\n"
	}
	return string(text) + string(out) + status
}
