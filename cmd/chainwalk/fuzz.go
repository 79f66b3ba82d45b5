package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page/report"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

type fuzzOptions struct {
	seed    uint64
	runs    int
	time    time.Duration
	shard   string
	first   int
	out     string
	output  string
	without []string
	mode    string
	workers int
	shrinks int
	until   bool
	verbose bool
}

// verboseFuzz is what -v does.
const verboseFuzz = "also print what the run reached of the specification, the proxier's code and its rules, and the scenarios that fail"

// defaultRuns is for a command line that says neither how many nor how long.
const defaultRuns = 1000

func newFuzzCommand(s streams) *cobra.Command { return fuzzCommand(s, &fuzzOptions{}) }

// fuzzCommand is the command that reads its flags into the options.
func fuzzCommand(s streams, o *fuzzOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fuzz",
		Short: "Search for bugs: generate scenarios, judge them, and shrink failures",
		Long: `Generates clusters and events at random, and judges every class of packets after every sync and within it by the
specification of the Service API. It reports the first failing case of each clause, and shrinks it to a small, ordinary scenario file that
begins with the broken clause.

The same seed, shard and number of runs give the same cases, and the same output at one commit. With --time the number of runs depends on
the machine. The search passes if no case failed. A run of many cases must also have reached all clauses, decisions and rules that it
should.`,
		Example: `  chainwalk fuzz --runs 10000 --out found
  chainwalk fuzz --seed 7 --shard 2/8 --time 10m --out found
  chainwalk fuzz --seed 7 --case 4711
  chainwalk fuzz merge found`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFuzz(cmd.Context(), s, *o)
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&o.seed, "seed", 1, "chooses the cases")
	flags.IntVar(&o.runs, "runs", 0, fmt.Sprintf("how many cases to judge (%d if there is no --time)", defaultRuns))
	flags.DurationVar(&o.time, "time", 0, "how long to judge cases")
	flags.StringVar(&o.shard, "shard", "1/1", "I/N: judge only the cases of process I of N")
	flags.IntVar(&o.first, "case", -1, "judge this case only")
	flags.StringVar(&o.out, "out", "", "folder for the result and the scenarios that fail")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the result: text, json or html (a page for a browser)")
	flags.StringVar(&o.mode, "mode", string(scenarios.ModeIPTables),
		"the mode of kube-proxy: iptables, nftables, or both: drawn, and changed at starts")
	flags.StringSliceVar(&o.without, "without", nil, "leave out these features")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many cases run at the same time")
	flags.IntVar(&o.shrinks, "shrinks", 1000, "how many smaller cases to try for each failure; -1: none")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, verboseFuzz)
	flags.BoolVar(&o.until, "until-found", false, "stop after the first case that fails")
	completeWords(cmd, "output", fuzzOutputs...)
	completeWords(cmd, "mode", string(scenarios.ModeIPTables), string(scenarios.ModeNFTables), "both")
	cmd.AddCommand(newFuzzMergeCommand(s), newFuzzJudgeCommand(s))
	return cmd
}

func runFuzz(ctx context.Context, s streams, o fuzzOptions) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	defer collect(collectSeldom)()
	telling := fuzz.Tell(s.errOut)
	options.Progress = telling.Progress
	result, err := fuzz.Run(ctx, options)
	if err != nil {
		return err
	}
	telling.Rate(&result.Figures)
	if o.out != "" {
		name := fmt.Sprintf("result-%d-%d-of-%d.json", result.Seed, result.Shard, result.Shards)
		if err := writeFound(o.out, name, result); err != nil {
			return err
		}
	}
	return tell(ctx, s, o.output, o.verbose, result)
}

// options are the options of the run.
func (o *fuzzOptions) options() (fuzz.Options, error) {
	out := fuzz.Options{Seed: o.seed, Runs: o.runs, Time: o.time, Workers: o.workers, Shrinks: o.shrinks, UntilFound: o.until,
		Commit: commit()}
	if err := checkFuzzOutput(o.output); err != nil {
		return out, err
	}
	modes, err := scenarios.ParseModes(o.mode)
	if err != nil {
		return out, fmt.Errorf("--mode: %w", err)
	}
	out.Gen.Modes = len(modes) > 1
	out.Gen.NFTables = len(modes) == 1 && modes[0] == scenarios.ModeNFTables
	out.Gen.NFTablesExtras = true
	out.Program = o.program()
	if o.runs < 0 || o.time < 0 {
		return out, errors.New("--runs and --time: want more than 0")
	}
	shard, shards, ok := strings.Cut(o.shard, "/")
	i, err := strconv.Atoi(shard)
	n, err2 := strconv.Atoi(shards)
	if !ok || err != nil || err2 != nil || i < 1 || i > n {
		return out, fmt.Errorf("--shard %s: want I/N, the shard I of N from 1", o.shard)
	}
	out.Shard, out.Shards = i, n
	for _, name := range o.without {
		feature, err := gen.FeatureNamed(name)
		if err != nil {
			return out, fmt.Errorf("--without: %w", err)
		}
		out.Gen.Without |= gen.Of(feature)
	}
	switch {
	case o.first >= 0:
		out.First, out.Runs, out.Shard, out.Shards = o.first, 1, 1, 1
	case o.runs == 0 && o.time == 0:
		out.Runs = defaultRuns
	}
	return out, nil
}

// program is the command that has the same cases: the flags that choose what is drawn.
func (o *fuzzOptions) program() string {
	words := []string{"chainwalk fuzz"}
	if o.mode != string(scenarios.ModeIPTables) {
		words = append(words, "--mode", o.mode)
	}
	if len(o.without) > 0 {
		words = append(words, "--without", strings.Join(o.without, ","))
	}
	return strings.Join(words, " ")
}

// writeFound writes a result and its scenarios into a folder.
func writeFound(folder, name string, r *fuzz.Result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		if err := os.WriteFile(filepath.Join(folder, f.Name()), []byte(f.File), 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	return errors.Join(r.WriteJSON(file), file.Close())
}

// rare are marks and clauses that a run of a mode need not reach, however long it is.
func rare(mode string) map[string]bool {
	out := map[string]bool{}
	for m := range trial.Unreached() {
		out[m.String()] = true
	}
	if mode == string(scenarios.ModeNFTables) {
		for name := range trial.UnreachedInNFTables() {
			out[name] = true
		}
	}
	return out
}

// fuzzOutputs are the forms of a result.
var fuzzOutputs = []string{"text", "json", "html"}

func checkFuzzOutput(output string) error {
	if !slices.Contains(fuzzOutputs, output) {
		return fmt.Errorf("-o %s: want text, json or html", output)
	}
	return nil
}

// tell prints a result, and says whether it is good.
func tell(ctx context.Context, s streams, output string, verbose bool, r *fuzz.Result) error {
	write := func(w io.Writer) error { return r.WriteText(w, verbose) }
	switch output {
	case "json":
		write = r.WriteJSON
	case "html":
		write = func(w io.Writer) error { return writeFuzzPage(ctx, w, r) }
	}
	if err := write(s.out); err != nil {
		return err
	}
	if r.Interrupted {
		return fmt.Errorf("interrupted: %d cases were judged", r.Cases)
	}
	missed := r.Missed(rare(r.Mode))
	if len(missed) > 0 {
		fmt.Fprintf(s.errOut, "chainwalk: %d cases should have reached %s\n", r.Cases, strings.Join(missed, ", "))
	}
	if len(r.Failures)+len(missed) > 0 {
		return errNotHeld
	}
	return nil
}

// writeFuzzPage runs the scenarios of the failures once more, for the ways of their packets.
func writeFuzzPage(ctx context.Context, w io.Writer, r *fuzz.Result) error {
	found := &report.Search{
		Seed: r.Seed, Shard: r.Shard, Shards: r.Shards, Commit: r.Commit,
		Cases: r.Cases, States: r.Figures.States, Connections: r.Figures.Connections, Packets: r.Figures.Packets,
	}
	for _, bug := range r.Bugs() {
		f := bug[0]
		replayed, err := f.Replay(ctx, sim.Backend{})
		if err != nil {
			return fmt.Errorf("run what was found again: %w", err)
		}
		one := report.Finding{
			Clause: f.Clause, Law: f.Law, Text: f.Text, Cause: f.Cause, Where: f.Where(), Again: f.Again(r.Program),
			Want: f.Want, Got: f.Got, File: f.File, Replayed: replayed,
		}
		for _, other := range bug[1:] {
			one.Also = append(one.Also, report.Again{Clause: other.Clause, Command: other.Again(r.Program)})
		}
		found.Findings = append(found.Findings, one)
	}
	return report.Fuzz(w, found)
}

func newFuzzMergeCommand(s streams) *cobra.Command {
	var output, out string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Join the results of several shards",
		Long: `Reads the results (result-*.json) that "chainwalk fuzz --out" wrote into folders, and prints them as one. It keeps the smallest
failure of each clause, and joins only results of one commit.`,
		Args: someArgs("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFuzzOutput(output); err != nil {
				return err
			}
			results, err := readResults(args)
			if err != nil {
				return err
			}
			merged, err := fuzz.Merge(results)
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeFound(out, "merged.json", merged); err != nil {
					return err
				}
			}
			return tell(cmd.Context(), s, output, verbose, merged)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "how to print the result: text, json or html (a page for a browser)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, verboseFuzz)
	cmd.Flags().StringVar(&out, "out", "", "folder for the joined result and its scenarios")
	completeWords(cmd, "output", fuzzOutputs...)
	return cmd
}

// readResults reads the results in folders and below them.
func readResults(folders []string) ([]*fuzz.Result, error) {
	var out []*fuzz.Result
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), "result-") || filepath.Ext(path) != ".json" {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close() //nolint:errcheck // nothing was written
			r, err := fuzz.ReadResult(file)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			out = append(out, r)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("fuzz merge: %w", err)
		}
	}
	return out, nil
}

func newFuzzJudgeCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "judge PATH...",
		Short: "Judge stored scenarios by the specification",
		Long: `Runs scenario files, or those below folders, without their expectations. It judges all packets after every sync and within it by
the specification, like generated scenarios. Use it to judge stored scenarios again after the specification has changed.`,
		Args: someArgs("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := scenarios.Load(args...)
			if err != nil {
				return err
			}
			verdict, err := fuzz.Judge(cmd.Context(), loaded, trial.Options{})
			if err != nil {
				return err
			}
			if err := verdict.WriteText(s.out); err != nil {
				return err
			}
			if len(verdict.Violations) > 0 {
				return errNotHeld
			}
			return nil
		},
	}
}
