package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// ending is a cluster of which something cannot be had at the end.
type ending struct {
	exporting, closing error
	done               []string
}

func (e *ending) export(ctx context.Context, folder string) error {
	e.done = append(e.done, "export to "+folder)
	return errors.Join(e.exporting, ctx.Err())
}

func (e *ending) close(ctx context.Context) error {
	e.done = append(e.done, "close")
	return errors.Join(e.closing, ctx.Err())
}

// TestWhatCannotBeKeptIsSaid: what a run has found is its status, also where a node does not tell its metrics at the end. A cluster that
// stays behind is an error.
func TestWhatCannotBeKeptIsSaid(t *testing.T) {
	silent := errors.Join(errors.New("exporting metrics.txt of node a: context deadline exceeded"),
		errors.New("exporting proxy.log of node b: no pod"))
	left := errors.New("the network is in use")
	ended, end := context.WithCancel(t.Context())
	end()
	const kept = "out/a-b-c-d-artifacts"
	for about, row := range map[string]struct {
		held    bool
		ctx     context.Context
		cluster ending
		done    []string
		said    string
		err     error
	}{
		"all held":         {held: true, ctx: t.Context(), done: []string{"close"}},
		"something failed": {ctx: t.Context(), done: []string{"export to " + kept, "close"}, said: "what the nodes are like: " + kept + "\n"},
		"a node is silent": {ctx: t.Context(), cluster: ending{exporting: silent}, done: []string{"export to " + kept, "close"},
			said: "what the nodes are like: " + kept + "\nnot all of it: exporting metrics.txt of node a: context deadline exceeded\n" +
				"  exporting proxy.log of node b: no pod\n"},
		"the cluster stays": {held: true, ctx: t.Context(), cluster: ending{closing: left}, done: []string{"close"}, err: left},
		"interrupted":       {ctx: ended, done: []string{"close"}},
	} {
		t.Run(about, func(t *testing.T) {
			var out bytes.Buffer
			t.Chdir(t.TempDir())
			r := &run{options: &options{folder: "out", proxy: "a", mode: "b", tool: "c", family: "d"}, out: &out}
			got := r.endOne(row.ctx, row.held, 0, &row.cluster)
			assert.Equal(t, row.done, row.cluster.done)
			assert.Equal(t, row.said, out.String())
			assert.ErrorIs(t, got, row.err)
		})
	}
}
