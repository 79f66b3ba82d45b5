package kind

import (
	"context"
	"slices"
)

// use has the proxies of nodes be at work, and those of all others stopped: nobody looks at what they would write. A kube-proxy that came
// with the cluster is never stopped.
func (b *Backend) use(ctx context.Context, nodes []string) error {
	if b.facts.Foreign != nil {
		return nil
	}
	var wake, stop []string
	for _, node := range b.nodeNames() {
		switch used := slices.Contains(nodes, node); {
		case used && b.idle[node] > 0:
			wake = append(wake, node)
		case !used && b.idle[node] == 0:
			stop = append(stop, node)
		}
	}
	for _, node := range stop {
		b.stops++
		b.idle[node] = b.stops
	}
	signals := newStill(b)
	if err := signals.signal(ctx, stop, stopProxy); err != nil {
		return err
	}
	for _, node := range wake {
		delete(b.idle, node)
	}
	return signals.signal(ctx, wake, goOnProxy)
}

// Idle says by a number, another one each time, that a node's proxy is stopped since no scenario needs it: its rules stay what they are.
// 0: it is at work.
func (b *Backend) Idle(node string) int { return b.idle[node] }

// Rest has all proxies be at work, and gives the Node objects the labels back that scenarios have changed.
func (b *Backend) Rest(ctx context.Context) error {
	if err := b.use(ctx, b.nodeNames()); err != nil {
		return err
	}
	w := writer{client: b.client, labels: b.labels}
	return w.restoreLabels(ctx)
}
