package runner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// BoundedFrequencyRunner runs a function within bounds on how often it runs.
type BoundedFrequencyRunner struct {
	name  string
	fn    func() error
	clock clock.Clock

	minInterval, retryInterval, maxInterval time.Duration

	// requested holds at most one request: those that come before it is taken are the same one.
	requested chan struct{}
}

// NewBoundedFrequencyRunner returns a runner for fn; name is for the log.
//
//   - From the end of one run to the start of the next, minInterval passes at least.
//   - After a run that returned an error, fn runs again after retryInterval, if nothing makes it run before. A shorter
//     retryInterval than minInterval waits for minInterval, a longer one than maxInterval for maxInterval.
//   - After any run, and after the start of Loop, fn runs again after maxInterval without a request.
//
// It panics if an interval is negative or maxInterval is less than minInterval.
func NewBoundedFrequencyRunner(name string, fn func() error, minInterval, retryInterval, maxInterval time.Duration, clk clock.Clock) *BoundedFrequencyRunner {
	if minInterval < 0 || retryInterval < 0 || maxInterval < minInterval {
		panic(fmt.Sprintf("runner %s: intervals min %s, retry %s, max %s: none may be negative, and max not less than min",
			name, minInterval, retryInterval, maxInterval))
	}
	return &BoundedFrequencyRunner{
		name: name, fn: fn, clock: clk,
		minInterval: minInterval, retryInterval: retryInterval, maxInterval: maxInterval,
		requested: make(chan struct{}, 1),
	}
}

// Run asks for a run, and does not wait for it. A run that starts after the call satisfies every request before it. Requests
// that are made before Loop starts are kept for it.
func (r *BoundedFrequencyRunner) Run() {
	select {
	case r.requested <- struct{}{}:
	default:
	}
}

// Loop runs the function until the context ends, one run after the other. It must be called once, and returns when the context
// has ended and no run is going on.
func (r *BoundedFrequencyRunner) Loop(ctx context.Context) {
	due := r.maxInterval
	for r.await(ctx, due) {
		due = r.runOnce(ctx)
		if !r.pause(ctx) {
			return
		}
		due -= r.minInterval
	}
}

// runOnce runs the function, and says after how long it is due again.
func (r *BoundedFrequencyRunner) runOnce(ctx context.Context) (due time.Duration) {
	select {
	case <-r.requested: // satisfied by this run too
	default:
	}
	err := r.fn()
	if err == nil {
		return r.maxInterval
	}
	due = min(r.retryInterval, r.maxInterval)
	klog.FromContext(ctx).V(3).Info("Run failed, will be tried again", "runner", r.name, "after", max(due, r.minInterval), "err", err)
	return due
}

// await returns true when there is a reason to run: a request, or that due has passed.
func (r *BoundedFrequencyRunner) await(ctx context.Context, due time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if due <= 0 {
		return true
	}
	timer := r.clock.NewTimer(due)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.requested:
	case <-timer.C():
	}
	return true
}

// pause returns true after minInterval. Requests wait meanwhile.
func (r *BoundedFrequencyRunner) pause(ctx context.Context) bool {
	if r.minInterval == 0 {
		return ctx.Err() == nil
	}
	timer := r.clock.NewTimer(r.minInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
