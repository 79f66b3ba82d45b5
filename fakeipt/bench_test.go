package fakeipt

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
)

// chainSuffix is a name's end that looks like a hash, as kube-proxy's chains have.
func chainSuffix(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	h := uint64(n)*0x9e3779b97f4a7c15 + 0x1234567
	var b [16]byte
	for i := range b {
		b[i] = letters[h%32]
		h = h*6364136223846793005 + 1442695040888963407
		h ^= h >> 29
	}
	return string(b[:])
}

// rulesPerService is the number of rules that serviceRules has for a service with 5 endpoints.
const rulesPerService = 22

// serviceRules is restore input for so many services with so many endpoints each, in the shapes that kube-proxy
// writes in a large cluster, where rules of endpoints have no comments: services with a cluster IP, a load balancer's
// IP, an external IP and a node port.
func serviceRules(services, endpoints int) []byte {
	var declared, rules bytes.Buffer
	declared.WriteString("*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-NODEPORTS - [0:0]\n:KUBE-POSTROUTING - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n")
	rules.WriteString("-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000\n")
	for s := range services {
		name := fmt.Sprintf("ns/svc-%d:http", s)
		svc, ext := "KUBE-SVC-"+chainSuffix(s), "KUBE-EXT-"+chainSuffix(s)
		vip := fmt.Sprintf("10.%d.%d.%d", 96+s>>16, s>>8&255, s&255)
		fmt.Fprintf(&declared, ":%s - [0:0]\n:%s - [0:0]\n", svc, ext)
		fmt.Fprintf(&rules, "-A KUBE-SERVICES -m comment --comment \"%s cluster IP\" -m tcp -p tcp -d %s --dport 80 -j %s\n", name, vip, svc)
		fmt.Fprintf(&rules, "-A KUBE-SERVICES -m comment --comment \"%s loadbalancer IP\" -m tcp -p tcp -d 203.%d.%d.%d --dport 80 -j %s\n",
			name, s>>16, s>>8&255, s&255, ext)
		fmt.Fprintf(&rules, "-A KUBE-SERVICES -m comment --comment \"%s external IP\" -m tcp -p tcp -d 198.%d.%d.%d --dport 80 -j %s\n",
			name, s>>16, s>>8&255, s&255, ext)
		fmt.Fprintf(&rules, "-A KUBE-NODEPORTS -m comment --comment %s -m tcp -p tcp --dport %d -j %s\n", name, 1+s%65535, ext)
		fmt.Fprintf(&rules, "-A %s -m comment --comment \"masquerade traffic for %s external destinations\" -j KUBE-MARK-MASQ\n", ext, name)
		fmt.Fprintf(&rules, "-A %s -j %s\n", ext, svc)
		fmt.Fprintf(&rules, "-A %s -m comment --comment \"%s cluster IP\" -m tcp -p tcp -d %s --dport 80 ! -s 10.128.0.0/9 -j KUBE-MARK-MASQ\n",
			svc, name, vip)
		for e := range endpoints {
			n := s*endpoints + e
			sep := "KUBE-SEP-" + chainSuffix(-1-n)
			ip := fmt.Sprintf("10.%d.%d.%d", 128+n>>16, n>>8&255, n&255)
			fmt.Fprintf(&declared, ":%s - [0:0]\n", sep)
			if left := endpoints - e; left > 1 {
				fmt.Fprintf(&rules, "-A %s -m statistic --mode random --probability %0.10f -j %s\n", svc, 1/float64(left), sep)
			} else {
				fmt.Fprintf(&rules, "-A %s -j %s\n", svc, sep)
			}
			fmt.Fprintf(&rules, "-A %s -s %s -j KUBE-MARK-MASQ\n", sep, ip)
			fmt.Fprintf(&rules, "-A %s -m tcp -p tcp -j DNAT --to-destination %s:8080\n", sep, ip)
		}
	}
	rules.WriteString("COMMIT\n")
	return append(declared.Bytes(), rules.Bytes()...)
}

func restored(tb require.TestingT, k *Kernel, input []byte) {
	var stderr bytes.Buffer
	status := k.Run([]string{"iptables-restore", "--noflush", "--counters"}, bytes.NewReader(input), io.Discard, &stderr)
	require.Zero(tb, status, stderr.String())
}

// benchServices are the sizes at which restores are measured: 10,000, 100,000, 220,000 and 1,000,000 rules.
var benchServices = []int{10_000 / rulesPerService, 100_000 / rulesPerService, 10_000, 1_000_000 / rulesPerService}

func BenchmarkRestore(b *testing.B) {
	for _, services := range benchServices {
		b.Run(fmt.Sprintf("rules=%d", services*rulesPerService), func(b *testing.B) {
			input := serviceRules(services, 5)
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				restored(b, New(Options{}), input)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*services*rulesPerService), "ns/rule")
		})
	}
}

func BenchmarkRestoreMemory(b *testing.B) {
	for _, services := range benchServices {
		b.Run(fmt.Sprintf("rules=%d", services*rulesPerService), func(b *testing.B) {
			input := serviceRules(services, 5)
			for b.Loop() {
				b.ReportMetric(bytesPerRule(b, input), "B/rule")
			}
		})
	}
}

// bytesPerRule is the memory that a restored ruleset keeps, by rule.
func bytesPerRule(tb testing.TB, input []byte) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	k := New(Options{})
	restored(tb, k, input)
	runtime.GC()
	runtime.ReadMemStats(&after)
	rules := k.Ruleset(netfilter.IPv4).Table("nat").RuleCount()
	runtime.KeepAlive(k)
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(rules)
}

// smallRestore is input of 10 rules that changes one service and one endpoint of serviceRules.
func smallRestore() []byte {
	svc, sep := "KUBE-SVC-"+chainSuffix(7), "KUBE-SEP-"+chainSuffix(-1-35)
	input := fmt.Appendf(nil, "*nat\n:%s - [0:0]\n:%s - [0:0]\n", svc, sep)
	for i := range 5 {
		input = fmt.Appendf(input, "-A %s -s 10.0.0.%d -m comment --comment changed -j %s\n", svc, i, sep)
		input = fmt.Appendf(input, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.1.%d:80\n", sep, i)
	}
	return append(input, "COMMIT\n"...)
}

// BenchmarkSmallRestoreIntoMany must not depend on the number of rules that are there.
func BenchmarkSmallRestoreIntoMany(b *testing.B) {
	for _, services := range benchServices {
		b.Run(fmt.Sprintf("rules=%d", services*rulesPerService), func(b *testing.B) {
			k := New(Options{})
			restored(b, k, serviceRules(services, 5))
			input := smallRestore()
			b.ReportAllocs()
			for b.Loop() {
				restored(b, k, input)
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	k := New(Options{})
	restored(b, k, serviceRules(10000, 5))
	b.ReportAllocs()
	for b.Loop() {
		k.Run([]string{"iptables-save", "-c"}, nil, io.Discard, io.Discard)
	}
}

func BenchmarkFirstSave(b *testing.B) {
	input := serviceRules(10000, 5)
	for b.Loop() {
		b.StopTimer()
		k := New(Options{})
		restored(b, k, input)
		b.StartTimer()
		k.Run([]string{"iptables-save", "-c"}, nil, io.Discard, io.Discard)
	}
}

func BenchmarkSaveIntoBuffer(b *testing.B) {
	k := New(Options{})
	restored(b, k, serviceRules(10000, 5))
	b.ReportAllocs()
	for b.Loop() {
		var kept bytes.Buffer
		k.Run([]string{"iptables-save", "-c"}, nil, &kept, io.Discard)
	}
}

// TestSaveMakesRoomAtOnce fails if a buffer that a big ruleset is saved into is doubled on the way.
func TestSaveMakesRoomAtOnce(t *testing.T) {
	k := New(Options{})
	restored(t, k, serviceRules(300, 5))
	var kept bytes.Buffer
	require.Zero(t, k.Run([]string{"iptables-save"}, nil, &kept, io.Discard))
	require.Greater(t, kept.Len(), 2*ruleset.SaveBuffer)
	require.Less(t, kept.Cap(), kept.Len()*5/4, "of %d bytes", kept.Len())
}
