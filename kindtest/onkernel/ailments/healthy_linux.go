package ailments

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err := w.Run(h.Beside...); err != nil {
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
	c.Report, c.Findings = report.text, report.findings
	return c, err
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
