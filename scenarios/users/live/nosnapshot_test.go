package live

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A node that was asked for a snapshot and gave none comes first in the answer, and keeps a sound cluster from being called so.
func TestANodeThatDidNotAnswerComesFirst(t *testing.T) {
	cluster := small(t, "legacy", "demo-worker")
	cluster.NoSnapshot = map[string]string{"demo-worker2": "its kubelet\nis silent"}
	report := examined(t, cluster)
	assert.Regexp(t, `^no snapshot of demo-worker2 \(its kubelet is silent\); nothing is wrong: \d+ connections judged on 1 node$`,
		report.Answer)
	assert.Equal(t, State{"undecided", "open"}, report.State())
	text := textOf(t, report)
	assert.Contains(t, text, "demo-worker2: no snapshot: its kubelet is silent\n")
	assert.Contains(t, text, "demo-control-plane: no snapshot\n", "one that nobody asked")

	why, err := cluster.Why(t.Context(), "node/demo-worker2", "svc/shop/web:http")
	require.NoError(t, err)
	assert.Equal(t, WhyUnknown, why.Answer)
	assert.Equal(t, "there is no snapshot of demo-worker2: its kubelet is silent", why.Notes[0])
}

func TestWithoutAnySnapshotNothingCanBeSaid(t *testing.T) {
	cluster := recorded(t, "legacy")
	cluster.NoSnapshot = map[string]string{"demo-worker": "no image", "demo-worker2": "no image"}
	report := examined(t, cluster)
	assert.Equal(t, "no snapshot of demo-worker, demo-worker2 (no image); nothing can be said of any node", report.Answer)
	assert.True(t, report.Silent())
}
