//go:build linux

package packetsim

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
)

// nftEachGoal is the time of a verdict for each of 10,000 services in turn, by the rules of kube-proxy's mode nftables.
const nftEachGoal = 1500 * time.Nanosecond

// BenchmarkNFTVerdictBesideTheRealKernel is what a verdict for each of so many services in turn takes, by the rules of kube-proxy's mode
// nftables, once all chains are compiled: the fastest of many batches, in processor time, and what it allocates. It needs no kernel, but
// belongs to the figures that are read together.
func BenchmarkNFTVerdictBesideTheRealKernel(b *testing.B) {
	needKernel(b)
	var least time.Duration
	for _, services := range []int{100, 1000, 10000, 50000} {
		h, _ := testNode{}.build(b)
		kubeProxy(services).into(b, h.Netfilter())
		node := &askedNode{h: h, chance: SeededChance(1), services: services}
		runtime.GC() // of what the rules were made of
		runtime.LockOSThread()
		node.ask(b, max(3*services, 100_000)) // the first figure is not that of a program that has just begun
		before := mallocs()
		each := node.best(b)
		allocations := (mallocs() - before) / (nftBatches * nftBatch)
		runtime.UnlockOSThread()
		if least == 0 {
			least = each
		}
		goal := ""
		if services == 10000 {
			goal = fmt.Sprintf("; goal %v and 1 allocation: %s", nftEachGoal, heldWord(each <= nftEachGoal && allocations <= 1))
		}
		b.ReportMetric(float64(each), fmt.Sprintf("%d-ns", services))
		b.Logf("Host.Verdict, rules of nftables: each of %5d services in turn %v, %.2f times that of 100 in turn, %d allocations%s",
			services, each, float64(each)/float64(least), allocations, goal)
	}
}

// The verdicts that are timed together, and how often that is done: a machine with other load leaves few of them alone.
const (
	nftBatch   = 250
	nftBatches = 4000
)

// best is the processor time of a verdict in the fastest batch.
func (n *askedNode) best(b *testing.B) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range nftBatches {
		start := threadTime()
		n.ask(b, nftBatch)
		best = min(best, threadTime()-start)
	}
	return best / nftBatch
}

// mallocs is how often memory was allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func heldWord(held bool) string {
	if held {
		return "held"
	}
	return "not held"
}
