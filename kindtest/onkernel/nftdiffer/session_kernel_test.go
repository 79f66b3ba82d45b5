//go:build linux

package nftdiffer

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestKernelSessions asks the real tool, which must still say what stands in the files; with -rewrite that is written.
func TestKernelSessions(t *testing.T) {
	kerneltest.Need(t, "nft")
	datadriven.Walk(t, sessions, func(t *testing.T, path string) {
		runSessions(t, path, sample.InPart, newRealMachine)
	})
}

// TestKernelDumps makes the calls of kube-proxy on this machine, where they must give what they gave on the one where they were recorded.
func TestKernelDumps(t *testing.T) {
	kerneltest.Need(t, "nft")
	replayDumps(t, newRealMachine)
}
