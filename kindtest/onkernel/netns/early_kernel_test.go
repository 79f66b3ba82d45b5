//go:build linux

package netns

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/scenarios"
)

// noticed is a backend that says when a connection is to be made.
type noticed struct {
	Backend
	connect func()
}

func (n noticed) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	s, err := n.Backend.Start(ctx, c)
	return noticedSession{s, n.connect}, err
}

type noticedSession struct {
	scenarios.Session
	connect func()
}

func (n noticedSession) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	n.connect()
	return n.Session.Connect(ctx, a)
}

// TestKernelRunsThatEndEarlyLeaveNothing runs several scenarios at once, ends them before their time, and looks for namespaces that are
// still held.
func TestKernelRunsThatEndEarlyLeaveNothing(t *testing.T) {
	needKernel(t)
	wrong, err := scenarios.Read("in.yaml", strings.NewReader(hairpin))
	require.NoError(t, err)
	files := []scenarios.File{{Path: "in.yaml", Scenario: wrong}}
	for _, name := range []string{"cluster-ip", "pod-address-used-again", "sctp-service"} {
		path := "../../../scenarios/testdata/cases/" + name + ".yaml"
		loaded, err := scenarios.Load(path)
		require.NoError(t, err)
		files = append(files, scenarios.File{Path: path, Scenario: loaded[0]})
	}
	const limit = time.Minute
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	suite := scenarios.Suite{Backend: Backend{samples: 10}, Clock: clock, Parallel: len(files), FailFast: true}
	suite.Run(t.Context(), files) // what the process opens once is open then
	before := openFiles(t)

	results := suite.Run(t.Context(), files)
	assert.Equal(t, before, openFiles(t), "open files after the first that failed")
	require.Len(t, results, 1)
	assert.True(t, results[0].Failed())

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var connections atomic.Int32
	suite.FailFast = false
	suite.Backend = noticed{connect: func() { connections.Add(1); interrupt() }}
	assert.Empty(t, suite.Run(ctx, files))
	assert.Equal(t, before, openFiles(t), "open files after an interrupt")
	assert.LessOrEqual(t, int(connections.Load()), len(files), "connections: each scenario ends with its first")

	suite.Timeout = limit
	suite.Backend = noticed{connect: func() { clock.Step(limit) }}
	results = suite.Run(t.Context(), files)
	assert.Equal(t, before, openFiles(t), "open files after a time limit")
	require.Len(t, results, len(files))
	for _, r := range results {
		assert.Contains(t, r.Checks[len(r.Checks)-1].Wrong, "stopped: it has taken 1m0s", r.Name)
	}
}
