package parse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// services is a file as kube-proxy writes it for a number of services with five endpoints each.
func services(n int) string {
	var b strings.Builder
	b.WriteString("add table ip kube-proxy { comment \"rules for kube-proxy\" ; }\n")
	for i := range n {
		ip := fmt.Sprintf("172.30.%d.%d", i/256, i%256)
		service := fmt.Sprintf("service-ULMVA6XW-ns1/svc%d/tcp/p80", i)
		fmt.Fprintf(&b, "add chain ip kube-proxy %s\nflush chain ip kube-proxy %s\n", service, service)
		fmt.Fprintf(&b, "add element ip kube-proxy service-ips { %s . tcp . 80 comment \"ns1/svc%d:p80\" : goto %s }\n", ip, i, service)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s ip daddr %s tcp dport 80 ip saddr != 10.0.0.0/8 jump mark-for-masquerade\n", service, ip)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s numgen random mod 5 vmap { ", service)
		for e := range 5 {
			fmt.Fprintf(&b, "%d : goto endpoint-%d-%d , ", e, i, e)
		}
		b.WriteString("}\n")
		for e := range 5 {
			endpoint := fmt.Sprintf("endpoint-%d-%d", i, e)
			fmt.Fprintf(&b, "add chain ip kube-proxy %s\n", endpoint)
			fmt.Fprintf(&b, "add rule ip kube-proxy %s ip saddr 10.%d.%d.%d jump mark-for-masquerade\n", endpoint, i/256, i%256, e)
			fmt.Fprintf(&b, "add rule ip kube-proxy %s meta l4proto tcp dnat to 10.%d.%d.%d:8080\n", endpoint, i/256, i%256, e)
		}
	}
	return b.String()
}

func BenchmarkText(b *testing.B) {
	text := services(2000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{}); len(mistakes) > 0 {
			b.Fatal(mistakes[0])
		}
	}
}
