package differ

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
)

const (
	walkCases = "testdata/walk"
	// nativeCases have tables of nft. The walk takes them as the kernel gives their bytecode, so that only the kernel can replay them.
	nativeCases = "testdata/native"
	textCases   = "testdata/text"
)

// replay is the flag that names a folder with more cases to replay, as a search leaves them.
var replay = flag.String("replay", "", "a `folder` with more cases to replay")

// caseFiles lists the cases of a folder, and those of the flag -replay.
func caseFiles(t *testing.T, folder, prefix string) []string {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	if more := *replay; more != "" {
		found, err := filepath.Glob(filepath.Join(more, prefix+"-*.yaml"))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files, "cases in %s", folder)
	return files
}

func caseName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".yaml") }

// TestWalkCasesOnTheFake holds the fake against the kernel's recorded answers.
func TestWalkCasesOnTheFake(t *testing.T) {
	race.OneGoroutine(t)
	for _, path := range caseFiles(t, walkCases, "walk") {
		t.Run(caseName(path), func(t *testing.T) {
			var c walkCase
			require.NoError(t, readFile(path, &c))
			require.NotNil(t, c.Kernel, "the kernel's answer")
			v, err := judge(&c, &recorded{answer: c.Kernel})
			require.NoError(t, err)
			require.Empty(t, v.Disagreement)
			require.Empty(t, v.Refused)
		})
	}
}

// TestTextCasesOnTheFake holds the fake against the recorded answers of the real tools. In every fourth case (internal/sample) the tools
// keep their state in a folder, too.
func TestTextCasesOnTheFake(t *testing.T) {
	race.OneGoroutine(t)
	for i, path := range caseFiles(t, textCases, "text") {
		t.Run(caseName(path), func(t *testing.T) {
			var c textCase
			require.NoError(t, readFile(path, &c))
			var fake runner = newFakeRunner(c.Dialect, os.DirFS("testdata/etc"))
			if sample.Takes(t, i, 4) {
				fake = newFolderRunner(c.Dialect, t.TempDir(), os.DirFS("testdata/etc"))
			}
			v, err := judgeText(&c, &recordedRuns{c.Kernel}, fake)
			require.NoError(t, err)
			require.Empty(t, v.Disagreement)
			require.Empty(t, v.Excused)
		})
	}
}
