// Command peer runs kube-proxy's proxier and this project's on fake kernels
// with the same objects and changes, and says what is different. It exits with
// 1 if a difference has no explanation, and with 2 if it could not compare.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/judge"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

func main() {
	debug.SetGCPercent(400) // a case leaves little behind and much garbage: a quarter of the time went to collecting it
	klog.SetLogger(logr.Discard())
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	cases, from, tries, real int
	seed                     uint64
	folder                   string
	mode                     cases.Mode
}

func execute(args []string, out, errOut io.Writer) int {
	var o options
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.IntVar(&o.cases, "cases", 1000, "how many cases to make")
	flags.IntVar(&o.from, "from", 0, "the number of the first case")
	flags.Uint64Var(&o.seed, "seed", 1, "of the cases")
	flags.IntVar(&o.tries, "shrink", 400, "how many smaller cases to try when one shows a difference")
	flags.StringVar(&o.folder, "testdata", "testdata", "the folder of the cases that are always run; empty: none are")
	flags.IntVar(&o.real, "real", 0, "how many of the cases, from the first on, to run on the real kernel too (mode nftables; root on Linux)")
	flags.Func("mode", "iptables or nftables", func(text string) (err error) { o.mode, err = cases.ModeNamed(text); return err })
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	report := judge.NewReport()
	if flags.NArg() > 0 {
		return o.runFiles(flags.Args(), report, out, errOut)
	}
	if o.folder != "" {
		if status := o.checkFiles(report, out, errOut); status != 0 {
			return status
		}
	}
	return o.search(report, out, errOut)
}

// runFiles runs cases from files and prints every difference.
func (o *options) runFiles(paths []string, report *judge.Report, out, errOut io.Writer) int {
	status := 0
	for _, path := range paths {
		c, err := cases.Read(path)
		var differences []*judge.Difference
		if err == nil {
			differences, err = judge.Run(c, report)
		}
		if err != nil {
			fmt.Fprintln(errOut, err)
			return 2
		}
		fmt.Fprintf(out, "%s: %d differences\n", path, len(differences))
		for _, d := range differences {
			fmt.Fprintf(out, "%s  explanation: %s\n", d, explanation(d))
		}
		if judge.Unexplained(differences) != nil {
			status = 1
		}
	}
	return status
}

func explanation(d *judge.Difference) string {
	if d.Explanation == "" {
		return "none"
	}
	return d.Explanation
}

// checkFiles runs the cases in the folder: that of each explanation must show its difference, those in agree none.
func (o *options) checkFiles(report *judge.Report, out, errOut io.Writer) int {
	expected := map[string]judge.Explanation{} // by path
	for _, e := range judge.Explanations(o.mode) {
		expected[filepath.Join(o.folder, e.Case)] = e
	}
	agreeing, err := filepath.Glob(filepath.Join(o.folder, string(o.mode), "agree", "*.yaml"))
	if err != nil {
		fmt.Fprintln(errOut, err)
		return 2
	}
	for _, path := range agreeing {
		expected[path] = judge.Explanation{}
	}
	for _, path := range slices.Sorted(maps.Keys(expected)) {
		e := expected[path]
		c, err := cases.ReadIn(o.mode, path)
		var differences []*judge.Difference
		if err == nil {
			differences, err = e.Show(c, report)
		}
		if err != nil {
			fmt.Fprintln(errOut, err)
			return 2
		}
		if e.Name != "" && !judge.Shown(e.Name, differences) {
			fmt.Fprintf(out, "%s: kube-proxy does no longer what the explanation %q says: take it away\n", path, e.Name)
			return 1
		}
		for _, d := range differences {
			if e.Allows(d.Explanation) {
				continue
			}
			if e.Name == "" || d.Explanation != e.Name {
				fmt.Fprintf(out, "%s shows another difference than it should:\n%s", path, d)
				return 1
			}
		}
	}
	return 0
}

// search makes cases until one shows a difference that nothing explains.
func (o *options) search(report *judge.Report, out, errOut io.Writer) int {
	start := time.Now()
	for number := o.from; number < o.from+o.cases; number++ {
		c := cases.GeneratedIn(o.mode, o.seed, uint64(number))
		c.Settings.Real = number < o.from+o.real
		differences, err := judge.Run(c, report)
		if err != nil {
			fmt.Fprintf(errOut, "case %d of seed %d: %v\n", number, o.seed, err)
			return 2
		}
		if d := judge.Unexplained(differences); d != nil {
			fmt.Fprintf(out, "case %d of seed %d has a difference that nothing explains:\n%s", number, o.seed, d)
			o.printSmallest(c, d, out)
			return 1
		}
		if status := o.handOver(c, number, report, out, errOut); status != 0 {
			return status
		}
	}
	printReport(o.mode, report, time.Since(start), out)
	return 0
}

// handOver stops each proxier somewhere in a case, and has the other one go on.
func (o *options) handOver(c *cases.Case, number int, report *judge.Report, out, errOut io.Writer) int {
	after := rand.New(rand.NewPCG(o.seed, uint64(number))).IntN(len(c.Steps) + 1)
	for _, back := range []bool{false, true} {
		differences, err := judge.HandOver(c, after, back, report)
		if err != nil {
			fmt.Fprintf(errOut, "case %d of seed %d, handed over after step %d: %v\n", number, o.seed, after, err)
			return 2
		}
		if len(differences) == 0 {
			continue
		}
		who := "ours after kube-proxy"
		if back {
			who = "kube-proxy after ours"
		}
		fmt.Fprintf(out, "case %d of seed %d, handed over after step %d: %s (ours:) does not do what it does on an empty kernel (kube-proxy:)\n",
			number, o.seed, after, who)
		small := cases.Shrink(c, o.tries, func(c *cases.Case) bool {
			differences, err := judge.HandOver(c, min(after, len(c.Steps)), back, judge.NewReport())
			return err == nil && len(differences) > 0
		})
		if text, err := small.Marshal(); err == nil {
			fmt.Fprintf(out, "\nThe smallest case found:\n%s\n", text)
		}
		for _, d := range differences {
			fmt.Fprint(out, d)
		}
		return 1
	}
	return 0
}

// printSmallest shrinks a case and prints it with its differences.
func (o *options) printSmallest(c *cases.Case, first *judge.Difference, out io.Writer) {
	run := func(c *cases.Case) []*judge.Difference {
		if c.Settings.Mode != o.mode {
			return nil
		}
		differences, err := judge.Run(c, judge.NewReport())
		if d := judge.Unexplained(differences); err != nil || d == nil || !d.Like(first) {
			return nil
		}
		return differences
	}
	small := cases.Shrink(c, o.tries, func(c *cases.Case) bool { return run(c) != nil })
	text, err := small.Marshal()
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(out, "\nThe smallest case found (run it again with: peer FILE):\n%s\n", text)
	for _, d := range run(small) {
		if d.Explanation == "" {
			fmt.Fprint(out, d)
		}
	}
}

// printReport prints what was compared in a mode.
func printReport(mode cases.Mode, r *judge.Report, took time.Duration, out io.Writer) {
	fmt.Fprintf(out, "kube-proxy is %s, in mode %s\n", peers.Version(), cmp.Or(mode, "iptables"))
	total := 0
	for _, n := range r.Explained {
		total += n
	}
	fmt.Fprintf(out, "cases %d, states compared %d (each family after each of %d syncs), in %s\n",
		r.Cases, 2*r.Syncs, r.Syncs, took.Round(time.Second))
	fmt.Fprintf(out, "of these after partial syncs %d, after failed ones %d, in large clusters %d\n", r.Partial, r.Failed, r.Large)
	fmt.Fprintf(out, "rules %d, packets %d, metrics %d, health checks %d, UDP connections %d, %d of them deleted by ours\n",
		r.Rules, r.Packets, r.Metrics, r.Health, r.Flows, r.Deleted)
	fmt.Fprintf(out, "one proxier started where the other was stopped %d times, %d stale chains of ours had to go: no rule or packet differs "+
		"from a start on an empty kernel\n", r.HandOvers, r.Stale)
	fmt.Fprintf(out, "differences %d, all of them explained, each with a case that shows it:\n", total)
	for _, e := range judge.Explanations(mode) {
		if n := r.Explained[e.Name]; n > 0 {
			fmt.Fprintf(out, "  %d %s: %s\n    shown by proxier/upstream/testdata/%s\n", n, e.Name, e.Why, e.Case)
		}
	}
	fmt.Fprintln(out, "besides these, as often as chance has it in each run:")
	for _, e := range judge.Explanations(mode) {
		if e.Chance {
			fmt.Fprintf(out, "  %s: %s\n    shown by proxier/upstream/testdata/%s\n", e.Name, e.Why, e.Case)
		}
	}
}
