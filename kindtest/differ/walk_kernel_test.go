//go:build linux

package differ

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
)

// needKernel skips a test that is not asked to use the machine's kernel and tools.
func needKernel(t *testing.T) {
	t.Helper()
	tools := []string{"nfacct", "ipset", "conntrack"}
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			tools = append(tools, tool("iptables", d, f), tool("iptables-restore", d, f), tool("iptables-save", d, f))
		}
	}
	kerneltest.Need(t, tools...)
}

// number is the value of an environment variable, or the fallback.
func number(t *testing.T, name string, fallback uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 0, 64)
	require.NoError(t, err, name)
	return n
}

// bounds are those of the environment; share is the part of the time that one of several runs gets.
func bounds(t *testing.T, share int, rulesets uint64) runBounds {
	total := 60 * time.Second
	if text := os.Getenv("CHAINWALK_DIFFER_TIME"); text != "" {
		var err error
		total, err = time.ParseDuration(text)
		require.NoError(t, err, "CHAINWALK_DIFFER_TIME")
	}
	folder := os.Getenv("CHAINWALK_DIFFER_OUT")
	if folder == "" {
		folder = t.ArtifactDir()
	}
	return runBounds{
		Seed: number(t, "CHAINWALK_DIFFER_SEED", uint64(time.Now().UnixNano())), Rulesets: int(number(t, "CHAINWALK_DIFFER_RULESETS", rulesets)),
		Packets: int(number(t, "CHAINWALK_DIFFER_PACKETS", 10)), Time: total / time.Duration(share), Folder: folder,
		Calls: (int(number(t, "CHAINWALK_DIFFER_CALLS", 0)) + textRuns - 1) / textRuns,
		Most:  int(number(t, "CHAINWALK_DIFFER_MOST", 10)), ChanceCases: int(number(t, "CHAINWALK_DIFFER_CHANCE", 4)),
		Favoured: strings.Split(os.Getenv("CHAINWALK_DIFFER_FAVOUR"), ","),
	}
}

// printJSON prints numbers as a line of JSON.
func printJSON(t *testing.T, numbers any) {
	var n numbersLine
	switch numbers := numbers.(type) {
	case *walkNumbers:
		n.Walk = numbers
	case *textNumbers:
		n.Text = numbers
	case *replayNumbers:
		n.Replay = numbers
	}
	line, err := json.Marshal(n)
	require.NoError(t, err)
	fmt.Printf("\n%s%s\n", numbersPrefix, line)
}

func TestKernelWalkDifferential(t *testing.T) {
	inLabs(t, func(t *testing.T, l *lab, d netfilter.Dialect, f netfilter.Family) {
		numbers := agreeOnWalks(t, bounds(t, 6, 100000), l, d, f)
		assert.Greater(t, numbers.Fit.P, falseAlarm, "draws of the kernel")
	})
}

// TestKernelMixedDifferential draws rulesets of both dialects at once: packets are walked through both.
func TestKernelMixedDifferential(t *testing.T) {
	inLabs(t, func(t *testing.T, l *lab, d netfilter.Dialect, f netfilter.Family) {
		b := bounds(t, 12, 100000)
		b.Mixed, b.ChanceCases = true, 0
		agreeOnWalks(t, b, l, d, f)
	})
}

// inLabs runs a test in a lab of each dialect, for each family.
func inLabs(t *testing.T, test func(*testing.T, *lab, netfilter.Dialect, netfilter.Family)) {
	t.Helper()
	needKernel(t)
	use, err := thisMachine().begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, use.end()) }()
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		l, err := newLab(d)
		require.NoError(t, err)
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			t.Run(fmt.Sprintf("%s/IPv%d", d, f), func(t *testing.T) { test(t, l, d, f) })
		}
		l.close()
	}
}

// agreeOnWalks demands that the kernel does with each packet what the simulation foretells.
func agreeOnWalks(t *testing.T, b runBounds, l *lab, d netfilter.Dialect, f netfilter.Family) *walkNumbers {
	t.Helper()
	numbers, err := runWalks(b, d, f, &labKernel{lab: l}, os.Stdout)
	require.NoError(t, err)
	numbers.print(os.Stdout)
	printJSON(t, numbers)
	assert.Empty(t, numbers.Disagreements)
	return numbers
}

// TestKernelWalkCases replays the recorded cases on this machine's kernel, with which the fake must agree. CHAINWALK_DIFFER_RECORD writes
// the kernel's answers into the files.
func TestKernelWalkCases(t *testing.T) {
	needKernel(t)
	use, err := thisMachine().begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, use.end()) }()
	labs := map[netfilter.Dialect]*lab{}
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		labs[d], err = newLab(d)
		require.NoError(t, err)
		defer labs[d].close()
	}
	replay := &replayNumbers{}
	for _, path := range caseFiles(t, walkCases, "walk") {
		t.Run(caseName(path), func(t *testing.T) {
			var c walkCase
			require.NoError(t, readFile(path, &c))
			v, err := judge(&c, &labKernel{lab: labs[c.Dialect]})
			require.NoError(t, err)
			require.Empty(t, v.Disagreement)
			require.Empty(t, v.Refused)
			replay.Cases, replay.Packets, replay.Steps = replay.Cases+1, replay.Packets+v.Packets, replay.Steps+v.Steps
			if os.Getenv("CHAINWALK_DIFFER_RECORD") != "" {
				c.Kernel = v.Answer
				_, err := writeFile(filepath.Dir(path), filepath.Base(path), &c)
				require.NoError(t, err)
			}
		})
	}
	printJSON(t, replay)
}
