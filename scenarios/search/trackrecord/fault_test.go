package trackrecord

import (
	"bytes"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/overlay"
)

// lastBug is the last number of the list of known bugs.
const lastBug = 49

func TestEachKnownBugIsMadeAgainOrNotForAReason(t *testing.T) {
	made := map[int]bool{}
	for _, f := range Faults() {
		made[f.bug] = true
	}
	reasons := NotMade()
	for bug := 1; bug <= lastBug; bug++ {
		assert.True(t, made[bug] != (reasons[bug] != ""), "bug %d: made again, or a reason", bug)
	}
}

// TestEachFaultIsAPatch has each patch do what it is called after and no other fault, and no patch lie there unused.
func TestEachFaultIsAPatch(t *testing.T) {
	switched := regexp.MustCompile(`(?m)^\+.*fault\.(?:On|Octal)\("([^"]*)"`)
	changed := regexp.MustCompile(`(?m)^\+\+\+ b/(.*)$`)
	patches, err := Patches()
	require.NoError(t, err)
	names := map[string]bool{}
	for i, f := range Faults() {
		assert.False(t, names[f.Name], "%s is there twice", f.Name)
		assert.NotEmpty(t, f.What, f.Name)
		names[f.Name] = true
		found := switched.FindAllSubmatch(patches[i].Text, -1)
		assert.NotEmpty(t, found, "the patch makes no fault: %s", f.Name)
		for _, name := range found {
			assert.Equal(t, f.Name, string(name[1]), "a patch makes another fault")
		}
		for _, file := range changed.FindAllSubmatch(patches[i].Text, -1) {
			assert.Regexp(t, `^proxier/.*[^_]\.go$`, string(file[1]), "%s: faults are of the proxier", f.Name)
		}
	}
	files, err := patchFiles.ReadDir("patches")
	require.NoError(t, err)
	assert.Len(t, files, len(names))
}

// TestGitTakesEachPatch, where git and a checkout are there.
func TestGitTakesEachPatch(t *testing.T) {
	root, err := overlay.Root()
	require.NoError(t, err)
	if err := exec.Command("git", "-C", root, "rev-parse", "--git-dir").Run(); err != nil {
		t.Skipf("no git, or no checkout: %v", err)
	}
	patches, err := Patches()
	require.NoError(t, err)
	for _, p := range patches {
		command := exec.Command("git", "-C", root, "apply", "--check", "-")
		command.Stdin = bytes.NewReader(p.Text)
		output, err := command.CombinedOutput()
		assert.NoError(t, err, "%s: make track-record-patches may help\n%s", p.Name, output)
	}
}

// TestOneFaultCanBeOnWithoutTheEnvironment, and no other word.
func TestOneFaultCanBeOnWithoutTheEnvironment(t *testing.T) {
	o := overlay.New(t.TempDir())
	require.NoError(t, SwitchOn(o, "hairpin-keeps-source"))
	source, err := o.Source(faultFile)
	require.NoError(t, err)
	assert.Contains(t, string(source), `var on = cmp.Or(os.Getenv("CHAINWALK_FAULT"), "hairpin-keeps-source")`)
	assert.ErrorContains(t, SwitchOn(o, "gremlins"), `no fault "gremlins"`)
}

// With every switch off the build with the faults does what the shipped one does, as far as the proxier's own tests see.
func TestBuildWithFaultsIsSoundWithoutThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the proxier")
	}
	root, err := overlay.Root()
	require.NoError(t, err)
	o, err := Overlay(root)
	require.NoError(t, err)
	file, err := o.Write(t.TempDir())
	require.NoError(t, err)
	packages := []string{"./proxier", "./proxier/internal/...", "./proxier/conntrack", "./proxier/iptables"}
	// Vet enters the folder of each package, and that of package fault is in the overlay only.
	command := exec.Command("go", append([]string{"test", "-vet=off", "-overlay", file}, packages...)...)
	command.Dir = root
	command.Env = append(command.Environ(), "GOFLAGS=") // of the build with faults there is none with the race detector that somebody shares
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}
