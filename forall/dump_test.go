package forall

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// dumpHost is a node of the recorded cluster, without the connections that it had.
func dumpHost(t testing.TB, tools, node string) *packetsim.Host {
	t.Helper()
	data, err := fs.ReadFile(dumps.Kind(), tools+"/"+node+".yaml")
	require.NoError(t, err)
	s, err := snapshot.Read(node, bytes.NewReader(data))
	require.NoError(t, err)
	s.Conntrack = nil
	h, err := snapshot.NewHost(s, snapshot.HostOptions{})
	require.NoError(t, err)
	return h
}


func TestLeavesAreWalksOfTheRecordedCluster(t *testing.T) {
	for _, tools := range []string{"legacy", "nft"} {
		for _, node := range []string{"demo-control-plane", "demo-worker", "demo-worker2"} {
			t.Run(tools+"/"+node, func(t *testing.T) {
				f, err := Of(dumpHost(t, tools, node), Options{Chance: Exact})
				require.NoError(t, err)
				c := check(t, f, rand.New(rand.NewPCG(1, 2)), 2000)
				c.require(t)
				t.Log(c, f.Size(), f.Unmodelled())
			})
		}
	}
}
