package fakeipt

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
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

// serviceRules is restore input for so many services with so many endpoints each, in
// the shapes that kube-proxy writes.
func serviceRules(services, endpoints int) []byte {
	var declared, rules bytes.Buffer
	declared.WriteString("*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n")
	rules.WriteString("-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000\n")
	for s := range services {
		name := fmt.Sprintf("shop/service-%d:http", s)
		svc := "KUBE-SVC-" + chainSuffix(s)
		vip := fmt.Sprintf("10.%d.%d.%d", 96+s>>16, s>>8&255, s&255)
		fmt.Fprintf(&declared, ":%s - [0:0]\n", svc)
		fmt.Fprintf(&rules, "-A KUBE-SERVICES -m comment --comment \"%s cluster IP\" -m tcp -p tcp -d %s --dport 80 -j %s\n", name, vip, svc)
		fmt.Fprintf(&rules, "-A %s -m comment --comment \"%s cluster IP\" -m tcp -p tcp -d %s --dport 80 ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ\n", svc, name, vip)
		for e := range endpoints {
			n := s*endpoints + e
			sep := "KUBE-SEP-" + chainSuffix(-1-n)
			ip := fmt.Sprintf("10.%d.%d.%d", 128+n>>16, n>>8&255, n&255)
			fmt.Fprintf(&declared, ":%s - [0:0]\n", sep)
			fmt.Fprintf(&rules, "-A %s -m comment --comment %s -s %s -j KUBE-MARK-MASQ\n", sep, name, ip)
			fmt.Fprintf(&rules, "-A %s -m comment --comment %s -m tcp -p tcp -j DNAT --to-destination %s:8080\n", sep, name, ip)
			if left := endpoints - e; left > 1 {
				fmt.Fprintf(&rules, "-A %s -m comment --comment \"%s -> %s:8080\" -m statistic --mode random --probability %0.10f -j %s\n", svc, name, ip, 1/float64(left), sep)
			} else {
				fmt.Fprintf(&rules, "-A %s -m comment --comment \"%s -> %s:8080\" -j %s\n", svc, name, ip, sep)
			}
			if e%2 == 0 {
				fmt.Fprintf(&rules, "-A %s -m comment --comment %s -m recent --name %s --set -m tcp -p tcp -j RETURN\n", sep, name, sep)
			}
		}
		fmt.Fprintf(&rules, "-A KUBE-SERVICES -m comment --comment \"%s loadbalancer IP\" -m tcp -p tcp -d 203.0.%d.%d --dport 80 -j %s\n", name, s>>8&255, s&255, svc)
	}
	rules.WriteString("COMMIT\n")
	return append(declared.Bytes(), rules.Bytes()...)
}

func restored(tb testing.TB, k *Kernel, input []byte) {
	var stderr bytes.Buffer
	status := k.Run([]string{"iptables-restore", "--noflush", "--counters"}, bytes.NewReader(input), io.Discard, &stderr)
	require.Zero(tb, status, stderr.String())
}

func BenchmarkRestore(b *testing.B) {
	for _, services := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			input := serviceRules(services, 5)
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			rules := 0
			for b.Loop() {
				k := New(Options{})
				restored(b, k, input)
				rules = k.Ruleset(IPv4).Table("nat").RuleCount()
			}
			b.ReportMetric(float64(rules)*float64(b.N)/b.Elapsed().Seconds(), "rules/s")
		})
	}
}

func BenchmarkRestoreMemory(b *testing.B) {
	input := serviceRules(10000, 5)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		k := New(Options{})
		restored(b, k, input)
		runtime.GC()
		runtime.ReadMemStats(&after)
		rules := k.Ruleset(IPv4).Table("nat").RuleCount()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(rules), "B/rule")
		runtime.KeepAlive(k)
	}
}

func BenchmarkSmallRestoreIntoMany(b *testing.B) {
	k := New(Options{})
	restored(b, k, serviceRules(10000, 5))
	svc, sep := "KUBE-SVC-"+chainSuffix(7), "KUBE-SEP-"+chainSuffix(-1-35)
	input := fmt.Appendf(nil, "*nat\n:%s - [0:0]\n:%s - [0:0]\n", svc, sep)
	for i := range 5 {
		input = fmt.Appendf(input, "-A %s -s 10.0.0.%d -m comment --comment changed -j %s\n", svc, i, sep)
		input = fmt.Appendf(input, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.1.%d:80\n", sep, i)
	}
	input = append(input, "COMMIT\n"...)
	b.ReportAllocs()
	for b.Loop() {
		restored(b, k, input)
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
