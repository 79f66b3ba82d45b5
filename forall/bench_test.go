//go:build unix

package forall_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
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

// BenchmarkOneChangedService works out the fates of a node when one endpoint of a service has got another port, beside those before: when a
// commit has changed its chain, and when all rules were read from another text.
func BenchmarkOneChangedService(b *testing.B) {
	for _, commit := range []bool{true, false} {
		b.Run(map[bool]string{true: "commit", false: "text"}[commit], func(b *testing.B) {
			perLanguage(b, []int{1000, 10000}, func(b *testing.B, s services) {
				h := s.host(b)
				f, err := forall.Of(h, forall.Options{Families: only4})
				require.NoError(b, err)
				switch s.port = 9090; {
				case commit && s.native:
					commitPortNFT(b, h, &s)
				case commit:
					commitPort(b, h, &s)
				default:
					h = s.host(b)
				}
				start := processorTime(b)
				for b.Loop() {
					g, err := forall.Of(h, forall.Options{Families: only4, Beside: f})
					require.NoError(b, err)
					require.False(b, g.Equal(f))
				}
				reportProcessorTime(b, start)
			})
		})
	}
}

// commitPort gives the endpoint of the service in the middle its port, as kube-proxy does: it writes the endpoint's chain anew.
func commitPort(b *testing.B, h *packetsim.Host, s *services) {
	b.Helper()
	chain := fmt.Sprintf("KUBE-SEP-%d-0 ", s.count/2)
	text := "*nat\n:" + chain + "- [0:0]\n"
	for line := range strings.Lines(s.text()) {
		if strings.HasPrefix(line, "-A "+chain) {
			text += line
		}
	}
	kernel := fakeipt.First(h.Netfilter())
	var errors bytes.Buffer
	require.Zero(b, kernel.Run([]string{"iptables-restore", "--noflush"}, strings.NewReader(text+"COMMIT\n"), io.Discard, &errors), &errors)
}

// commitPortNFT gives the endpoint of the service in the middle its port, as kube-proxy's mode nftables does: it writes the service's chain
// anew, and the element for its hairpin.
func commitPortNFT(b *testing.B, h *packetsim.Host, s *services) {
	b.Helper()
	i := s.count / 2
	was := services{count: s.count, native: true}
	old, chain := was.hairpinOf(i), ""
	for line := range strings.Lines(s.nft()) {
		if strings.HasPrefix(line, fmt.Sprintf("\tchain service-%d {", i)) {
			chain = "take"
		} else if chain == "take" {
			chain = strings.TrimSpace(line)
		}
	}
	text := fmt.Sprintf("flush chain ip kube-proxy service-%d\nadd rule ip kube-proxy service-%d %s\n"+
		"delete element ip kube-proxy hairpin-connections { %s }\nadd element ip kube-proxy hairpin-connections { %s }\n",
		i, i, chain, old, s.hairpinOf(i))
	var errors bytes.Buffer
	nft := fakenft.New(fakenft.Options{Namespace: h.Netfilter()})
	require.Zero(b, nft.Run([]string{"nft", "-f", "-"}, strings.NewReader(text), io.Discard, &errors), &errors)
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
		g, err := forall.Of(s.host(b), forall.Options{Families: only4, Beside: f})
		require.NoError(b, err)
		for b.Loop() {
			if len(slices.Collect(f.Diff(g))) == 0 {
				b.Fatal("they are alike")
			}
		}
	})
}
