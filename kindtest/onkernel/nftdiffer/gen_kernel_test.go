//go:build linux

package nftdiffer

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelGenerator holds that the generator's sessions are worth asking: many runs succeed and many fail.
func TestKernelGenerator(t *testing.T) {
	kerneltest.Need(t, "nft")
	n, err := search(t.Context(), Bounds{Seed: 1, Sessions: 40, Most: 1},
		[2]func() (machine, error){newRealMachine, newRealMachine}, os.Stderr)
	require.NoError(t, err)
	n.Print(t.Output())
	require.Empty(t, n.Kinds, "the real tool says the same twice")
	share := float64(n.Failing) / float64(n.Runs)
	require.True(t, share > 0.2 && share < 0.75, fmt.Sprint(share))
}
