package forall_test

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/internal/sample"
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

// agrees compares fates of a host with walks.
func agrees(t *testing.T, h *packetsim.Host, packets int) *forall.Fates {
	t.Helper()
	f, err := forall.Of(h, forall.Options{Chance: forall.Exact})
	require.NoError(t, err)
	r := walked.Compare(f, rand.New(rand.NewPCG(1, 2)), packets)
	assert.Empty(t, r.Wrong, r.Text())
	assert.NotZero(t, r.Asked)
	t.Log(r, f.Size(), f.Unmodelled())
	return f
}

func TestFatesOfTheRecordedCluster(t *testing.T) {
	for _, tools := range []string{"legacy", "nft"} {
		for _, node := range []string{"demo-control-plane", "demo-worker", "demo-worker2"} {
			t.Run(tools+"/"+node, func(t *testing.T) { agrees(t, dumpHost(t, tools, node), 1000/sample.Every(4)) })
		}
	}
}
