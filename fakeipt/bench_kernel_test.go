//go:build linux

package fakeipt

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cost is what one run of a tool took.
type cost struct {
	wall, cpu time.Duration
}

// realCost runs a real legacy tool in the namespace, with a file as its input or output.
func (m *realMachine) realCost(b *testing.B, stdin io.Reader, stdout io.Writer, argv ...string) cost {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = m.ns.Environment()
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	start := time.Now()
	require.NoError(b, m.ns.Do(cmd.Run), stderr.String())
	return cost{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// fakeCost runs a tool of the fake kernel. The processor time includes that of the garbage collector.
func fakeCost(b *testing.B, k *Kernel, stdin []byte, stdout io.Writer, argv ...string) cost {
	var stderr bytes.Buffer
	start, cpu := time.Now(), cpuTime(b)
	require.Zero(b, k.Run(argv, bytes.NewReader(stdin), stdout, &stderr), stderr.String())
	return cost{time.Since(start), cpuTime(b) - cpu}
}

// cpuTime is the processor time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// duel is the costs of the same work on the real tools and on the fake ones, run in turn.
type duel struct {
	about      string
	goal       float64
	real, fake []cost
}

// report prints medians, and the spread of the ratios of neighbouring runs.
func (d *duel) report(b *testing.B) {
	ratio := func(of func(cost) time.Duration) []float64 {
		var all []float64
		for i := range d.real {
			all = append(all, float64(of(d.fake[i]))/float64(of(d.real[i])))
		}
		slices.Sort(all)
		return all
	}
	median := func(costs []cost) time.Duration {
		sorted := slices.Clone(costs)
		slices.SortFunc(sorted, func(a, b cost) int { return int(a.wall - b.wall) })
		return sorted[len(sorted)/2].wall.Round(time.Millisecond / 10)
	}
	wall := ratio(func(c cost) time.Duration { return c.wall })
	cpu := ratio(func(c cost) time.Duration { return c.cpu })
	n := len(wall)
	b.ReportMetric(wall[n/2], d.about+"-ratio")
	held := "held"
	if wall[n/2] > d.goal {
		held = "not held"
	}
	b.Logf("%-28s real %v, fake %v: time ratio %.3f (%.3f to %.3f), processor ratio %.3f (%.3f to %.3f), %d runs; goal %.2f: %s",
		d.about, median(d.real), median(d.fake), wall[n/2], wall[0], wall[n-1], cpu[n/2], cpu[0], cpu[n-1], n, d.goal, held)
}

// BenchmarkBesideTheRealKernel gives kube-proxy's rules for 10,000 services with 5 endpoints to the real legacy tools and
// to the fake ones in turn, and prints the ratios. small-restore is --noflush with 10 rules. A slow machine fails
// nothing: figures are for reading.
func BenchmarkBesideTheRealKernel(b *testing.B) {
	needKernel(b)
	const runs = 7
	input := serviceRules(10000, 5)
	file := filepath.Join(b.TempDir(), "input")
	require.NoError(b, os.WriteFile(file, input, 0o600))
	b.Logf("%d bytes of input, %d rules", len(input), strings.Count(string(input), "\n-A "))
	b.Logf("memory: %.0f bytes a rule", bytesPerRule(b, input))
	host := newRealMachine(b)
	restore := duel{about: "restore", goal: 0.15}
	save := duel{about: "save", goal: 0.25}
	small := duel{about: "small-restore", goal: 0.25}
	change := filepath.Join(b.TempDir(), "change")
	require.NoError(b, os.WriteFile(change, smallRestore(), 0o600))
	for range runs {
		host.reset(b)
		kernel := New(Options{})
		restore.real = append(restore.real, host.realCost(b, nil, io.Discard, "iptables-legacy-restore", file))
		restore.fake = append(restore.fake, fakeCost(b, kernel, input, io.Discard, "iptables-restore"))
		var realText, fakeText bytes.Buffer
		save.real = append(save.real, host.realCost(b, nil, &realText, "iptables-legacy-save"))
		save.fake = append(save.fake, fakeCost(b, kernel, nil, &fakeText, "iptables-save"))
		require.Equal(b, withoutDates(realText.String()), withoutDates(fakeText.String()))
		small.real = append(small.real, host.realCost(b, nil, io.Discard, "iptables-legacy-restore", "--noflush", change))
		small.fake = append(small.fake, fakeCost(b, kernel, smallRestore(), io.Discard, "iptables-restore", "--noflush"))
	}
	restore.report(b)
	save.report(b)
	small.report(b)
	reportLinear(b)
}

// reportLinear prints the time for a rule at growing numbers of rules, and how many times that of the first it is.
func reportLinear(b *testing.B) {
	var first cost
	for _, services := range benchServices {
		input, rules := serviceRules(services, 5), services*rulesPerService
		best := cost{math.MaxInt64, math.MaxInt64}
		for range max(3, 500_000/rules) {
			runtime.GC()
			c := fakeCost(b, New(Options{}), input, io.Discard, "iptables-restore")
			best = cost{min(best.wall, c.wall), min(best.cpu, c.cpu)}
		}
		best = cost{best.wall / time.Duration(rules), best.cpu / time.Duration(rules)}
		if first.wall == 0 {
			first = best
		}
		b.Logf("restore of %7d rules: %4d ns a rule (%.2f times the first), %4d ns of processor time (%.2f times)", rules,
			best.wall, float64(best.wall)/float64(first.wall), best.cpu, float64(best.cpu)/float64(first.cpu))
	}
}

// withoutDates leaves the comments with a date out.
func withoutDates(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
