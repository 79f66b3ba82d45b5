package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/kindtest/onkernel/netns"
	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

type runOptions struct {
	backend        string
	mode           string
	match          string
	diff           string
	list           bool
	watch          bool
	failFast       bool
	parallel       int
	timeout        time.Duration
	output         string
	ways           string
	quiet, verbose bool
	progress       string
	kind           kindOptions
	ignored        ignored
	clock          clock.WithDelayedExecution
}

// progresses are the words of --progress.
var progresses = []string{"auto", "always", "never"}

func newRunCommand(s streams) *cobra.Command {
	o := runOptions{clock: clock.RealClock{}}
	cmd := &cobra.Command{
		Use:   "run PATH...",
		Short: "Run scenario files or folders",
		Long: `Runs scenarios and prints failures in order, each as soon as it can. At the end it prints a line for each folder whose
scenarios passed, the way of one packet to its endpoint and back, and the failed files, grouped by the rule that decided. With -v it
prints a line for each scenario and check. A failure shows the packet, its way, the rule that decided, what was expected and what the
proxies logged. The first failure of each kind is shown in full, and once for both variants of the tools if they agree.

Folders are searched for *.yaml and *.yml files; files of Kubernetes objects are skipped, since scenarios include them. - is standard
input. A file that cannot be read is a failure, and the others still run. Likely mistakes in objects are printed as warnings, as by
"chainwalk check".

With --mode, files that name no mode of kube-proxy run in this one, or in both. In mode nftables, checks of rules of mode iptables (rules,
drop, rule, through, points within a sync) are skipped and counted; -v names them.

With --diff BUILD1 BUILD2, two builds of chainwalk run the scenarios, and the expectations do not count. It lists the packets whose
endpoint, probability or source address differs. The exit status is 0 if there is none.

With --diff BEFORE AFTER, two folders or files of objects, no scenario runs. On the fake kernel, it sends each kind of packet to each
service, from pods, nodes and outside, with the objects before and after. It lists the packets whose fate differs (-o text, json or
markdown). A folder may also have a KubeProxyConfiguration, NodeSnapshots, and rules that all nodes have, as iptables-save prints them
(*.rules, rules.v4, rules.v6).

Exit status: 0 all passed, 1 a scenario failed or the run was interrupted, 2 a file could not be read, or bad usage.`,
		Example: `  chainwalk run scenarios/testdata/cases
  chainwalk run hairpin.yaml --ways all
  chainwalk run scenarios/testdata/cases --run 'node-port|hairpin' --watch
  chainwalk run scenarios/testdata/cases -o junit > report.xml
  chainwalk run --diff ./before ./after scenarios/testdata/cases
  chainwalk run --diff main/objects branch/objects -o markdown`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("diff") && isObjects(o.diff):
				return diffObjects(cmd.Context(), s, args, o)
			case cmd.Flags().Changed("diff"):
				return diffRuns(cmd.Context(), s, args, o)
			}
			return runScenarios(cmd.Context(), s, args, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.backend, "on", scenarios.BackendSim,
		"the backend to run on: sim, netns for this machine's kernel (Linux, root), or kind for a kind cluster (Docker)")
	flags.StringVar(&o.mode, "mode", "",
		"the mode of kube-proxy: iptables, nftables or both, for files that name none; "+
			"a file that names one runs in that (default: what the file names, or else iptables)")
	flags.StringVar(&o.match, "run", "", "run only scenarios with this regular expression in their name or the path of their file")
	flags.StringVar(&o.diff, "diff", "",
		"BUILD1, followed by BUILD2 and the paths: list the packets that change between two builds; or BEFORE and AFTER: between objects")
	flags.BoolVar(&o.list, "list", false, "list the scenarios that would run, and run none")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop at the first scenario that fails")
	flags.IntVar(&o.parallel, "parallel", 0, "how many scenarios run at once, on sim and netns; 0: one for each core")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long one scenario may take, such as 30s; 0: no limit")
	flags.BoolVar(&o.watch, "watch", false, "run again whenever a file changes, until interrupted")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the results: text, json, junit or html (a page for a browser)")
	flags.StringVar(&o.ways, "ways", "one",
		"which packets to show the way of: none (in json those of failures), failed, "+
			"one (those of failures and one of a packet that is answered) or all")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print failures and totals only")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print every scenario and check, and each failure in full")
	flags.StringVar(&o.progress, "progress", "auto",
		"show on standard error what is running: auto (on a terminal), always (as --progress alone) or never, behind a \"=\"")
	flags.Lookup("progress").NoOptDefVal = "always"
	o.ignored.addFlag(flags)
	o.kind.addFlags(flags)
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	completeWords(cmd, "on", scenarios.BackendSim, scenarios.BackendNetns, scenarios.BackendKind)
	completeWords(cmd, "mode", string(scenarios.ModeIPTables), string(scenarios.ModeNFTables), "both")
	completeWords(cmd, "output", "text", "json", "junit", "html", "markdown")
	completeWords(cmd, "ways", "none", "failed", "one", "all")
	completeWords(cmd, "progress", progresses...)
	return cmd
}

// somePaths wants a file or a folder.
func somePaths(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("no PATH is given: name scenario files, folders of them, or - for standard input")
	}
	return nil
}

// runScenarios runs what the paths hold, once or as often as it changes.
func runScenarios(ctx context.Context, s streams, paths []string, o runOptions) (err error) {
	if err := o.check(paths); err != nil {
		return err
	}
	if o.list {
		return listScenarios(s, paths, o)
	}
	if o.watch {
		return watchScenarios(ctx, s, paths, o)
	}
	files, err := o.load(s, paths)
	if err != nil {
		return err
	}
	backend, closeBackend, err := startBackend(ctx, s, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBackend()) }()
	return runFiles(ctx, s, backend, files, o)
}

// check refuses options that cannot be, before anything is read or started.
func (o *runOptions) check(paths []string) error {
	if _, err := o.reporter(streams{}); err != nil {
		return err
	}
	if _, err := scenarios.ParseModes(o.mode); err != nil {
		return fmt.Errorf("--mode: %w", err)
	}
	if _, err := regexp.Compile(o.match); err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	switch o.backend {
	case scenarios.BackendSim, scenarios.BackendNetns, scenarios.BackendKind:
	default:
		return fmt.Errorf("--on %s: this build has the backends sim, netns and kind", o.backend)
	}
	switch {
	case o.parallel < 0:
		return fmt.Errorf("--parallel %d: want at least 1, or 0 for one for each core", o.parallel)
	case o.parallel > 1 && o.backend == scenarios.BackendKind:
		return fmt.Errorf("--parallel %d: on kind scenarios run one after the other (sim and netns run several at once)", o.parallel)
	case o.mode == "both" && o.backend == scenarios.BackendKind:
		return errors.New("--mode both: on kind the proxies of a cluster have one mode (want iptables or nftables)")
	case o.timeout < 0:
		return fmt.Errorf("--timeout %s: want a time such as 30s", o.timeout)
	case !slices.Contains(progresses, o.progress):
		return fmt.Errorf("--progress %s: want auto, always or never", o.progress)
	}
	for _, path := range paths {
		if path == "-" && o.watch {
			return errors.New("--watch: standard input cannot change (give a file)")
		}
		if _, err := os.Stat(path); err != nil && slices.Contains(progresses, path) {
			return fmt.Errorf("%s: there is no such file (if it is a word of --progress, write --progress=%s)", path, path)
		}
	}
	return nil
}

// load reads the scenarios that are chosen, in the order in which they run.
func (o *runOptions) load(s streams, paths []string) ([]scenarios.File, error) {
	loader := scenarios.Loader{Stdin: s.in, Ignored: o.ignored.ignore(), Controller: controller.New}
	all, err := loader.Load(paths...)
	if err != nil {
		return nil, err
	}
	o.ignored.warn(s)
	match := regexp.MustCompile(o.match)
	var files []scenarios.File
	for _, f := range all {
		if match.MatchString(f.Path) || f.Scenario != nil && match.MatchString(f.Scenario.Name) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("--run %s: is in the name or path of no scenario (--list prints them)", o.match)
	}
	if o.backend == scenarios.BackendKind {
		files = kindOrder(files)
	}
	return files, nil
}

// kindOrder puts files in the order of kind.Order, those that could not be read before all others.
func kindOrder(files []scenarios.File) []scenarios.File {
	var out []scenarios.File
	var all []*scenarios.Scenario
	of := map[*scenarios.Scenario]scenarios.File{}
	for _, f := range files {
		if f.Scenario == nil {
			out = append(out, f)
			continue
		}
		all = append(all, f.Scenario)
		of[f.Scenario] = f
	}
	for _, scenario := range kind.Order(all) {
		out = append(out, of[scenario])
	}
	return out
}

// runFiles runs files and reports what comes of them.
func runFiles(ctx context.Context, s streams, backend scenarios.Backend, files []scenarios.File, o runOptions) error {
	report, err := o.reporter(s)
	if err != nil {
		return err
	}
	warnOfMistakes(s, files)
	modes, err := scenarios.ParseModes(o.mode)
	if err != nil {
		return fmt.Errorf("--mode: %w", err)
	}
	progress := newProgressLine(s.errOut, len(files), o)
	var failed []error
	suite := scenarios.Suite{
		Backend: backend, Clock: o.clock, Modes: modes, Parallel: o.workers(), Timeout: o.timeout, FailFast: o.failFast,
		Begin: progress.begin,
		Done: func(r *scenarios.Result) {
			progress.clear()
			failed = append(failed, report.add(r))
			progress.done()
		},
	}
	results := suite.Run(ctx, files)
	progress.clear()
	if err := errors.Join(append(failed, report.end(results))...); err != nil {
		return err
	}
	if ctx.Err() != nil {
		fmt.Fprintf(s.errOut, "chainwalk: interrupted: %d of %d scenarios were run\n", len(results), len(files))
	}
	return verdict(files, results)
}

// workers are how many scenarios run at once.
func (o *runOptions) workers() int {
	switch {
	case o.backend == scenarios.BackendKind:
		return 1 // they share a cluster
	case o.parallel == 0:
		return runtime.GOMAXPROCS(0)
	}
	return o.parallel
}

// verdict is what the exit status follows from. A run of fewer files than were wanted did not hold: it failed early, or was interrupted.
func verdict(files []scenarios.File, results []*scenarios.Result) error {
	var unread []string
	held := len(results) == len(files)
	for _, r := range results {
		held = held && !r.Failed()
		if r.Unread {
			unread = append(unread, r.Checks[0].Wrong)
		}
	}
	switch {
	case len(unread) > 0:
		return fmt.Errorf("%d of %d files could not be read:\n%s", len(unread), len(files), strings.Join(unread, "\n"))
	case !held:
		return errNotHeld
	}
	return nil
}

// startBackend makes what a backend runs on. Closing takes it away.
func startBackend(ctx context.Context, s streams, o runOptions) (b scenarios.Backend, closeBackend func() error, err error) {
	nothing := func() error { return nil }
	switch o.backend {
	case scenarios.BackendNetns:
		if err := netns.Usable(); err != nil {
			return nil, nil, fmt.Errorf("--on netns: %w", err)
		}
		return netns.Backend{}, nothing, nil
	case scenarios.BackendKind:
		o.kind.proxy.Mode = cmp.Or(o.mode, string(scenarios.ModeIPTables))
		return o.kind.startKind(ctx, s)
	}
	return sim.Backend{}, nothing, nil
}
