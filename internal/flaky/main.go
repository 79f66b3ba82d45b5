// Command flaky finds tests that fail by chance: it builds the test binary of each package once, with the race detector, and runs all
// of them many times, several at once and more than there are processors, so that goroutines are scheduled in many ways. It prints
// how often which test failed, with the output of its first failure, and ends with status 1 if any did, 2 if nothing could be run.
//
//	flaky [-runs N] [-jobs N] [-race=false] [-slow DURATION] [-slow-runs N] PACKAGES...
//
// The runs of all packages are mixed: one run of each, then the next. A run has its own order of tests (-test.shuffle) and its own
// GOMAXPROCS, which the output names. A package whose first run takes longer than -slow is run -slow-runs times, which the
// output says too. Tests that need the real kernel are not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/chainwalk/chainwalk/internal/command"
)

func main() { newCommand().Main() }

func newCommand() *command.Command {
	var o options
	return &command.Command{Name: "flaky", Flags: o.define, Valid: o.valid,
		Look: func(ctx context.Context, packages []string, out io.Writer) (bool, error) {
			o.packages = packages
			failed, err := find(ctx, o, out)
			return !failed, err
		}}
}

// options are the flags.
type options struct {
	runs, jobs, slowRuns int
	slow                 time.Duration
	race                 bool
	packages             []string
}

func (o *options) define(flags *flag.FlagSet) {
	flags.IntVar(&o.runs, "runs", 200, "how often each package is run")
	flags.IntVar(&o.jobs, "jobs", 2*runtime.NumCPU(), "how many test binaries run at once")
	flags.DurationVar(&o.slow, "slow", 0, "a package whose first run takes longer is run -slow-runs times; 0: none")
	flags.IntVar(&o.slowRuns, "slow-runs", 20, "see -slow")
	flags.BoolVar(&o.race, "race", true, "build with the race detector")
}

func (o *options) valid(packages []string) bool {
	return len(packages) > 0 && o.runs > 0 && o.jobs > 0 && o.slowRuns > 0
}

// find runs everything, and says whether a test failed.
func find(ctx context.Context, o options, out io.Writer) (failed bool, err error) {
	folder, err := os.MkdirTemp("", "flaky")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	start := time.Now()
	packages, err := build(ctx, o, folder)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%d packages built in %s, %d runs of each, %d at once\n",
		len(packages), time.Since(start).Round(time.Second), o.runs, o.jobs)
	r := newRounds(o, packages)
	r.all(ctx, out)
	return r.report(out), ctx.Err()
}
