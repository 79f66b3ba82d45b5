package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// nativeRule is how a line of a rule begins in the text that nativeRuleset makes.
const nativeRule = "\t\t\t"

// nativeGen makes tables of nft.
type nativeGen struct {
	*gen
	table  string
	kind   string   // of the base chain that rules are for: filter, nat, route
	hook   string   // its name; empty in other chains
	chains []string // that rules of the table may lead to
}

// nativeRuleset is the input of nft: tables named like those of iptables, with base chains named by their hooks, and chains that they lead
// to. Packets are traced from the first chain on.
func (g *gen) nativeRuleset() string {
	var b strings.Builder
	n := &nativeGen{gen: g}
	names := []string{"raw", "mangle", "nat", "filter", "later"}
	for _, name := range names {
		if name == "raw" || g.chance(70) {
			n.tableText(&b, name)
		}
	}
	text := b.String()
	if strings.Contains(text, "delete @dyn") { // what a packet deletes counts until it is collected
		text = smallSize.ReplaceAllString(text, "size 100;")
	}
	return text
}

var smallSize = regexp.MustCompile(`size [12];`)

// nativeHooks are the hooks of a table's base chains with their priorities.
func (n *nativeGen) nativeHooks() []string {
	switch n.table {
	case "raw":
		return []string{"PREROUTING", "OUTPUT"}
	case "nat":
		return []string{"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"}
	}
	return []string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}
}

// familyName is the family of tables that packets of this one meet.
func (n *nativeGen) familyName() string {
	own := "ip"
	if n.w.family == netfilter.IPv6 {
		own = "ip6"
	}
	return n.oneOf(own, own, "inet")
}

func (n *nativeGen) tableText(b *strings.Builder, name string) {
	n.table, n.chains, n.hook, n.kind = name, nil, "", "filter"
	fmt.Fprintf(b, "table %s %s {\n", n.familyName(), name)
	n.objects(b)
	if name == "nat" {
		n.kind = "nat"
	}
	for _, chain := range []string{"c1", "c2", "c3"} {
		fmt.Fprintf(b, "\tchain %s {\n", chain)
		n.rules(b, 1+n.r.IntN(4))
		b.WriteString("\t}\n")
		n.chains = append(n.chains, chain)
	}
	n.verdictMaps(b)
	for _, hook := range n.nativeHooks() {
		if name != "raw" && n.chance(30) {
			continue
		}
		n.base(b, hook)
	}
	b.WriteString("}\n")
}

// base is a base chain.
func (n *nativeGen) base(b *strings.Builder, hook string) {
	n.hook, n.kind = hook, "filter"
	priority := n.oneOf("-150", "-150", "0", "-110", "-5", "50", "-250", "-100", "100", "120")
	switch {
	case n.table == "raw":
		priority = n.oneOf("-310", "-300", "-400")
	case n.table == "nat":
		n.kind = "nat"
		priority = n.oneOf("-100", "100", "-90", "0", "-199")
	case n.table == "mangle" && hook == "OUTPUT":
		n.kind = "route"
	}
	policy := n.oneOf("accept", "accept", "accept", "accept", "accept", "drop")
	if n.kind == "nat" || n.table == "raw" {
		policy = "accept"
	}
	fmt.Fprintf(b, "\tchain %s {\n\t\ttype %s hook %s priority %s; policy %s;\n", hook, n.kind, strings.ToLower(hook), priority, policy)
	if n.table == "raw" {
		b.WriteString(nativeRule + "meta nftrace set 1\n")
	}
	n.rules(b, n.r.IntN(6))
	b.WriteString("\t}\n")
	n.hook = ""
}

func (n *nativeGen) addrType() string {
	if n.w.family == netfilter.IPv6 {
		return "ipv6_addr"
	}
	return "ipv4_addr"
}

// ip is the name of the family's header.
func (n *nativeGen) ip() string {
	if n.w.family == netfilter.IPv6 {
		return "ip6"
	}
	return "ip"
}

func (n *nativeGen) someAddr() string {
	return n.oneAddr(n.w.clients, n.w.servers, n.w.services, n.w.node)
}

func (n *nativeGen) somePrefix() string { return n.w.networks[n.r.IntN(len(n.w.networks))].String() }

// objects are sets, maps and named objects of the table.
func (n *nativeGen) objects(b *strings.Builder) {
	addr := n.addrType()
	fmt.Fprintf(b, "\tcounter cnt { }\n\tquota qta { over 300 bytes }\n\tlimit lim { rate 1/hour burst 3 packets }\n")
	fmt.Fprintf(b, "\tset addrs { type %s; elements = { %s } }\n", addr, n.some(n.someAddr, 3))
	fmt.Fprintf(b, "\tset nets { type %s; flags interval; auto-merge; elements = { %s, %s } }\n", addr, n.somePrefix(), n.someAddr())
	fmt.Fprintf(b, "\tset conc { type %s . inet_proto . inet_service; elements = { %s } }\n", addr, n.some(n.addrProtoPort, 6))
	fmt.Fprintf(b, "\tset cnets { type %s . inet_service; flags interval; elements = { %s . %s } }\n", addr, n.somePrefix(),
		n.oneOf("80", "0-1000", "53-8080"))
	fmt.Fprintf(b, "\tset dyn { type %s; flags dynamic,timeout; timeout 12h; size %s; }\n", addr, n.oneOf("1", "2", "100"))
	fmt.Fprintf(b, "\tset dync { type %s . inet_service; flags dynamic; size 50; }\n", addr)
	fmt.Fprintf(b, "\tmap marks { type %s : mark; elements = { %s : 1, %s : 3 } }\n", addr, n.w.clients[0], n.w.services[0])
	fmt.Fprintf(b, "\tmap ends { type inet_service : %s . inet_service; elements = { 80 : %s . 8080, 443 : %s . 80 } }\n", addr,
		n.oneAddr(n.w.servers), n.oneAddr(n.w.servers, n.w.clients))
	fmt.Fprintf(b, "\tmap cnts { type %s : counter; elements = { %s : \"cnt\" } }\n", addr, n.w.clients[0])
}

// verdictMaps are maps that lead to the chains.
func (n *nativeGen) verdictMaps(b *strings.Builder) {
	fmt.Fprintf(b, "\tmap ports { type inet_proto . inet_service : verdict; elements = { tcp . 80 : %s, udp . 53 : %s, tcp . 443 : %s } }\n",
		n.verdict(), n.verdict(), n.verdict())
	fmt.Fprintf(b, "\tmap devs { type ifname : verdict; elements = { %s : %s, \"lo\" : %s } }\n", clientDev, n.verdict(), n.verdict())
	fmt.Fprintf(b, "\tmap froms { type %s : verdict; flags interval; elements = { %s : %s, %s : %s } }\n", n.addrType(),
		n.w.networks[0], n.verdict(), n.w.networks[1], n.verdict())
}

func (n *nativeGen) addrProtoPort() string {
	return n.someAddr() + " . " + n.oneOf("tcp", "udp") + " . " + fmt.Sprint(n.port())
}

// some are up to so many different texts.
func (n *nativeGen) some(one func() string, most int) string {
	var texts []string
	for range 1 + n.r.IntN(most) {
		if text := one(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

func (n *nativeGen) verdict() string {
	if len(n.chains) > 0 && n.chance(60) {
		return n.oneOf("jump ", "jump ", "goto ") + n.chains[n.r.IntN(len(n.chains))]
	}
	return n.oneOf("accept", "return", "continue", "continue", "drop")
}

func (n *nativeGen) rules(b *strings.Builder, count int) {
	for range count {
		var parts []string
		for range n.r.IntN(4) {
			parts = append(parts, n.match())
		}
		if n.chance(40) {
			parts = append(parts, n.oneOf("counter", "counter", `counter name "cnt"`, "log group 7", n.limit()))
		}
		if n.chance(30) {
			parts = append(parts, n.change())
		}
		if len(parts) == 0 || n.chance(60) {
			parts = append(parts, n.end())
		}
		b.WriteString(nativeRule + strings.Join(parts, " ") + "\n")
	}
}

func (n *nativeGen) limit() string {
	return n.oneOf("limit rate 1/hour burst 2 packets", "limit rate over 1/hour burst 2 packets", "limit rate 2/day",
		"limit rate 100 bytes/hour burst 200 bytes", "limit rate over 60 bytes/day", "quota 100 bytes", "quota over 150 bytes",
		`limit name "lim"`, `quota name "qta"`)
}

// not is an operator of inequality now and then.
func (n *nativeGen) not() string { return n.oneOf("", "", "", "!= ") }

// match is one condition.
func (n *nativeGen) match() string {
	kinds := []func() []func() string{n.headerMatches, n.headerMatches, n.connectionMatches, n.deviceMatches}
	all := kinds[n.r.IntN(len(kinds))]()
	return all[n.r.IntN(len(all))]()
}

// withPorts keeps nearly all rules that ask for ports to packets that have some: of others they are what no packet here says.
func (n *nativeGen) withPorts() string {
	if n.chance(5) {
		return ""
	}
	return "meta l4proto { tcp, udp, sctp } "
}

// portsOf is a header with ports.
func (n *nativeGen) portsOf(header string) string {
	if header == "th" {
		return n.withPorts() + header
	}
	return header
}

// headerMatches are conditions on what is in the packet.
func (n *nativeGen) headerMatches() []func() string {
	ip := n.ip()
	side := n.oneOf("saddr", "daddr")
	l4 := n.oneOf("tcp", "udp", "th", "sctp")
	ports := n.oneOf("dport", "dport", "sport")
	return []func() string{
		func() string { return fmt.Sprintf("%s %s %s%s", ip, side, n.not(), n.someAddr()) },
		func() string { return fmt.Sprintf("%s %s %s%s", ip, side, n.not(), n.somePrefix()) },
		func() string { return fmt.Sprintf("%s %s %s{ %s }", ip, side, n.not(), n.some(n.someAddr, 4)) },
		func() string { return fmt.Sprintf("%s %s %s@addrs", ip, side, n.not()) },
		func() string { return fmt.Sprintf("%s %s %s@nets", ip, side, n.not()) },
		func() string {
			return fmt.Sprintf("%s%s %s . meta l4proto . th dport %s@conc", n.withPorts(), ip, side, n.not())
		},
		func() string { return fmt.Sprintf("%s%s %s . th dport %s@cnets", n.withPorts(), ip, side, n.not()) },
		func() string { return fmt.Sprintf("%s daddr @dyn", ip) },
		func() string {
			return fmt.Sprintf("%s saddr . %s daddr . meta l4proto { %s . %s . tcp, %s . %s . udp }", ip, ip, n.someAddr(), n.someAddr(),
				n.someAddr(), n.someAddr())
		},
		func() string {
			return "meta l4proto " + n.not() + n.oneOf("tcp", "udp", "{ tcp, udp }", "icmp", "ipv6-icmp", "47", "sctp")
		},
		func() string {
			return n.portsOf(l4) + " " + ports + " " + n.not() + n.oneOf("80", "443", "{ 80, 443 }", "1-1000", "40001", "{ 50-60, 8080 }")
		},
		func() string {
			return n.portsOf(l4) + " " + ports + " " + n.oneOf("<", ">", "<=", ">=") + " " + n.oneOf("80", "443", "40002")
		},
		func() string {
			return "tcp flags " + n.oneOf("syn", "& (fin | syn | rst | ack) == syn", "& (fin | syn) != 0", "! fin", "{ syn, ack }", "ack / fin,ack",
				"== syn | ack")
		},
		func() string {
			return "icmp type " + n.not() + n.oneOf("echo-request", "echo-reply", "destination-unreachable")
		},
		func() string {
			return "icmpv6 type " + n.oneOf("echo-request", "echo-reply", "destination-unreachable", "packet-too-big")
		},
		func() string { return "icmp code " + n.oneOf("0", "3") },
		func() string { return "icmp id 0" },
		func() string { return n.header() },
		func() string {
			return n.withPorts() + "@th," + n.oneOf("0,16 40001", "16,16 80", "16,8 0x1", "0,32 & 0xff == 80")
		},
		func() string {
			return "tcp option maxseg " + n.oneOf("exists", "size > 600", "size 1460", "size 500-1300")
		},
		func() string { return "exthdr " + n.oneOf("frag", "hbh") + " " + n.oneOf("exists", "missing") },
		func() string {
			return "ether " + side + " " + n.not() + n.oneOf(nodeMAC(clientPlace).String(), sideMAC(clientPlace).String())
		},
	}
}

// connectionMatches are conditions on the packet's connection, on chance and on numbers.
func (n *nativeGen) connectionMatches() []func() string {
	ip, side := n.ip(), n.oneOf("saddr", "daddr")
	return []func() string{
		func() string {
			return "ct state " + n.not() + n.oneOf("new", "established", "established,related", "invalid", "related", "untracked",
				"{ new, untracked }", "new | invalid")
		},
		func() string {
			return "ct status " + n.not() + n.oneOf("dnat", "snat", "seen-reply", "assured", "confirmed", "dnat | snat")
		},
		func() string { return "ct direction " + n.oneOf("original", "reply") },
		func() string {
			return "ct mark " + n.oneOf("0", "!= 0", "1", "& 0x3 == 0x1", "> 1", "{ 0, 1, 3 }", "and 0x4000 != 0x4000")
		},
		func() string {
			return "ct " + n.oneOf("original", "reply") + " " + ip + " " + side + " " + n.not() + n.oneOf(n.someAddr(), n.somePrefix())
		},
		func() string {
			return "ct " + n.oneOf("original", "reply") + " " + n.oneOf("proto-src", "proto-dst") + " " + n.oneOf("80", "40001", "< 100")
		},
		func() string {
			return "ct " + n.oneOf("original protocol tcp", "original protocol udp", "reply protocol tcp")
		},
		func() string { return "ct l3proto " + n.oneOf("ipv4", "ipv6") },
		func() string { return "ct count " + n.oneOf("", "over ") + n.oneOf("1", "2", "3") },
		func() string {
			return "ct " + n.oneOf("", "original ", "reply ") + n.oneOf("bytes > 60", "packets 1", "packets > 1", "avgpkt < 50", "bytes 0")
		},
		func() string { return "ct expiration " + n.oneOf("> 1s", "< 1h", "> 1d") },
		func() string { return `ct helper "ftp"` },
		func() string { return "numgen random mod 2 " + n.oneOf("0", "1", "< 1") },
		func() string { return "numgen inc mod " + n.oneOf("2 0", "3 1", "3 < 2", "2 offset 4 5") },
		func() string {
			return "jhash " + ip + " saddr . " + ip + " daddr mod " + n.oneOf("2", "7") + " seed 0x12 " + n.oneOf("0", "1", "< 2")
		},
		func() string { return n.withPorts() + "jhash th dport mod 3 seed 0xdeadbeef " + n.oneOf("0", "1", "2") },
		func() string { return "meta random & 0x1 == 0x1" },
	}
}

// deviceMatches are conditions on marks, devices, routes and what else the kernel keeps beside the packet.
func (n *nativeGen) deviceMatches() []func() string {
	return []func() string{
		func() string { return "mark " + n.oneOf("0", "!= 0", "1", "& 0x3 == 0x1", "2-5", "{ 0, 1, 3 }", "> 1") },
		func() string {
			return "iifname " + n.not() + n.oneOf(clientDev, serverDev, `"cw*"`, `"lo"`, "{ cwdc, lo }", `"cwd"`)
		},
		func() string {
			return "oifname " + n.not() + n.oneOf(clientDev, serverDev, `"cw*"`, `"lo"`, "{ cwds, lo }")
		},
		func() string { return n.oneOf("iif ", "oif ") + n.not() + n.oneOf(clientDev, serverDev, "lo") },
		func() string { return n.oneOf("iiftype ", "oiftype ") + n.not() + n.oneOf("ether", "loopback") },
		func() string { return n.oneOf("iifgroup ", "oifgroup ") + n.not() + n.oneOf("0", "1") },
		func() string { return "meta length " + n.not() + n.oneOf("40", "28-60", "< 60", "> 44", "{ 40, 44 }") },
		func() string {
			return "pkttype " + n.not() + n.oneOf("host", "unicast", "broadcast", "multicast", "other")
		},
		func() string { return "meta protocol " + n.oneOf("ip", "ip6") },
		func() string { return "meta nfproto " + n.oneOf("ipv4", "ipv6") },
		func() string { return n.oneOf("skuid", "skgid") + " " + n.not() + n.oneOf("0", "1000", "0-10") },
		func() string {
			return "fib " + n.oneOf("saddr", "daddr") + n.oneOf("", "", " . iif", " . oif", " . mark") + " type " + n.not() +
				n.oneOf("local", "unicast", "{ local, broadcast }", "multicast", "blackhole", "unreachable", "prohibit")
		},
		func() string {
			return "fib " + n.oneOf("saddr", "daddr", "saddr . iif", "saddr . mark . iif", "daddr . iif", "saddr . mark", "daddr . mark") + " oif " +
				n.oneOf("missing", "exists", "0", "!= 0", clientDev)
		},
		func() string {
			return "fib " + n.oneOf("saddr", "daddr", "saddr . iif") + " oifname " + n.oneOf(clientDev, serverDev, `"lo"`)
		},
		func() string { return "rt nexthop " + n.not() + n.oneOf(n.someAddr(), n.w.gateway.String()) },
		func() string { return "rt classid 0" },
	}
}

// header is a condition on a field of the IP header.
func (n *nativeGen) header() string {
	if n.w.family == netfilter.IPv6 {
		return n.oneOf("ip6 hoplimit 64", "ip6 hoplimit < 64", "ip6 dscp ef", "ip6 dscp != cs0", "ip6 nexthdr tcp", "ip6 length > 20",
			"ip6 version 6", "ip6 ecn ect0")
	}
	return n.oneOf("ip ttl 64", "ip ttl < 64", "ip ttl > 63", "ip dscp ef", "ip dscp != cs0", "ip protocol tcp", "ip protocol { tcp, udp }",
		"ip length > 40", "ip version 4", "ip hdrlength 5", "ip ecn ect0", "ip frag-off & 0x1fff != 0")
}

// change is a statement that goes on.
func (n *nativeGen) change() string {
	ip := n.ip()
	return n.oneOf(
		"mark set "+n.oneOf("0x1", "0x3", "mark or 0x4", "mark or "+routedWord, "mark xor 0x4000", "mark and 0xfffffffe", "ct mark",
			"numgen inc mod 3", "mark & 0x3 | 0x8"),
		"ct mark set "+n.oneOf("0x1", "0x3", "mark", "ct mark or 0x2", "mark and 0x3"),
		"mark set "+ip+" saddr map @marks", "mark set "+ip+" daddr map { "+n.w.services[0].String()+" : 0x3, "+n.w.services[1].String()+" : 1 }",
		ip+" dscp set "+n.oneOf("ef", "cs1"), n.ttl(), "tcp option maxseg size set "+n.oneOf("500", "1200", "rt mtu"),
		n.oneOf("add", "update", "update", "delete")+" @dyn { "+ip+" "+n.oneOf("saddr", "daddr")+" }",
		n.withPorts()+"add @dync { "+ip+" saddr . th dport counter }",
		n.withPorts()+"add @dync { "+ip+" saddr . th dport limit rate 1/hour burst 2 packets }",
		"update @dyn { "+ip+" saddr timeout 20h }",
		"notrack", "counter name "+ip+" saddr map @cnts", "ct event set new", "meta priority set 1:2",
	)
}

func (n *nativeGen) ttl() string {
	if n.w.family == netfilter.IPv6 {
		return "ip6 hoplimit set " + n.oneOf("5", "64")
	}
	return "ip ttl set " + n.oneOf("5", "64")
}

// end is a statement that ends the rule.
func (n *nativeGen) end() string {
	if n.kind == "nat" && n.chance(70) {
		return n.translation()
	}
	ip := n.ip()
	reject := n.oneOf("reject", "reject with icmpx admin-prohibited", "reject with icmpx no-route", "reject with icmpx host-unreachable",
		"reject with tcp reset", "reject with icmpx port-unreachable")
	if n.kind == "nat" {
		reject = "accept"
	}
	switch c := n.r.IntN(100); {
	case c < 10:
		return reject
	case c < 20:
		return n.withPorts() + "meta l4proto . th dport vmap @ports"
	case c < 26:
		return "iifname vmap @devs"
	case c < 34:
		return ip + " saddr vmap @froms"
	case c < 40:
		return fmt.Sprintf("numgen %s mod 3 vmap { 0 : %s, 1 : %s }", n.oneOf("random", "inc"), n.verdict(), n.verdict())
	case c < 46:
		return n.withPorts() + fmt.Sprintf("th dport vmap { 80 : %s, 443 : %s, 1-60 : %s }", n.verdict(), n.verdict(), n.verdict())
	case c < 52:
		return fmt.Sprintf("ct state vmap { new : %s, established : %s, invalid : %s }", n.verdict(), n.verdict(), n.verdict())
	case c < 56:
		return fmt.Sprintf("mark vmap { 0 : %s, 1-3 : %s }", n.verdict(), n.verdict())
	}
	return n.verdict()
}
