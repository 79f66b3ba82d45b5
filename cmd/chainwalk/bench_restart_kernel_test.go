//go:build linux

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// restartGoal is the time of a restart on fake tools, as a part of that on the real legacy ones.
const restartGoal = 1.0

// BenchmarkRestartBesideTheRealKernel measures the first sync of a proxier whose rules the kernel holds already, as after a restart: on the
// real legacy tools, on the fake ones as programs that keep a folder, and on the same within the process ("chainwalk proxy --fake"). A
// slow machine fails nothing: figures are for reading.
func BenchmarkRestartBesideTheRealKernel(b *testing.B) {
	kerneltest.Need(b, "iptables-legacy", "iptables-legacy-save", "iptables-legacy-restore")
	bin := toolPrograms(b)
	for _, services := range []int{1000, 5000, 10000} {
		b.Setenv("CHAINWALK_STATE", b.TempDir())
		store, err := toolstate.FromEnvironment()
		require.NoError(b, err)
		ns, err := namespace.New()
		require.NoError(b, err)
		names := iptables.ToolsOf(iptables.ProtocolIPv4, "")
		real := restarting{services, ns.Exec(), iptables.ToolsOf(iptables.ProtocolIPv4, "legacy")}
		fakes := [...]restarting{{services, store.Exec(), names}, {services, programsIn{exec.New(), bin, b.TempDir()}, names}}
		real.sync(b)
		var realTook []time.Duration
		var took [len(fakes)][]time.Duration
		for _, fake := range fakes {
			fake.sync(b)
		}
		for range restarts {
			realTook = append(realTook, real.sync(b))
			for i, fake := range fakes {
				took[i] = append(took[i], fake.sync(b))
			}
		}
		for i, about := range [...]string{"in the process", "as programs"} {
			reportRestart(b, fmt.Sprintf("%d-%s", services, strings.ReplaceAll(about, " ", "-")), realTook, took[i],
				fmt.Sprintf("restart over %5d services, fake tools %-14s", services, about))
		}
		require.NoError(b, ns.Close())
	}
}

// restarts are made of each.
const restarts = 5

// reportRestart prints medians and the spread of the ratios of neighbouring runs.
func reportRestart(b *testing.B, metric string, real, fake []time.Duration, about string) {
	var ratios []float64
	for i := range real {
		ratios = append(ratios, float64(fake[i])/float64(real[i]))
	}
	slices.Sort(ratios)
	median := func(all []time.Duration) time.Duration {
		return slices.Sorted(slices.Values(all))[len(all)/2].Round(time.Millisecond)
	}
	ratio := ratios[len(ratios)/2]
	held := "held"
	if ratio > restartGoal {
		held = "not held"
	}
	b.ReportMetric(ratio, metric+"-ratio")
	b.Logf("%s: real %v, fake %v: time ratio %.3f (%.3f to %.3f); goal %.2f: %s", about, median(real), median(fake), ratio, ratios[0],
		ratios[len(ratios)-1], restartGoal, held)
}

// toolPrograms is a folder with the fake tools as programs.
func toolPrograms(b *testing.B) string {
	bin := b.TempDir()
	binary := filepath.Join(bin, "chainwalk")
	output, err := osexec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(b, err, "%s", output)
	for _, tool := range []string{"iptables", "iptables-save", "iptables-restore"} {
		require.NoError(b, os.Symlink(binary, filepath.Join(bin, tool)))
	}
	return bin
}

// programsIn are the programs of a folder.
type programsIn struct {
	exec.Interface
	bin, state string
}

// Command makes a command of the folder's.
func (p programsIn) Command(name string, args ...string) exec.Cmd {
	return p.CommandContext(context.Background(), name, args...)
}

// CommandContext makes a command of the folder's.
func (p programsIn) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	cmd := p.Interface.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.SetEnv(append(os.Environ(), "CHAINWALK_STATE="+p.state))
	return cmd
}

// restarting is a node whose proxier is started again and again.
type restarting struct {
	services int
	tools    exec.Interface
	names    iptables.Tools
}

// sync is the time that the first sync of a new proxier takes.
func (r restarting) sync(b *testing.B) time.Duration {
	runner, err := iptables.New(r.tools, iptables.ProtocolIPv4, iptables.Options{
		Tools: map[iptables.Protocol]iptables.Tools{iptables.ProtocolIPv4: r.names}})
	require.NoError(b, err)
	p, err := proxier.New(proxier.Config{Family: v1.IPv4Protocol, NodeName: "node1", NodeIP: netip.MustParseAddr("192.168.0.1"),
		Rules: proxier.IPTables{Tools: runner}, Sysctls: &fakeSettings{values: map[string]int{}},
		LocalDetector: proxier.DetectLocalByCIDR(netip.MustParsePrefix("10.0.0.0/8")),
		MasqueradeBit: 14})
	require.NoError(b, err)
	for i := range r.services {
		service, slice := restartService(i)
		p.OnServiceAdd(service)
		p.OnEndpointSliceAdd(slice)
	}
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	start := time.Now()
	require.NoError(b, p.Sync())
	return time.Since(start)
}

// restartService is a service of five endpoints.
func restartService(i int) (*v1.Service, *discovery.EndpointSlice) {
	name, port, portName, ready := fmt.Sprintf("service-%05d", i), int32(8080), "http", true
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.ServiceSpec{ClusterIP: fmt.Sprintf("172.30.%d.%d", i>>8, i&255), Ports: []v1.ServicePort{{Name: portName, Port: 80}}},
	}
	slice := &discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: name + "-1", Labels: map[string]string{discovery.LabelServiceName: name}},
		AddressType: discovery.AddressTypeIPv4, Ports: []discovery.EndpointPort{{Name: &portName, Port: &port}},
	}
	for n := range 5 {
		n += i*5 + 1
		slice.Endpoints = append(slice.Endpoints, discovery.Endpoint{
			Addresses: []string{fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255)}, Conditions: discovery.EndpointConditions{Ready: &ready},
		})
	}
	return service, slice
}
