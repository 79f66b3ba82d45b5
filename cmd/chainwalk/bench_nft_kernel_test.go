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
	"github.com/chainwalk/chainwalk/internal/namespace"
)

// BenchmarkNFTProgramBesideTheRealKernel gives one line to the real nft and to the fake one as a program that keeps a folder, over the rules
// of so many services: the fake one reads all of its state, and writes it if the line changes something. There is no goal: the real kernel
// keeps its rules.
func BenchmarkNFTProgramBesideTheRealKernel(b *testing.B) {
	kerneltest.Need(b, "nft")
	program := filepath.Join(toolPrograms(b), "chainwalk")
	const runs = 5
	for _, services := range []int{1000, 10000} {
		b.Setenv("CHAINWALK_STATE", b.TempDir())
		ns, err := namespace.New()
		require.NoError(b, err)
		run := func(stdin string, args ...string) (took, used time.Duration) {
			var errors bytes.Buffer
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Environ(), strings.NewReader(stdin), io.Discard, &errors
			start := time.Now()
			require.NoError(b, ns.Do(cmd.Run), &errors)
			return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		rules := manyNFTServices(services)
		run(rules, "nft", "-f", "-")
		run(rules, program, "tool", "nft", "-f", "-")
		for _, job := range []struct {
			name, line string
			args       []string
		}{
			{"a line that adds an element", "add element ip kube-proxy cluster-ips { 10.0.%d.1 }\n", []string{"nft", "-f", "-"}},
			{"list of one chain", "", []string{"nft", "list", "chain", "ip", "kube-proxy", "services"}},
		} {
			var wall, cpu, fakes []float64
			for i := range runs {
				line := job.line
				if line != "" {
					line = fmt.Sprintf(line, i)
				}
				realTook, realUsed := run(line, job.args...)
				took, used := run(line, slices.Concat([]string{program, "tool"}, job.args)...)
				wall, cpu = append(wall, float64(took)/float64(realTook)), append(cpu, float64(used)/float64(max(realUsed, time.Millisecond)))
				fakes = append(fakes, float64(took))
			}
			slices.Sort(wall)
			slices.Sort(cpu)
			slices.Sort(fakes)
			b.ReportMetric(wall[runs/2], fmt.Sprintf("%s-%d-ratio", strings.ReplaceAll(job.name, " ", "-"), services))
			b.Logf("%s over %5d services, as a program: %v, time ratio %.1f (%.1f to %.1f), processor ratio %.1f (%.1f to %.1f), %d runs", job.name,
				services, time.Duration(fakes[runs/2]).Round(time.Millisecond), wall[runs/2], wall[0], wall[runs-1], cpu[runs/2], cpu[0], cpu[runs-1], runs)
		}
		require.NoError(b, ns.Close())
	}
}

// manyNFTServices is a table with the chains, rules and elements of so many services of five endpoints each.
func manyNFTServices(n int) string {
	var b strings.Builder
	b.WriteString(`add table ip kube-proxy
add chain ip kube-proxy services { type nat hook prerouting priority -100 ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; }
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
`)
	for i := range n {
		ip, chain := fmt.Sprintf("172.30.%d.%d", i>>8, i&255), fmt.Sprintf("service-%08X-ns/service-%d/tcp/http", i, i)
		fmt.Fprintf(&b, "add chain ip kube-proxy %s\nadd element ip kube-proxy cluster-ips { %s }\n", chain, ip)
		fmt.Fprintf(&b, "add element ip kube-proxy service-ips { %s . tcp . 80 : goto %s }\n", ip, chain)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s meta l4proto tcp dnat ip addr . port to numgen random mod 5 map { ", chain)
		for e := range 5 {
			fmt.Fprintf(&b, "%d : 10.%d.%d.%d . 8080 , ", e, 244+e, i>>8, i&255)
		}
		b.WriteString("}\n")
	}
	return strings.ReplaceAll(b.String(), ", }", "}")
}
