package trackrecord

import (
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
		made[f.Bug] = true
	}
	reasons := NotMade()
	for bug := 1; bug <= lastBug; bug++ {
		assert.True(t, made[bug] != (reasons[bug] != ""), "bug %d: made again, or a reason", bug)
	}
}

func TestEachFaultHasEditsAndEachEditFaults(t *testing.T) {
	switched := regexp.MustCompile(`fault\.(?:On|Octal)\("([^"]*)"`)
	used := map[string]bool{}
	for _, e := range edits {
		for _, found := range switched.FindAllStringSubmatch(e.now, -1) {
			used[found[1]] = true
		}
	}
	names := map[string]bool{}
	for _, f := range Faults() {
		assert.False(t, names[f.Name], "%s is there twice", f.Name)
		assert.NotEmpty(t, f.What, f.Name)
		names[f.Name] = true
		assert.True(t, used[f.Name], "no edit makes %s", f.Name)
		delete(used, f.Name)
	}
	for name := range used {
		t.Errorf("an edit makes %s, which is no fault", name)
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
