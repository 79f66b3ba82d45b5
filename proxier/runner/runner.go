package runner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Options are the bounds of a BoundedFrequencyRunner and what it works with.
type Options struct {
	// Name is for the log.
	Name string
	// MinInterval passes at least from the end of one run to the start of the next.
	MinInterval time.Duration
	// RetryInterval is after how long the function runs again if it returned an error and nothing makes it run before. A shorter
	// one than MinInterval is MinInterval, a longer one than MaxInterval is that.
	RetryInterval time.Duration
	// MaxInterval is after how long the function runs again without a request, after any run and after the start of Loop.
	MaxInterval time.Duration
	Clock       clock.Clock
	// Logger gets the runs that failed. The zero value is silent.
	Logger klog.Logger
}

// BoundedFrequencyRunner runs a function within bounds on how often it runs.
type BoundedFrequencyRunner struct {
	fn      func() error
	options Options

	// requested holds at most one request: those that come before it is taken are the same one.
	requested chan struct{}
}

// NewBoundedFrequencyRunner returns a runner for fn. It panics if an interval is negative or MaxInterval is less than MinInterval.
func NewBoundedFrequencyRunner(fn func() error, options Options) *BoundedFrequencyRunner {
	if options.MinInterval < 0 || options.RetryInterval < 0 || options.MaxInterval < options.MinInterval {
		panic(fmt.Sprintf("runner %s: intervals min %s, retry %s, max %s: none may be negative, and max not less than min",
			options.Name, options.MinInterval, options.RetryInterval, options.MaxInterval))
	}
	return &BoundedFrequencyRunner{fn: fn, options: options, requested: make(chan struct{}, 1)}
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
	due := r.options.MaxInterval
	for r.await(ctx, due) {
		due = r.runOnce()
		if !r.pause(ctx) {
			return
		}
		due -= r.options.MinInterval
	}
}

// runOnce runs the function, and says after how long it is due again.
func (r *BoundedFrequencyRunner) runOnce() (due time.Duration) {
	select {
	case <-r.requested: // satisfied by this run too
	default:
	}
	err := r.fn()
	if err == nil {
		return r.options.MaxInterval
	}
	due = min(r.options.RetryInterval, r.options.MaxInterval)
	r.options.Logger.V(3).Info("Run failed, will be tried again",
		"runner", r.options.Name, "after", max(due, r.options.MinInterval), "err", err)
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
	timer := r.options.Clock.NewTimer(due)
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
	if r.options.MinInterval == 0 {
		return ctx.Err() == nil
	}
	timer := r.options.Clock.NewTimer(r.options.MinInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
