package packetsim

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// BenchmarkVerdict is first packets to the last of so many services, of five endpoints each, and to one service after the other.
// best-ns/op is the fastest of all the batches that were timed: on a machine that does other things too it says more than the mean.
func BenchmarkVerdict(b *testing.B) {
	for _, services := range []int{100, 1000, 10000, 50000} {
		h, _ := testNode{rules4: manyServices(services)}.build(b)
		in, chance := parse(b, lastService(services)), SeededChance(1)
		for range usualIndexPolicy.walks {
			_, err := h.Verdict(in, chance)
			require.NoError(b, err)
		}
		for _, to := range []struct {
			name   string
			stride int
		}{{"last", 0}, {"each", 7919}} {
			b.Run(fmt.Sprintf("services=%d/%s", services, to.name), func(b *testing.B) {
				benchVerdicts(b, h, services, to.stride)
			})
		}
	}
}

// benchVerdicts walks packets to services that are so far apart, beginning with the last.
func benchVerdicts(b *testing.B, h *Host, services, stride int) {
	const batch = 256
	in, chance := parse(b, lastService(services)), SeededChance(1)
	best, start := time.Duration(math.MaxInt64), time.Now()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		in.Dst = serviceAddr((services - 1 + n*stride) % services)
		if _, err := h.Verdict(in, chance); err != nil {
			b.Fatal(err)
		}
		if n%batch == batch-1 {
			now := time.Now()
			best, start = min(best, now.Sub(start)), now
		}
	}
	b.ReportMetric(float64(best.Nanoseconds())/batch, "best-ns/op")
}

// BenchmarkVerdictAfterCommit is the first packet after a commit that changed one rule of a chain of so many, which has no index any more.
func BenchmarkVerdictAfterCommit(b *testing.B) {
	for _, services := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			h, _ := testNode{rules4: manyServices(services)}.build(b)
			in, chance := parse(b, lastService(services)), SeededChance(1)
			for b.Loop() {
				b.StopTimer()
				restoreInto(b, fakeipt.First(h.Netfilter()), netfilter.IPv4, "*nat\n-R SERVICES 1 -d 10.1.1.1/32 -j MASQ\nCOMMIT\n", "--noflush")
				b.StartTimer()
				if _, err := h.Verdict(in, chance); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerdictWhileCommitting walks on two hosts of one kernel, while a third goroutine commits a change of one service after the
// other.
func BenchmarkVerdictWhileCommitting(b *testing.B) {
	const services = 10000
	h, _ := testNode{rules4: manyServices(services)}.build(b)
	other, err := NewHost(h.Config())
	require.NoError(b, err)
	var stop atomic.Bool
	var commits, walks atomic.Int64
	var beside sync.WaitGroup
	beside.Go(func() {
		for ; !stop.Load(); commits.Add(1) {
			chain := fmt.Sprintf("SVC-%d", commits.Load()%services)
			restoreInto(b, fakeipt.First(h.Netfilter()), netfilter.IPv4, "*nat\n:"+chain+" - [0:0]\n-A "+chain+" -j SEP-0-0\nCOMMIT\n", "--noflush")
		}
	})
	beside.Go(func() {
		for chance := SeededChance(2); !stop.Load(); walks.Add(1) {
			_, err := other.Verdict(parse(b, lastService(services)), chance)
			assert.NoError(b, err)
		}
	})
	in, chance := parse(b, lastService(services)), SeededChance(1)
	for b.Loop() {
		_, err := h.Verdict(in, chance)
		require.NoError(b, err)
		walks.Add(1)
	}
	stop.Store(true)
	beside.Wait()
	b.ReportMetric(float64(walks.Load())/b.Elapsed().Seconds(), "walks/s")
	b.ReportMetric(float64(commits.Load())/b.Elapsed().Seconds(), "commits/s")
}
