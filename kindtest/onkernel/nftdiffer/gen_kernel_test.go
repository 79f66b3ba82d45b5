//go:build linux

package nftdiffer

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelRandomSessions compares random sessions. NFTDIFFER_SEED, NFTDIFFER_SESSIONS, NFTDIFFER_FOLDER and NFTDIFFER_MOST search further.
func TestKernelRandomSessions(t *testing.T) {
	kerneltest.Need(t, "nft")
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	var log strings.Builder
	n, err := Search(Bounds{
		Seed: uint64(number("NFTDIFFER_SEED", 1)), Sessions: number("NFTDIFFER_SESSIONS", 50), Most: number("NFTDIFFER_MOST", 20),
		Folder: os.Getenv("NFTDIFFER_FOLDER"),
	}, &log)
	require.NoError(t, err)
	t.Log(n.summary())
	if n.Differ > 0 {
		t.Errorf("%d of %d sessions differ\n%s", n.Differ, n.Sessions, log.String())
	}
}

// TestKernelGenerator holds that the generator's sessions are worth asking: many runs succeed and many fail.
func TestKernelGenerator(t *testing.T) {
	kerneltest.Need(t, "nft")
	n, err := search(Bounds{Seed: 1, Sessions: 40, Most: 1}, [2]func() (machine, error){newRealMachine, newRealMachine}, os.Stderr)
	require.NoError(t, err)
	t.Log(n.summary())
	require.Empty(t, n.Kinds, "the real tool says the same twice")
	share := float64(n.Failing) / float64(n.Runs)
	require.True(t, share > 0.2 && share < 0.75, fmt.Sprint(share))
}
