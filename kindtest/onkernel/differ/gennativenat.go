package differ

import "github.com/chainwalk/chainwalk/netfilter"

// translation is a statement of NAT, for the hook if it is in a base chain.
func (n *nativeGen) translation() string {
	source := n.hook == "INPUT" || n.hook == "POSTROUTING" || n.hook == "" && n.chance(50)
	inet := ""
	if n.chance(50) {
		inet = " " + n.ip()
	}
	flags := n.oneOf("", "", "", " persistent", " random", " fully-random")
	addr := n.oneAddr(n.w.servers, n.w.clients, n.w.node)
	withPort := func(port string) string {
		if n.w.family == netfilter.IPv6 {
			return "[" + addr + "]:" + port
		}
		return addr + ":" + port
	}
	if source {
		masquerade := n.oneOf("masquerade", "masquerade", "masquerade fully-random", "masquerade random", "masquerade persistent")
		if n.chance(30) {
			masquerade = "meta l4proto { tcp, udp } masquerade to :41000-41009"
		}
		return n.oneOf(masquerade, "snat"+inet+" to "+n.oneAddr(n.w.node)+flags,
			"meta l4proto tcp snat"+inet+" to "+withPort(n.oneOf("42000", "42000-42009")))
	}
	return n.oneOf("dnat"+inet+" to "+addr+flags, "meta l4proto tcp dnat"+inet+" to "+withPort("8080"),
		"meta l4proto { tcp, udp } dnat"+inet+" to "+withPort("8080-8083"),
		"redirect", "meta l4proto tcp redirect to :8080", "meta l4proto { tcp, udp } redirect to :1000-1001",
		"meta l4proto tcp dnat "+n.ip()+" addr . port to tcp dport map @ends",
		"meta l4proto tcp dnat "+n.ip()+" addr . port to numgen random mod 2 map { 0 : "+addr+" . 80, 1 : "+n.oneAddr(n.w.servers)+" . 8080 }",
		"dnat"+inet+" to "+n.ip()+" daddr map { "+n.w.services[0].String()+" : "+addr+" }",
		"dnat"+inet+" to numgen inc mod 2 map { 0 : "+addr+", 1 : "+n.oneAddr(n.w.servers)+" }",
	)
}
