package ailments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// Run makes an ailment in a ward of its own, makes its connections, and asks what is wrong.
func (a *Ailment) Run(ctx context.Context) (r *Result, err error) {
	w, err := New(a.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r = &Result{}
	if err := a.prepare(w, r); err != nil {
		return nil, err
	}
	if err := w.Run(a.Fault...); err != nil {
		return nil, err
	}
	if w.Objects, err = w.Objects.with(a.Later); err != nil {
		return nil, err
	}
	if err := a.ask(w, r, func(t *Try) string { return t.Is }); err != nil {
		return nil, err
	}
	cluster, err := w.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return r, a.explain(ctx, w, cluster, r)
}

// prepare has the ward as it is before anything breaks.
func (a *Ailment) prepare(w *Ward, r *Result) (err error) {
	if w.Objects, err = w.Objects.with(a.Objects); err != nil {
		return err
	}
	for _, node := range nodeNames {
		if slices.Contains(a.Idle, node) {
			continue
		}
		misled := a.Misled
		if node != "node1" {
			misled = nil
		}
		if err := w.SyncRules(node, misled); err != nil {
			return err
		}
	}
	if err := w.Run(a.Before...); err != nil {
		return err
	}
	return a.ask(w, r, func(t *Try) string { return t.Was })
}

// ask makes the connections of which something is expected.
func (a *Ailment) ask(w *Ward, r *Result, expected func(*Try) string) error {
	for i := range a.Tries {
		t := &a.Tries[i]
		want := expected(t)
		if want == "" {
			continue
		}
		for _, v6 := range w.Families.each() {
			got, err := w.Ask(t, v6, want)
			if err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			r.Kernel = got
			if !got.matches(want, v6) {
				r.Wrong = append(r.Wrong, fmt.Sprintf("%s: want %s, got %s", t, want, got))
			}
		}
	}
	return nil
}

// explain asks doctor, trace and why, and does what is said to help.
func (a *Ailment) explain(ctx context.Context, w *Ward, cluster *live.Cluster, r *Result) error {
	doctor, err := diagnose(ctx, cluster)
	if err != nil {
		return err
	}
	ask := a.trace
	if a.Arrives != "" {
		ask = a.traceAt
	}
	trace, err := ask(w, cluster)
	if err != nil {
		return err
	}
	why, err := a.why(ctx, w, cluster)
	if err != nil {
		return err
	}
	r.Named = verdicts{doctor.cause.Code, trace.cause.Code, why.cause.Code}
	for _, must := range []struct{ command, text, has string }{
		{"doctor", doctor.text, a.Tells}, {"doctor", doctor.text, a.Assumes}, {"trace", trace.text, a.Assumes}, {"why", why.text, a.Assumes},
	} {
		if !strings.Contains(must.text, must.has) {
			r.Unsaid = append(r.Unsaid, must.command+": "+must.has)
		}
	}
	r.Report = fmt.Sprintf("doctor:\n%s\ntrace:\n%s\n\nwhy:\n%s", doctor.text, trace.text, why.text)
	for _, said := range []statement{why, doctor} {
		if said.cause.Code == a.Cause && r.Repaired == notTried {
			if r.Repaired, err = a.mend(w, &said.cause); err != nil {
				return err
			}
		}
	}
	return nil
}
