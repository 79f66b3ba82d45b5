//go:build unix

package forall_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
)

var only4 = []netfilter.Family{netfilter.IPv4}

// prototype is what the prototype took, which this package replaces: seconds of one core, and megabytes afterwards.
var prototype = map[int][2]float64{100: {0.08, 12}, 1000: {1.2, 115}, 10000: {18, 1036}}

// BenchmarkOf works out the fates of all packets of a node of so many services. kept-MB is what they take afterwards, peak-MB what the
// program took from the system for it.
func BenchmarkOf(b *testing.B) {
	perLanguage(b, []int{100, 1000, 10000}, func(b *testing.B, s services) {
		h := s.host(b)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var f *forall.Fates
		start := processorTime(b)
		for b.Loop() {
			var err error
			f, err = forall.Of(h, forall.Options{Families: only4})
			require.NoError(b, err)
		}
		reportProcessorTime(b, start)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6, "kept-MB")
		b.ReportMetric(float64(int64(after.HeapSys)-int64(before.HeapSys))/1e6, "peak-MB")
		if !s.native {
			b.ReportMetric(prototype[s.count][0], "prototype-s")
			b.ReportMetric(prototype[s.count][1], "prototype-kept-MB")
		}
		b.ReportMetric(float64(f.Size().Nodes), "nodes")
	})
}

// perLanguage runs a benchmark with so many services in iptables and in nftables.
func perLanguage(b *testing.B, counts []int, run func(*testing.B, services)) {
	b.Helper()
	for _, native := range []bool{false, true} {
		for _, count := range counts {
			language := "iptables"
			if native {
				language = "nftables"
			}
			b.Run(fmt.Sprintf("%s/services=%d", language, count), func(b *testing.B) { run(b, services{count: count, native: native}) })
		}
	}
}

// processorTime is what the process has had of the processors, which depends less on what else the machine does.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportProcessorTime(b *testing.B, since time.Duration) {
	b.Helper()
	b.ReportMetric((processorTime(b)-since).Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkDiff compares the fates of two nodes one of whose endpoints has another port.
func BenchmarkDiff(b *testing.B) {
	perLanguage(b, []int{1000, 10000}, func(b *testing.B, s services) {
		f, err := forall.Of(s.host(b), forall.Options{Families: only4})
		require.NoError(b, err)
		s.port = 9090
		g, err := forall.Of(s.host(b), forall.Options{Families: only4, Against: f})
		require.NoError(b, err)
		for b.Loop() {
			if len(slices.Collect(f.Diff(g))) == 0 {
				b.Fatal("they are alike")
			}
		}
	})
}
