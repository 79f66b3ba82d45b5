package differ

import "github.com/chainwalk/chainwalk/netfilter"

// targetPieces are the targets besides verdicts and jumps.
var targetPieces = []piece{
	{name: "MARK", weight: 16, make: func(g *gen) string {
		return "-j MARK " + g.oneOf("--set-mark ", "--set-xmark ", "--and-mark ", "--or-mark ", "--xor-mark ", "--xor-mark ") +
			g.oneOf("0x1", "0x1", "0x2", "0x3", "0x3", "0x4000", routedWord)
	}},
	{name: "MARK with mask", weight: 4, make: func(g *gen) string {
		return "-j MARK " + g.oneOf("--set-mark ", "--set-xmark ") + g.markMask()
	}},
	{name: "CONNMARK", weight: 6,
		make: some("-j CONNMARK --save-mark", "-j CONNMARK --restore-mark", "-j CONNMARK --set-mark 0x1", "-j CONNMARK --set-xmark 0x2/0x3",
			"-j CONNMARK --save-mark --nfmask 0x3 --ctmask 0xff", "-j CONNMARK --restore-mark --nfmask 0xff --ctmask 0x3",
			"-j CONNMARK --or-mark 0x4", "-j CONNMARK --and-mark 0x1", "-j CONNMARK --xor-mark 0x2")},
	{name: "DNAT to an address", weight: 14, tables: "nat", hooks: "PREROUTING OUTPUT", make: func(g *gen) string {
		return "-j DNAT --to-destination " + g.endpoint()
	}},
	{name: "DNAT to a port", weight: 10, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports", make: func(g *gen) string {
		return "-j DNAT --to-destination " + g.withPort(g.endpoint(), g.oneOf("8080", "80"))
	}},
	{name: "DNAT of the port alone", weight: 3, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports",
		make: some("-j DNAT --to-destination :8080", "-j DNAT --to-destination :1000")},
	{name: "DNAT persistent", weight: 2, tables: "nat", hooks: "PREROUTING OUTPUT", make: func(g *gen) string {
		return "-j DNAT --to-destination " + g.endpoint() + " --persistent"
	}},
	{name: "DNAT to a range of addresses", weight: 3, tables: "nat", hooks: "PREROUTING OUTPUT", make: func(g *gen) string {
		from := g.oneOf(g.w.servers[0].String(), g.w.clients[0].String())
		return "-j DNAT --to-destination " + from + "-" + g.next(from) + g.oneOf("", " --persistent")
	}},
	{name: "DNAT to a range of ports", weight: 3, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports", make: func(g *gen) string {
		return "-j DNAT --to-destination " + g.withPort(g.endpoint(), "8080-8082")
	}},
	{name: "DNAT random", weight: 2, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports", make: func(g *gen) string {
		return "-j DNAT --to-destination " + g.withPort(g.endpoint(), g.oneOf("8080", "8080-8082")) + " --random"
	}},
	{name: "REDIRECT", weight: 6, tables: "nat", hooks: "PREROUTING OUTPUT", make: some("-j REDIRECT")},
	{name: "REDIRECT to a port", weight: 5, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports",
		make: some("-j REDIRECT --to-ports 8080", "-j REDIRECT --to-ports 1000", "-j REDIRECT --to-ports 8080 --random")},
	{name: "SNAT", weight: 10, tables: "nat", hooks: "POSTROUTING INPUT", make: func(g *gen) string {
		return "-j SNAT --to-source " + g.source()
	}},
	{name: "SNAT to a port", weight: 4, tables: "nat", hooks: "POSTROUTING INPUT", proto: "ports", make: func(g *gen) string {
		return "-j SNAT --to-source " + g.withPort(g.source(), g.oneOf("50001", "50002"))
	}},
	{name: "SNAT to a range of ports", weight: 2, tables: "nat", hooks: "POSTROUTING", proto: "ports", make: func(g *gen) string {
		return "-j SNAT --to-source " + g.withPort(g.source(), "50001-50009")
	}},
	{name: "SNAT to a range of addresses", weight: 2, tables: "nat", hooks: "POSTROUTING", make: func(g *gen) string {
		from := g.w.servers[0].String()
		return "-j SNAT --to-source " + from + "-" + g.next(from) + g.oneOf("", " --persistent")
	}},
	{name: "SNAT random", weight: 3, tables: "nat", hooks: "POSTROUTING INPUT", make: func(g *gen) string {
		return "-j SNAT --to-source " + g.source() + g.oneOf(" --random", " --random-fully", " --persistent", " --random --persistent")
	}},
	{name: "MASQUERADE", weight: 12, tables: "nat", hooks: "POSTROUTING", make: some("-j MASQUERADE")},
	{name: "MASQUERADE random", weight: 4, tables: "nat", hooks: "POSTROUTING",
		make: some("-j MASQUERADE --random", "-j MASQUERADE --random-fully")},
	{name: "MASQUERADE to ports", weight: 2, tables: "nat", hooks: "POSTROUTING", proto: "ports",
		make: some("-j MASQUERADE --to-ports 50001", "-j MASQUERADE --to-ports 50001-50009")},
	{name: "NETMAP", weight: 3, tables: "nat", hooks: "PREROUTING OUTPUT", make: func(g *gen) string {
		return "-j NETMAP --to " + g.oneOf(g.w.networks[1].String(), g.w.networks[0].String())
	}},
	{name: "NETMAP of the source", weight: 2, tables: "nat", hooks: "POSTROUTING INPUT", make: func(g *gen) string {
		return "-j NETMAP --to " + g.oneOf(g.w.networks[1].String(), g.w.networks[0].String())
	}},
	{name: "REJECT", weight: 10, tables: "filter", make: some("-j REJECT")},
	{name: "REJECT with", weight: 6, tables: "filter", family: netfilter.IPv4,
		make: some("-j REJECT --reject-with icmp-host-unreachable", "-j REJECT --reject-with icmp-net-unreachable",
			"-j REJECT --reject-with icmp-proto-unreachable", "-j REJECT --reject-with icmp-admin-prohibited",
			"-j REJECT --reject-with icmp-host-prohibited", "-j REJECT --reject-with icmp-net-prohibited",
			"-j REJECT --reject-with icmp-port-unreachable")},
	{name: "REJECT with 6", weight: 6, tables: "filter", family: netfilter.IPv6,
		make: some("-j REJECT --reject-with icmp6-no-route", "-j REJECT --reject-with icmp6-adm-prohibited",
			"-j REJECT --reject-with icmp6-addr-unreachable", "-j REJECT --reject-with icmp6-policy-fail",
			"-j REJECT --reject-with icmp6-reject-route", "-j REJECT --reject-with icmp6-port-unreachable")},
	{name: "REJECT with a reset", weight: 6, tables: "filter", proto: "tcp", make: some("-j REJECT --reject-with tcp-reset")},
	{name: "NOTRACK", weight: 5, tables: "raw", make: some("-j NOTRACK")},
	{name: "CT notrack", weight: 3, tables: "raw", make: some("-j CT --notrack")},
	{name: "CT zone", weight: 3, tables: "raw", make: some("-j CT --zone 1", "-j CT --zone 2", "-j CT --zone-orig 1", "-j CT --zone-reply 1")},
	{name: "CT", weight: 2, tables: "raw", make: some("-j CT", "-j CT --ctevents new", "-j CT --zone 1 --ctevents new,destroy")},
	{name: "NFQUEUE", weight: 3,
		make: some("-j NFQUEUE --queue-num 3", "-j NFQUEUE --queue-num 3 --queue-bypass", "-j NFQUEUE --queue-balance 3:5 --queue-bypass")},
	{name: "LOG", weight: 2, make: some(`-j LOG --log-prefix "cw "`, "-j LOG --log-level 7")},
	{name: "NFLOG", weight: 2, make: some("-j NFLOG --nflog-group 5", `-j NFLOG --nflog-prefix "x"`)},
	{name: "CT helper", weight: 2, tables: "raw", proto: "tcp", make: some("-j CT --helper ftp", "-j CT --helper ftp --zone 1")},
	{name: "CLASSIFY", weight: 1, hooks: "FORWARD OUTPUT POSTROUTING", make: some("-j CLASSIFY --set-class 1:2")},
	{name: "AUDIT", weight: 1, make: some("-j AUDIT --type accept")},
	{name: "CONNSECMARK", weight: 1, tables: "mangle security", make: some("-j CONNSECMARK --save", "-j CONNSECMARK --restore")},
	{name: "IDLETIMER", weight: 1, make: func(g *gen) string { return "-j IDLETIMER --timeout 600 --label " + g.unique("i") }},
	{name: "RATEEST", weight: 1, make: func(g *gen) string {
		return "-j RATEEST --rateest-interval 1s --rateest-ewmalog 2s --rateest-name " + g.unique("r")
	}},
	{name: "TPROXY", weight: 2, tables: "mangle", hooks: "PREROUTING", proto: "tcp",
		make: some("-j TPROXY --on-port 8080 --tproxy-mark 0x1/0x1", "-j TPROXY --on-port 80")},
	{name: "TCPMSS", weight: 2, tables: "mangle", proto: "tcp syn", hooks: "FORWARD OUTPUT POSTROUTING",
		make: some("-j TCPMSS --clamp-mss-to-pmtu", "-j TCPMSS --set-mss 1000")},
	{name: "TCPOPTSTRIP", weight: 2, tables: "mangle", proto: "tcp",
		make: some("-j TCPOPTSTRIP --strip-options mss", "-j TCPOPTSTRIP --strip-options 8,19", "-j TCPOPTSTRIP --strip-options 2,3,4,5")},
	{name: "HMARK", weight: 3, tables: "mangle", make: func(g *gen) string {
		return "-j HMARK --hmark-tuple " + g.oneOf("src", "src,dst", "src,dst,sport,dport,proto", "src,dst,ct", "sport,dport") +
			" --hmark-rnd " + g.oneOf("1", "0xfeedcafe") + " --hmark-mod " + g.oneOf("2", "5", "16") + g.oneOf("", " --hmark-offset 1")
	}},
	{name: "TTL", weight: 4, tables: "mangle", family: netfilter.IPv4, make: func(g *gen) string { return "-j TTL " + g.hops("ttl") }},
	{name: "HL", weight: 4, tables: "mangle", family: netfilter.IPv6, make: func(g *gen) string { return "-j HL " + g.hops("hl") }},
	{name: "TOS", weight: 3, tables: "mangle", make: some("-j TOS --set-tos 0x10", "-j TOS --set-tos Minimize-Cost", "-j TOS --and-tos 0xf3",
		"-j TOS --or-tos 0x8", "-j TOS --xor-tos 0x2f", "-j TOS --set-tos 0x40/0xf0")},
	{name: "DSCP", weight: 3, tables: "mangle", make: some("-j DSCP --set-dscp-class EF", "-j DSCP --set-dscp 0", "-j DSCP --set-dscp 63")},
	{name: "ECN", weight: 2, tables: "mangle", family: netfilter.IPv4, make: some("-j ECN --ecn-ip-ect 0", "-j ECN --ecn-ip-ect 3")},
	{name: "ECN of TCP", weight: 2, tables: "mangle", family: netfilter.IPv4, proto: "tcp",
		make: some("-j ECN --ecn-tcp-remove", "-j ECN --ecn-tcp-ece 1", "-j ECN --ecn-tcp-cwr 1 --ecn-tcp-ece 0 --ecn-ip-ect 1")},
	{name: "SNPT", weight: 4, tables: "mangle", hooks: "INPUT POSTROUTING", family: netfilter.IPv6, make: func(g *gen) string {
		return "-j SNPT " + g.prefixes()
	}},
	{name: "DNPT", weight: 4, tables: "mangle", hooks: "PREROUTING OUTPUT", family: netfilter.IPv6, make: func(g *gen) string {
		return "-j DNPT " + g.prefixes()
	}},
	{name: "TEE", weight: 3, make: func(g *gen) string {
		return "-j TEE --gateway " + g.oneAddr(g.w.clients, g.w.servers, g.w.services, g.w.deadEnds) +
			g.oneOf("", "", " --oif "+clientDev, " --oif "+serverDev, " --oif none")
	}},
	{name: "CHECKSUM", weight: 2, tables: "mangle", make: some("-j CHECKSUM --checksum-fill")},
	{name: "SET", weight: 3, make: func(g *gen) string {
		return "-j SET " + g.oneOf("--add-set "+g.set()+g.oneOf("", " --exist"), "--del-set "+g.set())
	}},
	{name: "no target", weight: 10, make: some("")},
}
