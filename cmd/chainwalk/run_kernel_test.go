//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelRunsInNamespacesAtOnce runs several scenarios at once on the kernel: what is printed is what the simulator says, in the same
// order.
func TestKernelRunsInNamespacesAtOnce(t *testing.T) {
	kerneltest.Need(t, "nft", "nfacct", "iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft")
	run := func(on string) string {
		status, out, errOut := call("", "run", cases, "--run", "affinity (to|in)|own affinity|of an affinity", "--on", on, "--parallel", "4",
			"--ways", "none")
		require.Equal(t, exitHeld, status, out+errOut)
		return out
	}
	assert.Equal(t, run("sim"), strings.ReplaceAll(run("netns"), " on netns, ", " on sim, "))
}
