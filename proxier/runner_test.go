package proxier_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/proxier/runner"
)

// tick is what the times of a script are counted in.
const tick = time.Second

// script is a life of a runner. All times are in ticks since the start of Loop.
type script struct {
	min, retry, max int
	// requests are when Run is called. More than one call may be made at a time.
	requests []int
	// failing are the numbers of the runs that return an error, from 0.
	failing []int
	// takes is how long each run takes.
	takes int
	// stop is when the context ends.
	stop int
}

// run is one run of the function.
type run struct{ start, end int }

// play plays a script in the bubble of a test, with a clock that step moves on by one tick.
func (s *script) play(clk clock.Clock, step func()) (runs []run) {
	ctx, cancel := context.WithCancel(context.Background())
	epoch := clk.Now()
	now := func() int { return int(clk.Since(epoch) / tick) }
	fn := func() error {
		started := run{start: now()}
		if s.takes > 0 {
			<-clk.After(time.Duration(s.takes) * tick)
		}
		started.end = now()
		runs = append(runs, started)
		if slices.Contains(s.failing, len(runs)-1) {
			return errors.New("fault")
		}
		return nil
	}
	r := runner.NewBoundedFrequencyRunner(fn, runner.Options{
		MinInterval: time.Duration(s.min) * tick, RetryInterval: time.Duration(s.retry) * tick,
		MaxInterval: time.Duration(s.max) * tick, Clock: clk,
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Loop(ctx)
	}()
	for at := range s.stop {
		synctest.Wait()
		for _, request := range s.requests {
			if request == at {
				r.Run()
				synctest.Wait()
			}
		}
		step()
	}
	cancel()
	for range s.takes {
		synctest.Wait()
		step()
	}
	<-done
	return runs
}

// onClocks plays a script on the testing clock and on the real one, whose time is the bubble's.
func onClocks(t *testing.T, s script, check func(t *testing.T, runs []run)) {
	t.Run("testing clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fake := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
			check(t, s.play(fake, func() { fake.Step(tick) }))
		})
	})
	t.Run("real clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			check(t, s.play(clock.RealClock{}, func() { <-time.After(tick) }))
		})
	})
}

func TestRunner(t *testing.T) {
	tests := []struct {
		name   string
		script script
		want   []int // when runs start
	}{
		{"nothing runs before it is asked for or maxInterval has passed",
			script{min: 2, retry: 5, max: 10, stop: 9}, nil},
		{"a first request runs at once",
			script{min: 2, retry: 5, max: 10, stop: 9, requests: []int{0}}, []int{0}},
		{"a request runs at once if minInterval has passed",
			script{min: 2, retry: 5, max: 10, stop: 9, requests: []int{1, 3, 8}}, []int{1, 3, 8}},
		{"a request within minInterval waits for its end",
			script{min: 4, retry: 5, max: 10, stop: 9, requests: []int{1, 2}}, []int{1, 5}},
		{"requests that wait are one",
			script{min: 4, retry: 5, max: 20, stop: 19, requests: []int{1, 2, 2, 3, 4}}, []int{1, 5}},
		{"minInterval counts from the end of a run",
			script{min: 4, retry: 5, max: 20, stop: 19, takes: 3, requests: []int{0, 4}}, []int{0, 7}},
		{"a request during a run is not satisfied by it",
			script{min: 1, retry: 5, max: 20, stop: 19, takes: 3, requests: []int{0, 1, 2}}, []int{0, 4}},
		{"runs again after maxInterval, and again",
			script{min: 1, retry: 5, max: 10, stop: 31}, []int{10, 20, 30}},
		{"maxInterval counts from the last run",
			script{min: 1, retry: 5, max: 10, stop: 24, requests: []int{3}}, []int{3, 13, 23}},
		{"maxInterval equal to minInterval",
			script{min: 5, retry: 1, max: 5, stop: 16, requests: []int{6, 7}}, []int{5, 10, 15}},
		{"without minInterval every request runs at once",
			script{min: 0, retry: 5, max: 10, stop: 9, requests: []int{1, 1, 2}}, []int{1, 1, 2}},
		{"a failure is tried again after retryInterval",
			script{min: 2, retry: 5, max: 20, stop: 19, requests: []int{0}, failing: []int{0}}, []int{0, 5}},
		{"a failure is tried until it works",
			script{min: 2, retry: 5, max: 20, stop: 30, requests: []int{0}, failing: []int{0, 1, 2}}, []int{0, 5, 10, 15}},
		{"a good run cancels the retry",
			script{min: 2, retry: 5, max: 20, stop: 19, requests: []int{0, 3}, failing: []int{0}}, []int{0, 3}},
		{"a failed run in between moves the retry",
			script{min: 2, retry: 5, max: 20, stop: 19, requests: []int{0, 3}, failing: []int{0, 1}}, []int{0, 3, 8}},
		{"a retry shorter than minInterval waits for minInterval",
			script{min: 4, retry: 1, max: 20, stop: 19, requests: []int{0}, failing: []int{0}}, []int{0, 4}},
		{"a retry longer than maxInterval waits for maxInterval",
			script{min: 1, retry: 50, max: 10, stop: 19, requests: []int{0}, failing: []int{0}}, []int{0, 10}},
		{"a retry of zero waits for minInterval",
			script{min: 3, retry: 0, max: 10, stop: 9, requests: []int{0}, failing: []int{0, 1}}, []int{0, 3, 6}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			onClocks(t, test.script, func(t *testing.T, runs []run) {
				var starts []int
				for _, r := range runs {
					starts = append(starts, r.start)
				}
				assert.Equal(t, test.want, starts)
			})
		})
	}
}

// A request before Loop is kept, one after its end does no harm.
func TestRunOutsideOfLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		ctx, cancel := context.WithCancel(context.Background())
		r := runner.NewBoundedFrequencyRunner(func() error { runs++; cancel(); return nil },
			runner.Options{RetryInterval: tick, MaxInterval: tick, Clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
		r.Run()
		r.Loop(ctx)
		r.Run()
		r.Run()
		assert.Equal(t, 1, runs)
	})
}

func TestLoopEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clocktesting.NewFakeClock(time.Unix(0, 0))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r := runner.NewBoundedFrequencyRunner(func() error { t.Error("runs"); return nil },
			runner.Options{RetryInterval: tick, MaxInterval: tick, Clock: fake})
		r.Run()
		r.Loop(ctx)
		assert.False(t, fake.HasWaiters(), "a timer is left")
	})
}

func TestNewRefusesIntervals(t *testing.T) {
	for _, intervals := range [][3]time.Duration{{-1, 1, 1}, {1, -1, 1}, {2, 1, 1}} {
		assert.Panics(t, func() {
			runner.NewBoundedFrequencyRunner(nil, runner.Options{
				MinInterval: intervals[0], RetryInterval: intervals[1], MaxInterval: intervals[2], Clock: clock.RealClock{},
			})
		}, "%v", intervals)
	}
}

// No two runs are closer than minInterval; each request is followed by a run as soon as that is allowed; nothing else runs
// but retries and what maxInterval asks for, and these on time.
func TestRunnerLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := script{
			min:      rapid.IntRange(0, 6).Draw(rt, "min"),
			retry:    rapid.IntRange(0, 12).Draw(rt, "retry"),
			takes:    rapid.IntRange(0, 3).Draw(rt, "takes"),
			requests: rapid.SliceOfN(rapid.IntRange(0, 59), 0, 20).Draw(rt, "requests"),
			failing:  rapid.SliceOfN(rapid.IntRange(0, 15), 0, 8).Draw(rt, "failing"),
			stop:     60,
		}
		s.max = s.min + rapid.IntRange(1, 20).Draw(rt, "more than min")
		var runs []run
		synctest.Test(t, func(*testing.T) {
			fake := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
			runs = s.play(fake, func() { fake.Step(tick) })
		})
		s.requireLaw(rt, runs)
	})
}

func (s *script) requireLaw(t require.TestingT, runs []run) {
	allowed, due, previous := 0, s.max, -1
	for n, r := range runs {
		require.GreaterOrEqual(t, r.start, allowed, "run %d is too close to the one before", n)
		asked := slices.ContainsFunc(s.requests, func(q int) bool { return q >= previous && q <= r.start })
		require.True(t, asked || r.start == due, "run %d at %d: nobody asked, and it is due at %d", n, r.start, due)
		require.LessOrEqual(t, r.start, due, "run %d is late", n)
		wait := s.max
		if slices.Contains(s.failing, n) {
			wait = min(s.max, s.retry)
		}
		allowed, due, previous = r.end+s.min, r.end+max(s.min, wait), r.start
	}
	require.Greater(t, due, s.stop-1-s.takes, "a run is missing at the end")
	for _, q := range s.requests {
		s.requireAnswered(t, runs, q)
	}
}

// requireAnswered demands a run that starts at the request or, if that is not allowed yet, as soon as it is.
func (s *script) requireAnswered(t require.TestingT, runs []run, request int) {
	allowed := request
	for _, r := range runs {
		if r.start >= request {
			require.LessOrEqual(t, r.start, allowed, "request at %d", request)
			return
		}
		allowed = max(request, r.end+s.min)
	}
	require.GreaterOrEqual(t, allowed, s.stop, "no run after the request at %d", request)
}
