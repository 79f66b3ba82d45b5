//go:build linux

package packetsim

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The SYNs of a measurement, each of which is a connection's first packet, and how often it is made.
const (
	synsOfRun = 4000
	synRuns   = 5
)

// BenchmarkVerdictBesideTheRealKernel prints what a SYN to the first and to the last of so many services costs the real kernel and
// Host.Verdict.
//
// In a network namespace of its own, whose only way out is a wire to nobody, a raw socket sends SYNs of different source ports: each is
// a connection's first packet, goes through the rules in OUTPUT, is translated and thrown away at the wire's other end,
// all within the system call. The cost is processor time of the sending thread, so that what else the machine does counts little. The
// kernel's figure is the difference to the same SYNs in the same namespace before it had any rule or connection tracking: it holds
// conntrack, NAT and the rules, not the system call, the routing and the wire. Host.Verdict's holds routing too. Of the runs the fastest
// counts. A slow machine fails nothing: figures are for reading.
func BenchmarkVerdictBesideTheRealKernel(b *testing.B) {
	needKernel(b, "conntrack", "iptables-legacy-restore")
	lab := newSynLab(b)
	bare := lab.bareTime()
	b.Logf("a SYN without rules and conntrack: %v", bare)
	for _, services := range []int{100, 1000, 10000} {
		rules := strings.Replace(manyServices(services), "COMMIT\n", "-A OUTPUT -j SERVICES\nCOMMIT\n", 1)
		lab.restore(rules)
		h, _ := testNode{rules4: rules}.build(b)
		for _, to := range []struct {
			name    string
			service int
		}{{"first", 0}, {"last", services - 1}} {
			real := max(lab.rulesTime(to.service)-bare, 1)
			fake := verdictTime(b, h, to.service)
			ratio := float64(fake) / float64(real)
			b.Logf("%5d services, %-5s: real kernel %6v, Host.Verdict %6v: ratio %.3f", services, to.name, real, fake, ratio)
			b.ReportMetric(ratio, fmt.Sprintf("%d-%s-ratio", services, to.name))
		}
	}
}

// eachGoal is the time of a verdict for each of 10,000 services in turn, in times that for a single service.
const eachGoal = 1.5

// BenchmarkEachVerdictBesideTheRealKernel compares verdicts for each of 10,000 services in turn with those for one of 1, once the chains of
// nearly all endpoints are compiled. It prints beside it what the first verdict for each service costs, which compiles those that
// it meets. It needs no kernel, but belongs to the ratios that are read together.
func BenchmarkEachVerdictBesideTheRealKernel(b *testing.B) {
	needKernel(b)
	const services = 10000
	rules := func(n int) string {
		return strings.Replace(manyServices(n), "COMMIT\n", "-A OUTPUT -j SERVICES\nCOMMIT\n", 1)
	}
	nodeOf := func(services int) *askedNode {
		h, _ := testNode{rules4: rules(services)}.build(b)
		return &askedNode{h: h, chance: SeededChance(1), services: services}
	}
	many, one := nodeOf(services), nodeOf(1)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	many.ask(b, int(usualIndexPolicy.walks)) // from then on there is an index
	memory := heapInUse()
	start := threadTime()
	many.ask(b, services)
	first := (threadTime() - start) / services
	many.ask(b, turnsForAll*services)
	memory = (heapInUse() - memory) / services
	one.ask(b, turnsForAll)
	each, alone := fastest(func() {}, func() { many.ask(b, synsOfRun) }), fastest(func() {}, func() { one.ask(b, synsOfRun) })
	ratio := float64(each) / float64(alone)
	b.ReportMetric(ratio, "each-ratio")
	b.ReportMetric(float64(first)/float64(alone), "first-ratio")
	b.ReportMetric(float64(memory), "B/service")
	b.Logf("Host.Verdict: each of %d services in turn %v (the first time %v, then %d bytes), one service %v: ratio %.2f; goal %.2f: %s",
		services, each, first, memory, alone, ratio, eachGoal, heldWord(ratio <= eachGoal))
}

// heapInUse is the bytes that live on.
func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// turnsForAll is how often each service is asked for until nearly all of its endpoints were chosen.
const turnsForAll = 20

// askedNode is a host that is asked for one of its services after the other.
type askedNode struct {
	h        *Host
	chance   Chance
	services int
	asked    int
}

// ask has verdicts of so many SYNs.
func (n *askedNode) ask(b *testing.B, syns int) {
	const stride = 7919 // so far apart are services that are asked for one after the other
	in := parse(b, "tcp 192.168.0.3:1000 > 10.0.0.1:80 local")
	for range syns {
		in.SrcPort, in.Dst = synPort(n.asked%synsOfRun), serviceAddr(n.asked*stride%n.services)
		n.asked++
		if _, err := n.h.Verdict(in, n.chance); err != nil {
			b.Fatal(err)
		}
	}
}

// verdictTime is the processor time of a Verdict of one of the SYNs.
func verdictTime(b *testing.B, h *Host, service int) time.Duration {
	in, chance := parse(b, "tcp 192.168.0.3:1000 > 10.0.0.1:80 local"), SeededChance(1)
	in.Dst = serviceAddr(service)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return fastest(func() {}, func() {
		for i := range synsOfRun {
			in.SrcPort = synPort(i)
			if _, err := h.Verdict(in, chance); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// fastest is the processor time of this thread for one of the SYNs, in the best of several runs.
func fastest(prepare, run func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range synRuns {
		prepare()
		start := threadTime()
		run()
		best = min(best, threadTime()-start)
	}
	return best / synsOfRun
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

func synPort(i int) uint16 { return uint16(20000 + i) }

// synLab is a network namespace to send SYNs in.
type synLab struct {
	b  *testing.B
	ns *kerneltest.Namespace
}

func newSynLab(b *testing.B) *synLab {
	lab := &synLab{b, kerneltest.New(b)}
	for _, command := range []string{
		"link set lo up", "link add eth0 type veth peer name nowhere", "link set nowhere up", "link set eth0 up",
		"addr add 192.168.0.3/24 dev eth0", "route add default via 192.168.0.1",
		"neigh replace 192.168.0.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent",
	} {
		lab.ns.Must("ip " + command)
	}
	return lab
}

func (lab *synLab) restore(rules string) { lab.ns.Feed(rules, "iptables-legacy-restore") }

// bareTime is the processor time of sending one of the SYNs while there are neither rules nor connections.
func (lab *synLab) bareTime() time.Duration { return lab.sendTime(0, func() {}) }

// rulesTime is that time to a service of the rules. The SYNs of the last run must have made connections to endpoints; a listing may miss
// one of so many.
func (lab *synLab) rulesTime(service int) time.Duration {
	took := lab.sendTime(service, func() { lab.ns.Must("conntrack -F") })
	connections := strings.Count(lab.ns.Must("conntrack -L --dst-nat"), " src=10.244.0.")
	require.InDelta(lab.b, synsOfRun, connections, synsOfRun/100)
	return took
}

func (lab *synLab) sendTime(service int, prepare func()) (took time.Duration) {
	dst := serviceAddr(service)
	packet := wireFormat(inet.Packet{Proto: inet.TCP, Src: netip.MustParseAddr("192.168.0.3"), Dst: dst, DstPort: 80, TCPFlags: inet.SYN}, 0)
	lab.ns.Do(func() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)
		require.NoError(lab.b, err)
		defer func() { _ = unix.Close(fd) }()
		to := &unix.SockaddrInet4{Addr: dst.As4()}
		took = fastest(prepare, func() {
			for i := range synsOfRun {
				binary.BigEndian.PutUint16(packet[20:], synPort(i))
				if err := unix.Sendto(fd, packet, 0, to); err != nil {
					lab.b.Fatal(err)
				}
			}
		})
	})
	return took
}
