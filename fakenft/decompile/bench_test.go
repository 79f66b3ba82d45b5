package decompile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// services is a transaction of kube-proxy's form: so many Services with five endpoints each.
func services(count int) string {
	var b strings.Builder
	b.WriteString(`add table ip kube-proxy
add chain ip kube-proxy services { type nat hook prerouting priority -100 ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; }
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
`)
	for i := range count {
		ip := fmt.Sprintf("172.30.%d.%d", i/250, i%250+1)
		chain := fmt.Sprintf("service-%08X-demo/s%d/tcp/http", i*2654435761%(1<<32), i)
		fmt.Fprintf(&b, "add chain ip kube-proxy %s\nflush chain ip kube-proxy %s\n", chain, chain)
		fmt.Fprintf(&b, "add element ip kube-proxy cluster-ips { %s }\n", ip)
		fmt.Fprintf(&b, "add element ip kube-proxy service-ips { %s . tcp . 80 : goto %s }\n", ip, chain)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s ip daddr %s tcp dport 80 ip saddr != 10.244.0.0/16 mark set mark or 0x00004000\n", chain, ip)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s meta l4proto tcp dnat ip addr . port to numgen random mod 5 map { ", chain)
		for e := range 5 {
			fmt.Fprintf(&b, "%d : 10.%d.%d.%d . 8080 , ", e, i/250, i%250, e+1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func checked(tb testing.TB, text string) []*syntax.Command {
	tb.Helper()
	commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
	require.Empty(tb, mistakes)
	require.Empty(tb, check.New(check.Empty{}).Commands(commands))
	return commands
}

func changes(tb testing.TB, commands []*syntax.Command) (all []nftables.Change) {
	tb.Helper()
	for _, c := range commands {
		requests, err := compile.Command(c)
		require.NoError(tb, err)
		for _, r := range requests {
			all = append(all, r.Change)
		}
	}
	return all
}

func BenchmarkCompile(b *testing.B) {
	commands := checked(b, services(10000))
	for b.Loop() {
		for _, c := range commands {
			if _, err := compile.Command(c); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(commands)), "commands")
}

func BenchmarkDecompile(b *testing.B) {
	var turn uint64
	kernel := nftables.New(clock.RealClock{}, func() uint64 { turn++; return turn })
	require.Empty(b, kernel.Commit(changes(b, checked(b, services(10000)))))
	table := kernel.State().Table(nftables.IPv4, "kube-proxy")
	for b.Loop() {
		decompile.Table(table, time.Time{})
	}
}
