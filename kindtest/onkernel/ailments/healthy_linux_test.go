package ailments

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// Run builds the ward, makes every promised connection, and asks doctor.
func (h *Healthy) Run(ctx context.Context) (c *Checkup, err error) {
	w, err := New(h.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if w.Objects, err = w.Objects.with(h.Objects); err != nil {
		return nil, err
	}
	for _, node := range nodeNames {
		if err := w.SyncRules(node, nil); err != nil {
			return nil, err
		}
	}
	if err := w.Run(h.Present...); err != nil {
		return nil, err
	}
	c = &Checkup{}
	if err := h.connect(w, c); err != nil {
		return nil, err
	}
	cluster, err := w.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	if h.Seen != nil {
		h.Seen(cluster)
	}
	report, err := diagnose(ctx, cluster)
	if err != nil {
		return nil, err
	}
	c.Report, c.Findings = report.text, report.findings
	return c, h.ask(ctx, w, cluster, c)
}

// ask asks why of some connections.
func (h *Healthy) ask(ctx context.Context, w *Ward, cluster *live.Cluster, c *Checkup) error {
	asked := []Try{{From: "node1", To: "svc/far"}, {From: "outside", To: "node1:30012"}}
	if len(manifest.Of[*corev1.Pod](cluster.Objects)) > 0 {
		asked = append(asked, Try{From: "client1", To: "svc/web"}, Try{From: "client2", To: "svc/near"})
	}
	for _, t := range asked {
		answer, err := t.ask(ctx, w, cluster)
		if err != nil {
			return err
		}
		if answer.Answer == live.WhyNo {
			c.No = append(c.No, answer.Sentence)
		}
	}
	return nil
}

// connect makes the connections.
func (h *Healthy) connect(w *Ward, c *Checkup) error {
	for _, v6 := range w.Families.each() {
		all := slices.DeleteFunc(promised(), func(t Try) bool { return slices.Contains(h.Without, t.To) })
		for _, t := range append(all, h.Tries...) {
			got, err := w.Ask(&t, v6, t.Is)
			if err != nil {
				return fmt.Errorf("%s: %w", &t, err)
			}
			c.Connections++
			if !got.matches(t.Is, v6) {
				c.Wrong = append(c.Wrong, fmt.Sprintf("%s: want %s, got %s", &t, t.Is, got))
			}
		}
	}
	return nil
}
