//go:build linux

package fakenft

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/namespace"
)

// besideGoal is the share of the real tool's time that the fake one may take, and oneGoal the time of a transaction of one service.
const (
	besideGoal = 0.25
	oneGoal    = time.Millisecond
)

// BenchmarkBesideTheRealKernel gives kube-proxy's first transaction and listings to the real nft and to the fake one in turn, and prints
// the ratios of wall and processor time. A slow machine fails nothing: figures are for reading.
func BenchmarkBesideTheRealKernel(b *testing.B) {
	kerneltest.Need(b, "nft")
	for _, size := range []struct{ services, runs int }{{1000, 7}, {5000, 3}, {10000, 3}} {
		n, runs := size.services, size.runs
		text := services(n)
		jobs := []struct {
			name, stdin string
			args        []string
		}{
			{"load", text, []string{"-f", "-"}}, {"list", "", []string{"list", "ruleset"}}, {"json", "", []string{"-j", "list", "ruleset"}},
		}
		wall, cpu := map[string][]float64{}, map[string][]float64{}
		var tools *Tools
		for range runs {
			ns, err := namespace.New()
			require.NoError(b, err)
			tools = New(Options{})
			for _, job := range jobs {
				var errors bytes.Buffer
				cmd := exec.Command("nft", job.args...)
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(job.stdin), io.Discard, &errors
				start := time.Now()
				require.NoError(b, ns.Do(cmd.Run), &errors)
				realWall, realCPU := time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
				start, used := time.Now(), processorTime(b)
				require.Zero(b, tools.Run(slices.Concat([]string{"nft"}, job.args), strings.NewReader(job.stdin), io.Discard, &errors), &errors)
				wall[job.name] = append(wall[job.name], float64(time.Since(start))/float64(realWall))
				cpu[job.name] = append(cpu[job.name], float64(processorTime(b)-used)/float64(realCPU))
			}
			require.NoError(b, ns.Close())
		}
		for _, job := range jobs {
			w, c := wall[job.name], cpu[job.name]
			slices.Sort(w)
			slices.Sort(c)
			b.ReportMetric(w[runs/2], fmt.Sprintf("%s-%d-ratio", job.name, n))
			b.Logf("%-4s of %5d services: time ratio %.3f (%.3f to %.3f), processor ratio %.3f (%.3f to %.3f), %d runs; goal %.2f: %s", job.name, n,
				w[runs/2], w[0], w[runs-1], c[runs/2], c[0], c[runs-1], runs, besideGoal, held(w[runs/2] <= besideGoal))
		}
		one := oneService(b, tools)
		b.Logf("a transaction of one service among %5d: %v; goal %v: %s", n, one, oneGoal, held(one <= oneGoal))
	}
}

// oneService is the median time of a transaction that adds a service.
func oneService(b *testing.B, tools *Tools) time.Duration {
	var all []time.Duration
	for i := range 200 {
		chain := fmt.Sprintf("service-NEW-%d", i)
		text := fmt.Sprintf("add chain ip kube-proxy %s\nflush chain ip kube-proxy %s\n"+
			"add rule ip kube-proxy %s meta l4proto tcp dnat to 10.0.0.1:80\n"+
			"add element ip kube-proxy service-ips { 10.0.0.%d . tcp . 80 : goto %s }\n", chain, chain, chain, i, chain)
		start := time.Now()
		var errors bytes.Buffer
		require.Zero(b, tools.Run([]string{"nft", "-f", "-"}, strings.NewReader(text), io.Discard, &errors), &errors)
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func held(is bool) string {
	if is {
		return "held"
	}
	return "not held"
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
