// Package manyservices has the rules of kube-proxy for many Services, for benchmarks of packages that read rules.
package manyservices

import (
	"fmt"
	"strings"
)

// NFT is input of "nft -f -" in the form of kube-proxy's in mode nftables: the table kube-proxy of IPv4 with n Services of one TCP port,
// and five endpoints of each. The Services' addresses are different ones for up to 64,000 Services.
func NFT(n int) string {
	var b strings.Builder
	b.WriteString(`add table ip kube-proxy
add chain ip kube-proxy services { type nat hook prerouting priority -100 ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; }
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
`)
	for i := range n {
		ip := fmt.Sprintf("172.30.%d.%d", i/250, i%250+1)
		chain := fmt.Sprintf("service-%08X-demo/s%d/tcp/http", i*2654435761%(1<<32), i)
		fmt.Fprintf(&b, "add chain ip kube-proxy %s\nflush chain ip kube-proxy %s\n", chain, chain)
		fmt.Fprintf(&b, "add element ip kube-proxy cluster-ips { %s }\n", ip)
		fmt.Fprintf(&b, "add element ip kube-proxy service-ips { %s . tcp . 80 : goto %s }\n", ip, chain)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s ip daddr %s tcp dport 80 ip saddr != 10.244.0.0/16 mark set mark or 0x00004000\n", chain, ip)
		fmt.Fprintf(&b, "add rule ip kube-proxy %s meta l4proto tcp dnat ip addr . port to numgen random mod 5 map { ", chain)
		for e := range 5 {
			if e > 0 {
				b.WriteString(" , ")
			}
			fmt.Fprintf(&b, "%d : 10.%d.%d.%d . 8080", e, i/250, i%250, e+1)
		}
		b.WriteString(" }\n")
	}
	return b.String()
}
