// Command hunt has generated scenarios played with kube-proxy's own proxier and judged
// by the specification of the Service API. It tells apart what violations come of, by
// what a kube-proxy with one thing mended does in the same case, and makes one of each
// kind small. If it is interrupted, it prints what it has found so far. With files it
// plays these, with kube-proxy and with this project's proxier side by side. It exits
// with 1 if something breaks the specification, and with 2 if it could not look, or was
// interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/kindtest/onkernel/netns"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

func main() {
	klog.SetLogger(logr.Discard())
	debug.SetGCPercent(collectorPercent)
	o := options{number: -1, told: os.Stderr, fuzz: fuzz.Options{
		Commit: "kube-proxy " + peers.Version(), Program: "hunt", Trial: trial.Options{Proxier: peers.Process},
		Gen: gen.Options{OtherFamily: true, FarFlows: true, OwnSysctls: true},
	}}
	c := command.Command{Name: "hunt", Flags: o.define, Look: func(ctx context.Context, files []string, out io.Writer) (bool, error) {
		broken, err := o.hunt(ctx, files, out)
		return !broken, err
	}}
	c.Main()
}

// collectorPercent is GOGC: plays leave much behind, of which little is in use, so that a quarter of the time was the collector's.
const collectorPercent = 400

// options are the flags.
type options struct {
	fuzz            fuzz.Options
	seeds, number   int
	time            time.Duration
	out, on         string
	told            io.Writer // where it says how it goes on
	without, except string
}

func (o *options) define(flags *flag.FlagSet) {
	flags.Uint64Var(&o.fuzz.Seed, "seed", 1, "chooses the cases")
	flags.IntVar(&o.seeds, "seeds", 1, "how many seeds to play, from -seed on; the results are joined")
	flags.IntVar(&o.number, "case", -1, "play this case alone")
	flags.IntVar(&o.fuzz.Runs, "runs", 0, "how many cases to play; 0: as many as the time allows")
	flags.DurationVar(&o.time, "time", time.Minute, "how long to play cases, if -runs is not given")
	flags.IntVar(&o.fuzz.Workers, "workers", runtime.GOMAXPROCS(0), "how many cases to play at the same time")
	flags.IntVar(&o.fuzz.Shrinks, "shrinks", 1000, "how many smaller cases to try for a violation")
	flags.Func("mode", "iptables or nftables: of every kube-proxy in the cases", func(text string) error {
		mode, err := cases.ModeNamed(text)
		o.fuzz.Gen.NFTables = mode == cases.NFTables
		return err
	})
	flags.StringVar(&o.without, "without", "", "features that no case has, by comma")
	flags.StringVar(&o.except, "except", "", "clauses that are not looked at, by comma")
	flags.StringVar(&o.out, "out", "", "folder to write the scenarios to")
	flags.StringVar(&o.on, "on", scenarios.BackendSim, "where to play files: sim or netns")
}

// hunt plays files, or generated cases if there are none.
func (o *options) hunt(ctx context.Context, files []string, out io.Writer) (broken bool, err error) {
	if o.number >= 0 {
		o.fuzz.First, o.fuzz.Runs = o.number, 1
	}
	if err := o.leaveOut(); err != nil {
		return false, err
	}
	if len(files) > 0 {
		return o.play(ctx, files, out)
	}
	return o.search(ctx, out)
}

// leaveOut reads what not to make and what not to look at.
func (o *options) leaveOut() error {
	for name := range strings.SplitSeq(o.without, ",") {
		if name == "" {
			continue
		}
		feature, err := gen.FeatureNamed(name)
		if err != nil {
			return err
		}
		o.fuzz.Gen.Without |= gen.Of(feature)
	}
	for name := range strings.SplitSeq(o.except, ",") {
		if name == "" {
			continue
		}
		clause := oracle.ByName(name)
		if clause == nil {
			return fmt.Errorf("there is no clause %q", name)
		}
		o.fuzz.Trial.Except = append(o.fuzz.Trial.Except, clause)
	}
	return nil
}

// search plays generated cases.
func (o *options) search(ctx context.Context, out io.Writer) (broken bool, err error) {
	if o.fuzz.Runs == 0 {
		o.fuzz.Time = o.time / time.Duration(max(o.seeds, 1))
	}
	ask := &asker{except: o.fuzz.Trial.Except, mends: peers.Doing(o.fuzz.Gen.NFTables)}
	o.fuzz.Explain = ask.explain
	o.fuzz.Still = still
	telling := fuzz.Tell(o.told)
	o.fuzz.Progress = telling.Progress
	var results []*fuzz.Result
	for range max(o.seeds, 1) {
		result, err := fuzz.Run(ctx, o.fuzz)
		if err != nil {
			return false, err
		}
		results = append(results, result)
		o.fuzz.Seed++
		if result.Interrupted {
			break
		}
	}
	result, err := fuzz.Merge(results)
	if err != nil {
		return false, err
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return false, err
		}
		for i := range result.Failures {
			f := &result.Failures[i]
			if err := os.WriteFile(filepath.Join(o.out, f.Name()), []byte(f.File), 0o644); err != nil {
				return false, err
			}
		}
	}
	telling.Rate(&result.Figures)
	if err := result.WriteText(out, true); err != nil {
		return false, err
	}
	if result.Interrupted {
		return false, fmt.Errorf("interrupted: %d cases were judged", result.Cases)
	}
	return len(result.Failures) > 0, nil
}

// play plays files with both proxiers.
func (o *options) play(ctx context.Context, paths []string, out io.Writer) (broken bool, err error) {
	list, err := scenarios.Load(paths...)
	if err != nil {
		return false, err
	}
	for _, s := range list {
		ours, err := o.with(ctx, s, nil)
		if err != nil {
			return false, err
		}
		theirs, err := o.with(ctx, s, peers.Process)
		if err != nil {
			return false, err
		}
		broken = broken || theirs.Failed()
		fmt.Fprintf(out, "%s on %s: kube-proxy %s %s, chainwalk %s\n", s.Pos.File, o.on, peers.Version(), inWords(theirs), inWords(ours))
	}
	return broken, nil
}

// with plays a scenario with a proxier; nil is this project's.
func (o *options) with(ctx context.Context, s *scenarios.Scenario, proxier node.Proxier) (*scenarios.Result, error) {
	switch o.on {
	case scenarios.BackendSim:
		return scenarios.Run(ctx, s, sim.Backend{Options: sim.Options{Proxier: proxier}}), nil
	case scenarios.BackendNetns:
		return scenarios.Run(ctx, s, netns.Backend{Proxier: proxier}), nil
	}
	return nil, fmt.Errorf("-on %s: want %s or %s", o.on, scenarios.BackendSim, scenarios.BackendNetns)
}

// inWords says whether a scenario holds, and where not.
func inWords(r *scenarios.Result) string {
	if r.Skipped != "" {
		return "skipped: " + r.Skipped
	}
	for i := range r.Checks {
		if c := &r.Checks[i]; !c.Passed {
			return fmt.Sprintf("breaks %s (%s: %s)", c.At, c.Name, c.Wrong)
		}
	}
	return "holds"
}
