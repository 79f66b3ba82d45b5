package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/overlay"
)

// letters has one letter on each line of file.txt.
const letters = "a b c d e f g h i j k l"

func patchOf(name string, lines ...string) overlay.Patch {
	const head = "diff --git a/file.txt b/file.txt\n--- a/file.txt\n+++ b/file.txt\n"
	return overlay.Patch{Name: name, Text: []byte(head + strings.Join(lines, "\n") + "\n")}
}

func TestOverlayPatch(t *testing.T) {
	replacesC := patchOf("replaces-c", "@@ -2,3 +2,3 @@", " b", "-c", "+C", " d")
	addsAfterC := patchOf("adds-after-c", "@@ -2,3 +2,4 @@", " b", " c", "+after", " d")
	tests := []struct {
		name    string
		patches []overlay.Patch
		want    string
		wantErr string
	}{
		{"a line replaced", []overlay.Patch{replacesC}, "a b C d e f g h i j k l", ""},
		{"lines that have moved", []overlay.Patch{patchOf("moved", "@@ -6,3 +6,3 @@", " b", "-c", "+C", " d")}, "a b C d e f g h i j k l", ""},
		{"two fragments", []overlay.Patch{patchOf("two", "@@ -1,2 +1,3 @@", "+first", " a", " b", "@@ -11,2 +12,1 @@", " k", "-l")},
			"first a b c d e f g h i j k", ""},
		{"patches beside each other, in any order", []overlay.Patch{addsAfterC, replacesC}, "a b C after d e f g h i j k l", ""},
		{"two that add at one place", []overlay.Patch{addsAfterC, patchOf("second", "@@ -3,2 +3,3 @@", " c", "+second", " d")},
			"a b c after second d e f g h i j k l", ""},
		{"two that replace one line", []overlay.Patch{replacesC, patchOf("again", "@@ -3,2 +3,2 @@", "-c", "+x", " d")}, "",
			"file.txt: line 3 is changed by the patches replaces-c and again"},
		{"lines that are gone", []overlay.Patch{patchOf("gone", "@@ -2,2 +2,2 @@", "-x", "+y", " d")}, "",
			"patch gone: file.txt has no such lines any more as around line 2"},
		{"no patch", []overlay.Patch{{Name: "empty", Text: []byte("nothing\n")}}, "", "patch empty changes no file"},
		{"a new file", []overlay.Patch{{Name: "new", Text: []byte(
			"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+x\n")}}, "",
			"patch new: n: lines of files that are there can be changed"},
		{"no such file", []overlay.Patch{{Name: "absent", Text: []byte(
			"diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1,1 +1,1 @@\n-x\n+y\n")}}, "", "patch absent: open"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(root, "file.txt"), []byte(strings.ReplaceAll(letters, " ", "\n")+"\n"), 0o644))
			o := overlay.New(root)
			err := o.Patch(test.patches...)
			if test.wantErr != "" {
				require.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			got, err := o.Source("file.txt")
			require.NoError(t, err)
			assert.Equal(t, test.want, strings.Join(strings.Fields(string(got)), " "))
		})
	}
}

// Of lines that are there twice the nearest are meant.
func TestPatchOfLinesThatAreThereTwice(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "file.txt"), []byte("a\nx\nb\na\nx\nb\n"), 0o644))
	o := overlay.New(root)
	require.NoError(t, o.Patch(patchOf("second", "@@ -4,3 +4,3 @@", " a", "-x", "+y", " b")))
	got, err := o.Source("file.txt")
	require.NoError(t, err)
	assert.Equal(t, "a\nx\nb\na\ny\nb\n", string(got))
}
