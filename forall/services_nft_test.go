package forall_test

import (
	"fmt"
	"slices"
	"strings"
)

// hairpinOf is the element of the first endpoint of a service in the set of hairpins.
func (s *services) hairpinOf(i int) string {
	pod, port, proto := podOf(i, 0), 8080, "tcp"
	if s.port != 0 && i == s.count/2 {
		port = s.port
	}
	if i%11 == 0 {
		proto = "udp"
	}
	return fmt.Sprintf("%s . %s . %s . %d", pod, pod, proto, port)
}

// podOf is the address of an endpoint.
func podOf(service, endpoint int) string {
	return fmt.Sprintf("10.244.%d.%d", (service*endpoints+endpoint)/250, (service*endpoints+endpoint)%250+2)
}

// nft are the same services as kube-proxy's mode nftables has them.
func (s *services) nft() string {
	var ips, hairpins, addrs, ports, chains []string
	for i := range s.count {
		ip, proto := fmt.Sprintf("10.96.%d.%d", i/250, i%250+1), "tcp"
		if i%11 == 0 {
			proto = "udp"
		}
		ips = append(ips, ip)
		addrs = append(addrs, fmt.Sprintf("%s . %s . 80 : goto service-%d", ip, proto, i))
		if i%10 == 0 {
			ports = append(ports, fmt.Sprintf("%s . %d : goto external-%d", proto, 30000+i/10, i))
			chains = append(chains, fmt.Sprintf("\tchain external-%d {\n\t\tmeta mark set meta mark | 0x00004000\n\t\tgoto service-%d\n\t}\n", i, i))
		}
		var draws []string
		for e := range endpoints {
			pod, port := podOf(i, e), 8080
			if s.port != 0 && i == s.count/2 && e == 0 {
				port = s.port
			}
			hairpins = append(hairpins, fmt.Sprintf("%s . %s . %s . %d", pod, pod, proto, port))
			draws = append(draws, fmt.Sprintf("%d : %s . %d", e, pod, port))
		}
		chains = append(chains, fmt.Sprintf("\tchain service-%d {\n\t\tmeta l4proto %s dnat ip to numgen random mod %d map { %s }\n\t}\n",
			i, proto, endpoints, strings.Join(draws, ", ")))
	}
	if s.reversed {
		for _, list := range [][]string{ips, hairpins, addrs, ports, chains} {
			slices.Reverse(list)
		}
	}
	named := func(kind, name, types string, elements []string) string {
		return fmt.Sprintf("\t%s %s {\n\t\ttype %s\n\t\telements = { %s }\n\t}\n", kind, name, types, strings.Join(elements, ", "))
	}
	return "table ip kube-proxy {\n" + named("set", "cluster-ips", "ipv4_addr", ips) +
		named("set", "nodeport-ips", "ipv4_addr", []string{"172.18.0.3"}) +
		named("set", "hairpin-connections", "ipv4_addr . ipv4_addr . inet_proto . inet_service", hairpins) +
		named("map", "service-ips", "ipv4_addr . inet_proto . inet_service : verdict", addrs) +
		named("map", "service-nodeports", "inet_proto . inet_service : verdict", ports) +
		`	chain filter-forward {
		type filter hook forward priority filter; policy accept;
		ct state new jump cluster-ips-check
	}

	chain filter-output {
		type filter hook output priority filter; policy accept;
		ct state new jump cluster-ips-check
	}

	chain nat-prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump services
	}

	chain nat-output {
		type nat hook output priority -100; policy accept;
		jump services
	}

	chain nat-postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		jump masquerading
	}

	chain services {
		ip daddr @cluster-ips ip saddr != 10.244.0.0/16 meta mark set meta mark | 0x00004000
		ip daddr . meta l4proto . th dport vmap @service-ips
		ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
	}

	chain masquerading {
		meta mark & 0x00004000 != 0x00000000 meta mark set meta mark ^ 0x00004000 masquerade fully-random
		ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random
	}

	chain cluster-ips-check {
		ip daddr @cluster-ips reject
		ip daddr 10.96.0.0/16 drop
	}

` + strings.Join(chains, "") + "}\n"
}
