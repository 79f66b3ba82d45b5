package forall_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

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
	for _, count := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", count), func(b *testing.B) {
			h := (&services{count: count}).host(b)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var f *forall.Fates
			for b.Loop() {
				var err error
				f, err = forall.Of(h, forall.Options{Families: only4})
				require.NoError(b, err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6, "kept-MB")
			b.ReportMetric(float64(int64(after.HeapSys)-int64(before.HeapSys))/1e6, "peak-MB")
			b.ReportMetric(prototype[count][0], "prototype-s")
			b.ReportMetric(prototype[count][1], "prototype-kept-MB")
			b.ReportMetric(float64(f.Size().Nodes), "nodes")
		})
	}
}

// BenchmarkDiff compares the fates of two nodes one of whose endpoints has another port.
func BenchmarkDiff(b *testing.B) {
	for _, count := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", count), func(b *testing.B) {
			f, err := forall.Of((&services{count: count}).host(b), forall.Options{Families: only4})
			require.NoError(b, err)
			g, err := forall.Of((&services{count: count, port: 9090}).host(b), forall.Options{Families: only4, Beside: f})
			require.NoError(b, err)
			for b.Loop() {
				if len(slices.Collect(f.Diff(g))) == 0 {
					b.Fatal("they are alike")
				}
			}
		})
	}
}
