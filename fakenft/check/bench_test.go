package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// proxyInput is what kube-proxy writes for so many services of five endpoints.
func proxyInput(services int) string {
	var b strings.Builder
	b.WriteString(`add table ip kube-proxy { comment "rules for kube-proxy" ; }
add chain ip kube-proxy services
add chain ip kube-proxy masq
add set ip kube-proxy cluster-ips { type ipv4_addr ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
`)
	for i := range services {
		name := fmt.Sprintf("service-%08X-ns/svc-%d/tcp/p80", i, i)
		ip := fmt.Sprintf("172.30.%d.%d", i>>8, i&255)
		fmt.Fprintf(&b, "add chain ip kube-proxy %s\nflush chain ip kube-proxy %s\n", name, name)
		fmt.Fprintf(&b, "add element ip kube-proxy cluster-ips { %s }\n", ip)
		fmt.Fprintf(&b, "add element ip kube-proxy service-ips { %s . tcp . 80 comment \"ns/svc-%d:p80\" : goto %s }\n", ip, i, name)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s ip daddr %s tcp dport 80 ip saddr != 10.244.0.0/16 jump masq\n", name, ip)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s meta l4proto tcp dnat ip addr . port to numgen random mod 5 map {", name)
		for j := range 5 {
			fmt.Fprintf(&b, " %d : 10.%d.%d.%d . 8080 ,", j, 244+j, i>>8, i&255)
		}
		b.WriteString(" }\n")
	}
	return b.String()
}

func BenchmarkCommands(b *testing.B) {
	for _, services := range []int{1000, 10000} {
		text := proxyInput(services)
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
				b.StartTimer()
				mistakes = append(mistakes, check.New(check.Empty{}).Commands(commands)...)
				if len(mistakes) > 0 {
					b.Fatal(syntax.Render(mistakes[0]))
				}
			}
		})
	}
}
