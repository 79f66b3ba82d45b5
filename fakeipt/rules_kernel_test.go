//go:build linux

package fakeipt

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestRulesOnTheRealKernel holds the rules' files against the real tools; -rewrite makes them from what these say.
func TestRulesOnTheRealKernel(t *testing.T) {
	needKernel(t)
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		t.Parallel() // the kernel waits long for the end of what may read a table
		runRulesFile(t, path, sample.InPart, map[netfilter.Dialect]machine{netfilter.Legacy: newRealMachine(t), netfilter.NFT: newRealMachine(t)})
	})
}

// TestOptionsAskedAboutKernel prints the numbers for the summary of the kernel tests. They are of all rules, so that a run with a part of
// them has none.
func TestOptionsAskedAboutKernel(t *testing.T) {
	needKernel(t)
	if !sample.Whole() {
		return
	}
	all, missing := len(everyOption()), optionsNotAsked(t)
	line, err := json.Marshal(map[string]any{"options": map[string]any{"all": all, "asked": all - len(missing), "missing": missing}})
	require.NoError(t, err)
	fmt.Printf("\ndiffer-json %s\n", line)
}

// TestSetsOnTheRealKernel does the same with the files about sets.
func TestSetsOnTheRealKernel(t *testing.T) {
	needKernel(t)
	m := newRealMachine(t)
	datadriven.Walk(t, "testdata/ipset", func(t *testing.T, path string) {
		runSetsFile(t, path, m)
	})
}

// TestSetOrderOnTheRealKernel holds the order in which elements are listed, of tables that grow too.
func TestSetOrderOnTheRealKernel(t *testing.T) {
	needKernel(t)
	for _, elements := range []int{50, 700} {
		var saved [2]string
		for i, m := range []machine{newRealMachine(t), newFakeMachine(netfilter.Legacy)} {
			_, stderr, status := m.run(t, []string{"ipset", "restore"}, orderedSets(elements))
			require.Zero(t, status, stderr)
			out, _, _ := m.run(t, []string{"ipset", "save"}, "")
			// The size of a table that has grown is not imitated.
			saved[i] = regexp.MustCompile(`hashsize \d+`).ReplaceAllString(out, "hashsize N")
		}
		require.Equal(t, saved[0], saved[1])
	}
}

// TestGeneratedSetsOnTheRealKernel gives the same generated commands to the real ipset and to the fake one.
func TestGeneratedSetsOnTheRealKernel(t *testing.T) {
	needKernel(t)
	host := newRealMachine(t)
	rapid.Check(t, func(rt *rapid.T) {
		machines := [2]machine{host, newFakeMachine(netfilter.Legacy)}
		var history strings.Builder
		step := func(line string) {
			history.WriteString("$ " + line + "\n")
			argv := strings.Fields(line)
			real := setOutput(result(machines[0].run(t, argv, "")))
			fake := setOutput(result(machines[1].run(t, argv, "")))
			require.Equal(rt, real, fake, "after\n%s", history.String())
		}
		machines[0].run(t, []string{"ipset", "flush"}, "")
		machines[0].run(t, []string{"ipset", "destroy"}, "")
		types := map[string]string{}
		for range rapid.IntRange(2, 25).Draw(rt, "commands") {
			step(genSetCommand(rt, types))
		}
		step("ipset list")
		step("ipset save")
	})
}
