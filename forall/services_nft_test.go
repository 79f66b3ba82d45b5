package forall_test

import (
	"fmt"
	"slices"
	"strings"
)

// podOf is the address of an endpoint.
func podOf(service, endpoint int) string {
	return fmt.Sprintf("10.244.%d.%d", (service*endpoints+endpoint)/250, (service*endpoints+endpoint)%250+2)
}

// hairpinsOf are the elements of a service's endpoints in the set of hairpins.
func (s *services) hairpinsOf(i int) (elements []string) {
	_, proto := s.addrOf(i)
	for e := range endpoints {
		elements = append(elements, fmt.Sprintf("%s . %s . %s . %d", podOf(i, e), podOf(i, e), proto, s.portOf(i, e)))
	}
	return elements
}

// elementOf is the element of a service in the map of services.
func (s *services) elementOf(i int) string {
	ip, proto := s.addrOf(i)
	return fmt.Sprintf("%s . %s . 80 : goto service-%d", ip, proto, i)
}

// portElementOf is the element of a service in the map of node ports.
func (s *services) portElementOf(i int) string {
	_, proto := s.addrOf(i)
	return fmt.Sprintf("%s . %d : goto external-%d", proto, 30000+i/10, i)
}

// externalOf are the rules of the chain of a service's node port.
func (s *services) externalOf(i int) []string {
	return []string{"meta mark set meta mark | 0x00004000", fmt.Sprintf("goto service-%d", i)}
}

// drawOf is the rule of a service's chain.
func (s *services) drawOf(i int) string {
	_, proto := s.addrOf(i)
	var draws []string
	for e := range endpoints {
		draws = append(draws, fmt.Sprintf("%d : %s . %d", e, podOf(i, e), s.portOf(i, e)))
	}
	return fmt.Sprintf("meta l4proto %s dnat ip to numgen random mod %d map { %s }", proto, endpoints, strings.Join(draws, ", "))
}

// nft are the same services as kube-proxy's mode nftables has them.
func (s *services) nft() string {
	var ips, hairpins, addrs, ports, chains []string
	for i := range s.count {
		if s.gone[i] {
			continue
		}
		ip, _ := s.addrOf(i)
		ips, addrs, hairpins = append(ips, ip), append(addrs, s.elementOf(i)), append(hairpins, s.hairpinsOf(i)...)
		if s.hasNodePort(i) {
			ports = append(ports, s.portElementOf(i))
			chains = append(chains, fmt.Sprintf("\tchain external-%d {\n\t\t%s\n\t}\n", i, strings.Join(s.externalOf(i), "\n\t\t")))
		}
		chains = append(chains, fmt.Sprintf("\tchain service-%d {\n\t\t%s\n\t}\n", i, s.drawOf(i)))
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
