//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/manyservices"
	"github.com/chainwalk/chainwalk/internal/namespace"
)

// BenchmarkNFTProgramBesideTheRealKernel gives one line to the real nft and to the fake one as a program that keeps a folder, over the
// rules of so many services: the fake one reads all of its state, and writes it if the line changes something. There is no goal: the real
// kernel keeps its rules.
func BenchmarkNFTProgramBesideTheRealKernel(b *testing.B) {
	kerneltest.Need(b, "nft")
	program := filepath.Join(toolPrograms(b), "chainwalk")
	for _, services := range []int{1000, 10000} {
		b.Setenv("CHAINWALK_STATE", b.TempDir())
		ns, err := namespace.New()
		require.NoError(b, err)
		beside := nftBeside{b, ns, program}
		rules := manyservices.NFT(services)
		beside.run(rules, "nft", "-f", "-")
		beside.run(rules, program, "tool", "nft", "-f", "-")
		beside.compare("a line that adds an element", services, "add element ip kube-proxy cluster-ips { 10.0.%d.1 }\n", "nft", "-f", "-")
		beside.compare("list of one chain", services, "# %d\n", "nft", "list", "chain", "ip", "kube-proxy", "services")
		require.NoError(b, ns.Close())
	}
}

// nftBeside is the real nft in a network namespace, and the fake one as a program.
type nftBeside struct {
	b       *testing.B
	ns      *namespace.Namespace
	program string
}

// run runs a program, and says how long it took and how much of the processor's time.
func (n nftBeside) run(stdin string, args ...string) (took, used time.Duration) {
	var errors bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Environ(), strings.NewReader(stdin), io.Discard, &errors
	start := time.Now()
	require.NoError(n.b, n.ns.Do(cmd.Run), &errors)
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// compare runs a command line on both in turn, with the number of the run in its input, and prints medians and their spread.
func (n nftBeside) compare(about string, services int, input string, args ...string) {
	const runs = 5
	var wall, cpu, fakes []float64
	for i := range runs {
		line := fmt.Sprintf(input, i)
		realTook, realUsed := n.run(line, args...)
		took, used := n.run(line, slices.Concat([]string{n.program, "tool"}, args)...)
		wall, cpu = append(wall, float64(took)/float64(realTook)), append(cpu, float64(used)/float64(max(realUsed, time.Millisecond)))
		fakes = append(fakes, float64(took))
	}
	for _, all := range [][]float64{wall, cpu, fakes} {
		slices.Sort(all)
	}
	n.b.ReportMetric(wall[runs/2], fmt.Sprintf("%s-%d-ratio", strings.ReplaceAll(about, " ", "-"), services))
	n.b.Logf("%s over %5d services, as a program: %v, time ratio %.1f (%.1f to %.1f), processor ratio %.1f (%.1f to %.1f), %d runs",
		about, services, time.Duration(fakes[runs/2]).Round(time.Millisecond), wall[runs/2], wall[0], wall[runs-1],
		cpu[runs/2], cpu[0], cpu[runs-1], runs)
}
