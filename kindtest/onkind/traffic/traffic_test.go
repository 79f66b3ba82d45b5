package traffic

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/chainwalk/chainwalk/kindtest/probe"
)

func asked(seq int, end probe.End, server string) probe.Asked {
	return probe.Asked{Seq: seq, Result: probe.Result{End: end, Server: server}}
}

func TestEveryQuestionCounts(t *testing.T) {
	fine := []probe.Asked{asked(1, probe.Answered, "b"), asked(2, probe.Answered, "a"), asked(3, probe.Answered, "b")}
	assert.NoError(t, all(fine))
	assert.Equal(t, []string{"a", "b"}, servers(fine))
	assert.ErrorContains(t, all(append(fine, asked(4, probe.Refused, ""), asked(5, probe.Silent, ""))),
		"2 of 5 questions were not answered, the first one number 4")
	assert.Error(t, all(nil), "a load that asked nothing shows nothing")
}

func TestAFlowThatHasMovedStaysWhereItIs(t *testing.T) {
	moved := []probe.Asked{asked(1, probe.Answered, "old"), asked(2, probe.Silent, ""), asked(3, probe.Answered, "new"),
		asked(4, probe.Answered, "new")}
	assert.NoError(t, staysWith(moved, "new"), "what was lost before it moved is not counted")
	assert.ErrorContains(t, staysWith(append(moved, asked(5, probe.Answered, "old")), "new"), "question 5 came to old")
	assert.ErrorContains(t, staysWith(append(moved, asked(5, probe.Silent, "")), "new"), "question 5 came to silent")
}

// TestEverythingIsTakenAway: also what came before a failure, the last thing first, and whether somebody still waits or not.
func TestEverythingIsTakenAway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done []string
	c := Change{run: func(_ context.Context, s *stage) (string, error) {
		for _, name := range []string{"first", "second"} {
			s.later(func(ctx context.Context) error {
				done = append(done, name)
				return errors.Join(ctx.Err(), errors.New(name+" is stuck"))
			})
		}
		cancel()
		return "told", errors.New("a connection failed")
	}}
	told, err := c.Run(ctx, Bench{})
	assert.Equal(t, "told", told)
	assert.Equal(t, []string{"second", "first"}, done)
	require.Error(t, err)
	assert.Equal(t, "a connection failed\nclean up: second is stuck\nclean up: first is stuck", err.Error())
}

// TestADeploymentSelectsItsPods as the API server demands, and its pods serve longer than a new one takes to be there.
func TestADeploymentSelectsItsPods(t *testing.T) {
	d := deployment("node1", "image")
	selector := labels.SelectorFromSet(d.Spec.Selector.MatchLabels)
	assert.True(t, selector.Matches(labels.Set(d.Spec.Template.Labels)))
	assert.Greater(t, *d.Spec.Template.Spec.TerminationGracePeriodSeconds, int64(serves.Seconds()))
	assert.Zero(t, d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue(), "the old pod goes first")
}
