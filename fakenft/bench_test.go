package fakenft

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

// services is what kube-proxy writes for so many services of five endpoints, as its first transaction has it.
func services(n int) string {
	var b strings.Builder
	b.WriteString(`add table ip kube-proxy { comment "rules for kube-proxy" ; }
add chain ip kube-proxy services
add chain ip kube-proxy mark-for-masquerade
add rule ip kube-proxy mark-for-masquerade mark set mark or 0x4000
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; ` +
		`comment "ClusterIP, ExternalIP and LoadBalancer IP traffic" ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; comment "Active ClusterIPs" ; }
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
`)
	for i := range n {
		ip, chain := fmt.Sprintf("172.30.%d.%d", i/250, i%250+1), fmt.Sprintf("service-ABCDEFGH-ns%d/svc%d/tcp/p80", i%100, i)
		fmt.Fprintf(&b, "add element ip kube-proxy cluster-ips { %s }\n", ip)
		fmt.Fprintf(&b, "add element ip kube-proxy service-ips { %s . tcp . 80 : goto %s }\n", ip, chain)
		fmt.Fprintf(&b, "add chain ip kube-proxy %s\n", chain)
		fmt.Fprintf(&b, "flush chain ip kube-proxy %s\n", chain)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s ip daddr %s tcp dport 80 ip saddr != 10.244.0.0/16 jump mark-for-masquerade\n", chain, ip)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s meta l4proto tcp dnat ip addr . port to numgen random mod 5 map { ", chain)
		for k := range 5 {
			fmt.Fprintf(&b, "%d : 10.244.%d.%d . 8080 , ", k, i%250, k+1)
		}
		b.WriteString("}\n")
	}
	text := strings.ReplaceAll(b.String(), ", }", "}")
	// References go backwards.
	var first, then []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "add element ip kube-proxy service-ips") {
			then = append(then, line)
		} else {
			first = append(first, line)
		}
	}
	return strings.Join(first, "") + strings.Join(then, "")
}

// TestAllocationsOfALoad holds that the parts of a text are made together: without that a service takes twice as many allocations.
func TestAllocationsOfALoad(t *testing.T) {
	race.OneGoroutine(t)
	const most = 110 // of a service
	text := services(200)
	per := testing.AllocsPerRun(3, func() {
		require.Zero(t, New(Options{}).Run([]string{"nft", "-f", "-"}, strings.NewReader(text), io.Discard, io.Discard))
	}) / 200
	require.Less(t, per, float64(most))
}

// BenchmarkServices loads, lists and changes what kube-proxy writes.
func BenchmarkServices(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		text := services(n)
		tools := New(Options{})
		run := func(tools *Tools, stdin string, args ...string) {
			var errors bytes.Buffer
			require.Equal(b, 0, tools.Run(append([]string{"nft"}, args...), strings.NewReader(stdin), io.Discard, &errors), "%.300s", &errors)
		}
		run(tools, text, "-f", "-")
		b.Run(fmt.Sprintf("load-%d", n), func(b *testing.B) {
			for b.Loop() {
				run(New(Options{}), text, "-f", "-")
			}
		})
		b.Run(fmt.Sprintf("list-%d", n), func(b *testing.B) {
			for b.Loop() {
				run(tools, "", "list", "ruleset")
			}
		})
		b.Run(fmt.Sprintf("json-%d", n), func(b *testing.B) {
			for b.Loop() {
				run(tools, "", "-j", "list", "ruleset")
			}
		})
		b.Run(fmt.Sprintf("one-%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				chain := fmt.Sprintf("service-NEW-%d", i)
				run(tools, fmt.Sprintf("add chain ip kube-proxy %s\nflush chain ip kube-proxy %s\n"+
					"add rule ip kube-proxy %s meta l4proto tcp dnat to 10.0.0.1:80\n"+
					"add element ip kube-proxy service-ips { 10.0.%d.%d . tcp . 80 : goto %s }\n",
					chain, chain, chain, i/250%250, i%250, chain), "-f", "-")
			}
		})
	}
}

// BenchmarkLoad loads listings of what kube-proxy writes, as text and as JSON.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		tools := New(Options{})
		var errors, text, json bytes.Buffer
		require.Zero(b, tools.Run([]string{"nft", "-f", "-"}, strings.NewReader(services(n)), io.Discard, &errors), &errors)
		require.Zero(b, tools.Run([]string{"nft", "list", "ruleset"}, nil, &text, &errors), &errors)
		require.Zero(b, tools.Run([]string{"nft", "-j", "list", "ruleset"}, nil, &json, &errors), &errors)
		for _, of := range []struct {
			name    string
			listing []byte
		}{{"text", text.Bytes()}, {"json", json.Bytes()}} {
			b.Run(fmt.Sprintf("%s-%d", of.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, New(Options{}).Load(of.name, bytes.NewReader(of.listing), nil))
				}
			})
		}
	}
}
