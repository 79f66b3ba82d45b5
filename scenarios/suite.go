package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Suite runs many scenarios, several at once. What it gives is in the order of the files and, but for times, the same however many run
// at once.
type Suite struct {
	Backend Backend
	// Clock times the runs and their limit.
	Clock clock.WithDelayedExecution
	// Modes are the modes of kube-proxy to run in, one after the other; none: what each scenario names.
	Modes []Mode
	// Parallel is how many scenarios run at once, at least one. A backend of which only one cluster can be there takes 1.
	Parallel int
	// Timeout is how long a scenario may take; 0: as long as it does.
	Timeout time.Duration
	// FailFast ends with the first scenario, by the order of the files, that fails.
	FailFast bool
	// Begin is called when a scenario begins, Done with what came of one when all before it are done. They are called one at a time. Both
	// may be nil.
	Begin func(*File)
	Done  func(*Result)
}

// timeoutError is what a scenario fails with that has taken too long.
type timeoutError struct{ after time.Duration }

// Error says how long it may take.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("stopped: it has taken %s, which is as long as one scenario may take", e.after)
}

// Run runs the scenarios of files; a file that could not be read is a result that failed. When the context ends, what is done by then is
// returned, and passed to Done.
func (s *Suite) Run(ctx context.Context, files []File) []*Result {
	q := &queue{suite: s, files: files, results: make([]*Result, len(files)), end: len(files)}
	var workers sync.WaitGroup
	for range min(max(s.Parallel, 1), len(files)) {
		workers.Go(func() {
			for place := q.begin(ctx); place >= 0; place = q.begin(ctx) {
				q.finish(ctx, place, s.one(ctx, &files[place]))
			}
		})
	}
	workers.Wait()
	q.report(true)
	return slices.DeleteFunc(q.results[:q.end], func(r *Result) bool { return r == nil })
}

// one runs the scenario of a file.
func (s *Suite) one(ctx context.Context, f *File) *Result {
	if f.Scenario == nil {
		pos := document.FirstPosition(f.Err)
		if pos.File == "" {
			pos.File = f.Path
		}
		return &Result{
			Name: f.Path, File: f.Path, Backend: s.Backend.Name(), Unread: true, Checks: []Check{unread(pos, f.Err)}, Started: s.Clock.Now(),
		}
	}
	if s.Timeout > 0 {
		limited, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := s.Clock.AfterFunc(s.Timeout, func() { cancel(&timeoutError{s.Timeout}) })
		defer timer.Stop()
		ctx = limited
	}
	return run(ctx, f.Scenario, s.Backend, s.Clock, s.Modes)
}

// queue hands out the files of a suite, and reports what came of them in their order.
type queue struct {
	suite   *Suite
	files   []File
	lock    sync.Mutex
	results []*Result
	begun   int // files handed out
	done    int // results reported
	end     int // files that are wanted: fewer after a failure that ends the suite
}

// begin is the place of the next file, -1 if there is none.
func (q *queue) begin(ctx context.Context) int {
	q.lock.Lock()
	defer q.lock.Unlock()
	if ctx.Err() != nil || q.begun >= q.end {
		return -1
	}
	q.begun++
	if q.suite.Begin != nil {
		q.suite.Begin(&q.files[q.begun-1])
	}
	return q.begun - 1
}

// finish keeps a result, but for one that the end of the context has cut short.
func (q *queue) finish(ctx context.Context, place int, r *Result) {
	if ctx.Err() != nil {
		return
	}
	q.lock.Lock()
	q.results[place] = r
	if q.suite.FailFast && r.Failed() {
		q.end = min(q.end, place+1)
	}
	q.lock.Unlock()
	q.report(false)
}

// report reports what can be: the results before the first one that is missing or, at the end, all that there are.
func (q *queue) report(all bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for ; q.done < q.end; q.done++ {
		r := q.results[q.done]
		if r == nil && !all {
			return
		}
		if r != nil && q.suite.Done != nil {
			q.suite.Done(r)
		}
	}
}
