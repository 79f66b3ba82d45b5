package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// rounds runs every package once a round.
type rounds struct {
	options
	packages []*testPackage

	lock    sync.Mutex
	results map[*testPackage]*result
}

// result is what the runs of a package were.
type result struct {
	runs, failed int
	// wanted is how often the package shall run.
	wanted int
	took   time.Duration
	// failures are by the name of the test.
	failures map[string]*failure
}

// failure is a test that failed.
type failure struct {
	times int
	// first is how to run it that way again, and its output.
	first string
}

func newRounds(o options, packages []*testPackage) *rounds {
	r := &rounds{options: o, packages: packages, results: map[*testPackage]*result{}}
	for _, p := range packages {
		r.results[p] = &result{wanted: o.runs, failures: map[string]*failure{}}
	}
	return r
}

// all runs all rounds. The first one is told: the others take as long.
func (r *rounds) all(ctx context.Context, out io.Writer) {
	start := time.Now()
	r.some(ctx, 0, 1)
	fmt.Fprintf(out, "one round took %s\n", time.Since(start).Round(100*time.Millisecond))
	for _, p := range r.packages {
		if result := r.results[p]; r.slow > 0 && result.took > r.slow && r.slowRuns < r.runs {
			result.wanted = r.slowRuns
			fmt.Fprintf(out, "SLOW, ONLY %d RUNS: %s takes %s\n", r.slowRuns, p.ImportPath, result.took.Round(100*time.Millisecond))
		}
	}
	r.some(ctx, 1, r.runs)
	fmt.Fprintf(out, "all rounds took %s\n", time.Since(start).Round(time.Second))
}

// some runs the rounds from one to before another, several packages at once.
func (r *rounds) some(ctx context.Context, from, to int) {
	type turn struct {
		p      *testPackage
		number int
	}
	turns := make(chan turn)
	var workers sync.WaitGroup
	for range r.jobs {
		workers.Go(func() {
			for t := range turns {
				r.once(ctx, t.p, t.number)
			}
		})
	}
	for number := from; number < to; number++ {
		for _, p := range r.packages {
			if number < r.results[p].wanted && ctx.Err() == nil {
				turns <- turn{p, number}
			}
		}
	}
	close(turns)
	workers.Wait()
}

// timeout ends a run that hangs.
const timeout = "10m"

// once runs the tests of a package.
func (r *rounds) once(ctx context.Context, p *testPackage, number int) {
	processors := fmt.Sprintf("GOMAXPROCS=%d", 1+number%4)
	command := exec.CommandContext(ctx, p.binary, slices.Concat(
		[]string{fmt.Sprintf("-test.shuffle=%d", number+1), "-test.timeout=" + timeout}, p.args)...)
	command.Dir = p.Dir
	command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "CHAINWALK_")
	}), processors)
	start := time.Now()
	output, err := command.CombinedOutput()
	took := time.Since(start)
	if ctx.Err() != nil {
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	result := r.results[p]
	result.runs++
	result.took += took
	if err == nil {
		return
	}
	result.failed++
	for _, name := range failedTests(output) {
		if result.failures[name] == nil {
			result.failures[name] = &failure{first: fmt.Sprintf("%s %s: %v\n%s",
				processors, strings.Join(command.Args[1:], " "), err, excerpt(output, name))}
		}
		result.failures[name].times++
	}
}

var failLine = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// wholeBinary stands for the test where no test is named: a panic, a data race outside of tests, a hang.
const wholeBinary = "(no test)"

// failedTests are the names of the tests that failed, without those that only hold others that did.
func failedTests(output []byte) (names []string) {
	for _, match := range failLine.FindAllSubmatch(output, -1) {
		names = append(names, string(match[1]))
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return []string{wholeBinary}
	}
	return names
}

// excerptLines bounds what is shown of an output.
const excerptLines = 80

// excerpt is the part of an output about a test: from where it is said to have failed, else the end.
func excerpt(output []byte, name string) string {
	lines := strings.SplitAfter(string(output), "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "--- FAIL: "+name+" ")
	})
	if at < 0 {
		at = max(0, len(lines)-excerptLines)
	}
	return strings.Join(lines[at:min(at+excerptLines, len(lines))], "")
}
