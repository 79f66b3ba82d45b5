package differ

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// matchPieces are the matches. Chances are the last match of a rule (see gen.rule), so each draw shows in the trace.
var matchPieces = []piece{
	{name: "source", weight: 12, make: func(g *gen) string { return g.not("-s ") + g.network() }},
	{name: "destination", weight: 12, make: func(g *gen) string { return g.not("-d ") + g.network() }},
	{name: "fragment", weight: 2, family: netfilter.IPv4, make: some("-f", "! -f")},
	{name: "in device", weight: 5, hooks: "PREROUTING INPUT FORWARD", make: func(g *gen) string {
		return g.not("-i ") + g.oneOf(clientDev, serverDev, "lo", "cwd+")
	}},
	{name: "out device", weight: 5, hooks: "FORWARD OUTPUT POSTROUTING", make: func(g *gen) string {
		return g.not("-o ") + g.oneOf(clientDev, serverDev, "lo", "cwd+")
	}},
	{name: "tcp ports", weight: 12, proto: "tcp", make: func(g *gen) string { return "-m tcp " + g.ports() }},
	{name: "tcp flags", weight: 8, proto: "tcp", make: func(g *gen) string {
		return "-m tcp " + g.not("--tcp-flags ") +
			g.oneOf("SYN,RST,ACK,FIN SYN", "RST RST", "ACK ACK", "SYN,ACK SYN,ACK", "FIN,SYN,RST,PSH,ACK,URG NONE")
	}},
	{name: "tcp option", weight: 2, proto: "tcp", make: some("-m tcp --tcp-option 2", "-m tcp ! --tcp-option 2")},
	{name: "syn", weight: 4, proto: "tcp", make: func(g *gen) string { return "-m tcp " + g.not("--syn") }},
	{name: "udp ports", weight: 12, proto: "udp", make: func(g *gen) string { return "-m udp " + g.ports() }},
	{name: "sctp ports", weight: 12, proto: "sctp", make: func(g *gen) string { return "-m sctp " + g.ports() }},
	{name: "sctp chunks", weight: 3, proto: "sctp",
		make: some("-m sctp --chunk-types any INIT", "-m sctp --chunk-types all INIT,DATA", "-m sctp ! --chunk-types only INIT")},
	{name: "icmp type", weight: 12, proto: "icmp", family: netfilter.IPv4, make: func(g *gen) string {
		return "-m icmp " + g.not("--icmp-type ") + g.oneOf("8", "0", "3", "3/3", "any", "11/0", "echo-request")
	}},
	{name: "icmp6 type", weight: 12, proto: "icmp", family: netfilter.IPv6, make: func(g *gen) string {
		return "-m icmp6 " + g.not("--icmpv6-type ") + g.oneOf("128", "129", "1", "1/4", "3/0", "echo-request")
	}},
	{name: "multiport", weight: 6, proto: "ports", make: func(g *gen) string {
		return "-m multiport " + g.not(g.oneOf("--dports ", "--sports ", "--ports ")) +
			g.oneOf("80,443", "53,1000:2000", "80", "40001:40002,8080", "1:65535")
	}},
	{name: "comment", weight: 3, make: some(`-m comment --comment "a b"`, "-m comment --comment x")},
	{name: "ctstate", weight: 12, make: func(g *gen) string {
		return "-m conntrack " + g.not("--ctstate ") +
			g.oneOf("NEW", "ESTABLISHED", "RELATED", "INVALID", "UNTRACKED", "SNAT", "DNAT", "RELATED,ESTABLISHED", "NEW,INVALID", "DNAT,INVALID")
	}},
	{name: "ctstatus", weight: 4, make: func(g *gen) string {
		return "-m conntrack " + g.not("--ctstatus ") + g.oneOf("SEEN_REPLY", "ASSURED", "CONFIRMED", "NONE", "EXPECTED", "SEEN_REPLY,CONFIRMED")
	}},
	{name: "ctdir", weight: 4, make: some("-m conntrack --ctdir ORIGINAL", "-m conntrack --ctdir REPLY")},
	{name: "ctproto", weight: 3,
		make: some("-m conntrack --ctproto 6", "-m conntrack ! --ctproto 17", "-m conntrack --ctproto 17 --ctdir REPLY")},
	{name: "ct addresses", weight: 5, make: func(g *gen) string {
		return "-m conntrack " + g.not(g.oneOf("--ctorigsrc ", "--ctorigdst ", "--ctreplsrc ", "--ctrepldst ")) + g.network()
	}},
	{name: "ct ports", weight: 4, make: func(g *gen) string {
		return "-m conntrack --ctproto " + g.oneOf("6", "17") + " " +
			g.not(g.oneOf("--ctorigdstport ", "--ctorigsrcport ", "--ctreplsrcport ", "--ctrepldstport ")) +
			g.oneOf("80", "8080", "1:1000", "40001:40003")
	}},
	{name: "ctexpire", weight: 2, make: some("-m conntrack --ctexpire 1:1000", "-m conntrack ! --ctexpire 200:500000")},
	{name: "state", weight: 3, make: func(g *gen) string {
		return "-m state " + g.not("--state ") + g.oneOf("NEW", "ESTABLISHED,RELATED", "INVALID", "UNTRACKED")
	}},
	{name: "mark", weight: 18, make: func(g *gen) string { return "-m mark " + g.not("--mark ") + g.markMask() }},
	{name: "connmark", weight: 5, make: func(g *gen) string { return "-m connmark " + g.not("--mark ") + g.markMask() }},
	{name: "addrtype", weight: 8, make: func(g *gen) string {
		return "-m addrtype " + g.not(g.oneOf("--dst-type ", "--src-type ")) +
			g.oneOf("LOCAL", "LOCAL", "UNICAST", "UNICAST,LOCAL", "UNSPEC", "MULTICAST", "ANYCAST", "UNREACHABLE")
	}},
	{name: "addrtype of IPv4", weight: 4, family: netfilter.IPv4, make: func(g *gen) string {
		return "-m addrtype " + g.not(g.oneOf("--dst-type ", "--dst-type ", "--src-type ")) +
			g.oneOf("BROADCAST", "LOCAL,BROADCAST", "BLACKHOLE", "PROHIBIT", "THROW", "NAT", "XRESOLVE")
	}},
	{name: "addrtype in", weight: 3, hooks: "PREROUTING INPUT FORWARD",
		make: some("-m addrtype --dst-type LOCAL --limit-iface-in", "-m addrtype --src-type LOCAL --limit-iface-in",
			"-m addrtype --dst-type UNICAST --limit-iface-in")},
	{name: "addrtype out", weight: 3, hooks: "POSTROUTING OUTPUT FORWARD",
		make: some("-m addrtype --dst-type LOCAL --limit-iface-out", "-m addrtype --src-type LOCAL --limit-iface-out",
			"-m addrtype ! --dst-type UNICAST --limit-iface-out")},
	{name: "nth", weight: 4, make: func(g *gen) string {
		return "-m statistic --mode nth " + g.not("--every ") +
			g.oneOf("2 --packet 0", "3 --packet 0", "4 --packet 2", "2 --packet 1", "1 --packet 0")
	}},
	{name: "recent set", weight: 4, make: func(g *gen) string {
		return "-m recent --set --name " + g.list() + g.oneOf("", " --rdest", " --rsource")
	}},
	{name: "recent check", weight: 6, make: func(g *gen) string {
		return "-m recent " + g.not(g.oneOf("--rcheck", "--update")) + g.oneOf("", " --seconds 600", " --hitcount 2",
			" --seconds 600 --hitcount 3", " --seconds 600 --reap") + " --name " + g.list() + g.oneOf("", " --rdest")
	}},
	{name: "recent remove", weight: 2, make: func(g *gen) string { return "-m recent --remove --name " + g.list() }},
	{name: "recent mask", weight: 2, family: netfilter.IPv4, make: func(g *gen) string {
		return "-m recent " + g.oneOf("--set", "--rcheck") + " --name " + g.list() + " --mask 255.255.255.0"
	}},
	{name: "recent ttl", weight: 1, make: func(g *gen) string {
		return "-m recent " + g.oneOf("--rcheck", "--update") + " --rttl --name " + g.list()
	}},
	{name: "nfacct", weight: 3, make: func(g *gen) string { return "-m nfacct --nfacct-name " + g.account() }},
	{name: "length", weight: 3, make: func(g *gen) string {
		return "-m length " + g.not("--length ") + g.oneOf("0:40", "28", "40:60", "48:100")
	}},
	{name: "iprange", weight: 3, make: func(g *gen) string {
		from := g.oneAddr(g.w.clients, g.w.servers, g.w.services)
		return "-m iprange " + g.not(g.oneOf("--src-range ", "--dst-range ")) + from + "-" + g.last(from)
	}},
	{name: "pkttype", weight: 2,
		make: some("-m pkttype --pkt-type unicast", "-m pkttype ! --pkt-type broadcast", "-m pkttype --pkt-type multicast")},
	{name: "mac", weight: 3, hooks: "PREROUTING INPUT FORWARD", make: func(g *gen) string {
		return "-m mac " + g.not("--mac-source ") + strings.ToUpper(sideMAC(g.oneOf(clientPlace, serverPlace)).String())
	}},
	{name: "limit", weight: 3,
		make: some("-m limit --limit 1/hour --limit-burst 2", "-m limit --limit 1/hour --limit-burst 1", "-m limit --limit 2/hour")},
	{name: "hashlimit", weight: 3, make: func(g *gen) string {
		return "-m hashlimit " + g.oneOf("--hashlimit-upto", "--hashlimit-above") + " 1/hour --hashlimit-burst " + g.oneOf("1", "2", "3") +
			g.oneOf("", " --hashlimit-mode srcip", " --hashlimit-mode srcip,dstport", " --hashlimit-mode dstip", " --hashlimit-mode srcport,dstip",
				" --hashlimit-mode srcip --hashlimit-srcmask 24") + " --hashlimit-name " + g.unique("h")
	}},
	{name: "owner", weight: 2, hooks: "OUTPUT POSTROUTING",
		make: some("-m owner --uid-owner 0", "-m owner ! --uid-owner 0", "-m owner --uid-owner 0-9", "-m owner --gid-owner 7",
			"-m owner --gid-owner 0", "-m owner --socket-exists", "-m owner ! --socket-exists")},
	{name: "rpfilter", weight: 2, tables: "raw mangle", hooks: "PREROUTING",
		make: some("-m rpfilter", "-m rpfilter --invert", "-m rpfilter --loose", "-m rpfilter --accept-local --invert")},
	{name: "socket", weight: 2, hooks: "PREROUTING INPUT", make: some("-m socket", "-m socket --transparent", "-m socket --nowildcard")},
	{name: "physdev", weight: 1,
		make: some("-m physdev --physdev-is-in", "-m physdev ! --physdev-is-bridged", "-m physdev ! --physdev-in cwdc")},
	{name: "connbytes", weight: 3, make: func(g *gen) string {
		return "-m connbytes " + g.not("--connbytes ") + g.oneOf("1:2", "2", "40:60", "60", ":100", "80:200") +
			" --connbytes-dir " + g.oneOf("original", "reply", "both") + " --connbytes-mode " + g.oneOf("packets", "bytes", "avgpkt")
	}},
	{name: "cluster", weight: 2, make: func(g *gen) string {
		return "-m cluster --cluster-total-nodes " + g.oneOf("2", "3", "5") + " " + g.not("--cluster-local-node ") + g.oneOf("1", "2") +
			" --cluster-hash-seed " + g.oneOf("0", "7", "0xdeadbeef")
	}},
	{name: "connlimit", weight: 3, make: func(g *gen) string {
		return "-m connlimit " + g.oneOf("--connlimit-above ", "--connlimit-upto ") + g.oneOf("0", "1", "1", "2", "3") +
			g.oneOf("", "", " --connlimit-mask 24", " --connlimit-mask 0") + g.oneOf("", " --connlimit-daddr", " --connlimit-saddr")
	}},
	{name: "connlabel", weight: 2, make: func(g *gen) string {
		return "-m connlabel " + g.not("--label ") + g.oneOf("3", "100") + g.oneOf("", " --set", " --set")
	}},
	{name: "helper", weight: 1, make: some("-m helper --helper ftp", "-m helper ! --helper tftp", `-m helper ! --helper ""`)},
	{name: "quota", weight: 3, make: func(g *gen) string { return "-m quota " + g.not("--quota ") + g.oneOf("50", "100", "150", "300", "0") }},
	{name: "time", weight: 2, // which holds or not at every time of some decades
		make: some("-m time", "-m time --datestart 2037", "-m time --datestop 2037", "-m time ! --weekdays 1,2,3,4,5,6,7")},
	{name: "devgroup in", weight: 1, hooks: "PREROUTING INPUT FORWARD",
		make: some("-m devgroup --src-group 0", "-m devgroup ! --src-group 0", "-m devgroup --src-group 0x1/0x1")},
	{name: "devgroup out", weight: 1, hooks: "FORWARD OUTPUT POSTROUTING",
		make: some("-m devgroup --dst-group 0", "-m devgroup ! --dst-group 0x1/0x1")},
	{name: "cgroup", weight: 1, hooks: "OUTPUT POSTROUTING", make: some(`-m cgroup --path /`, `-m cgroup ! --path /`)},
	{name: "set", weight: 4, make: func(g *gen) string { return "-m set " + g.not("--match-set ") + g.set() }},
	{name: "ttl", weight: 4, family: netfilter.IPv4, make: func(g *gen) string { return "-m ttl " + g.limits("ttl") }},
	{name: "hl", weight: 4, family: netfilter.IPv6, make: func(g *gen) string { return "-m hl " + g.limits("hl") }},
	{name: "tos", weight: 3, make: func(g *gen) string {
		return "-m tos " + g.not("--tos ") + g.oneOf("0x10", "0", "Maximize-Throughput", "0xb8/0xfc", "2/3", "Normal-Service")
	}},
	{name: "dscp", weight: 3, make: func(g *gen) string {
		return "-m dscp " + g.not(g.oneOf("--dscp-class EF", "--dscp 0", "--dscp 4", "--dscp-class AF11", "--dscp 63"))
	}},
	{name: "ecn", weight: 2, make: func(g *gen) string { return "-m ecn " + g.not("--ecn-ip-ect ") + g.oneOf("0", "1", "2", "3") }},
	{name: "ecn flags", weight: 2, proto: "tcp", make: func(g *gen) string {
		return "-m ecn " + g.oneOf(g.not("--ecn-tcp-ece"), g.not("--ecn-tcp-cwr"), g.not("--ecn-tcp-ece ")+g.not("--ecn-tcp-cwr"))
	}},
	{name: "tcpmss", weight: 3, proto: "tcp", make: func(g *gen) string {
		return "-m tcpmss " + g.not("--mss ") + g.oneOf("500", "536:1460", ":1000", "1220:", "0")
	}},
	{name: "policy in", weight: 1, hooks: "PREROUTING INPUT FORWARD",
		make: some("-m policy --dir in --pol none", "-m policy --dir in --pol ipsec",
			"-m policy --dir in --pol ipsec --proto esp --mode tunnel")},
	{name: "policy out", weight: 1, hooks: "FORWARD OUTPUT POSTROUTING",
		make: some("-m policy --dir out --pol none", "-m policy --dir out --pol ipsec", "-m policy --dir out --pol ipsec --strict --reqid 5")},
	{name: "esp", weight: 4, proto: "esp", make: func(g *gen) string {
		return "-m esp " + g.not("--espspi ") + g.oneOf("5", "0:17", "18:")
	}},
	{name: "ah", weight: 4, proto: "ah", family: netfilter.IPv4, make: func(g *gen) string {
		return "-m ah " + g.not("--ahspi ") + g.oneOf("5", "0:17", "18:")
	}},
	{name: "extension headers", weight: 2, family: netfilter.IPv6, make: func(g *gen) string {
		return g.oneOf("-m frag --fragfirst", "-m hbh", "-m dst --dst-len 8", "-m rt ! --rt-type 0", "-m srh ! --srh-tag 5",
			"-m frag ! --fragid 5")
	}},
	{name: "ipv6header", weight: 2, family: netfilter.IPv6, make: func(g *gen) string {
		return "-m ipv6header " + g.not("--header ") + g.oneOf("prot", "frag", "esp", "prot,frag", "none") + g.oneOf("", " --soft")
	}},
	{name: "eui64", weight: 1, family: netfilter.IPv6, hooks: "PREROUTING INPUT FORWARD", make: some("-m eui64")},
	{name: "string", weight: 3, proto: "ports", make: func(g *gen) string {
		return "-m string --algo " + g.oneOf("bm", "kmp") + " " + g.not(g.oneOf("--string GET", "--string get", "--hex-string |0506070809|",
			"--hex-string |202f|")) + g.oneOf("", "", " --icase", " --from 28", " --to 44", " --from 40 --to 65")
	}},
	{name: "u32 of IPv4", weight: 3, proto: "ports", family: netfilter.IPv4, make: func(g *gen) string {
		return "-m u32 " + g.not("--u32 ") + g.oneOf(`"6&0xff=6"`, `"4&0x3fff=0"`, `"0&0xffff=40:60"`, `"5&0xff=62:64"`, `"12=0x0a4e0102"`,
			`"0>>22&0x3c@0>>16=1:40001"`, `"0>>22&0x3c@0&0xffff=80"`, `"6&0xff=17&&28=0x47455420"`)
	}},
	{name: "u32 of IPv6", weight: 3, proto: "ports", family: netfilter.IPv6, make: func(g *gen) string {
		return "-m u32 " + g.not("--u32 ") + g.oneOf(`"3&0xff=6"`, `"4>>16=20:40"`, `"4&0xff=62:64"`, `"8=0xfd780001"`, `"40>>16=1:40001"`,
			`"40&0xffff=80"`, `"3&0xff=17&&48=0x47455420"`)
	}},
	{name: "u32 of TCP", weight: 2, proto: "tcp", family: netfilter.IPv4, make: func(g *gen) string {
		return "-m u32 " + g.not("--u32 ") + g.oneOf(`"0>>22&0x3c@12>>26&0x3c@0=0x47455420"`, `"0>>22&0x3c@12>>28=5"`)
	}},
	{name: "bpf of IPv4", weight: 3, proto: "ports", family: netfilter.IPv4,
		make: some(`-m bpf --bytecode "4,48 0 0 9,21 0 1 6,6 0 0 1,6 0 0 0"`,
			`-m bpf --bytecode "5,177 0 0 0,72 0 0 2,21 0 1 80,6 0 0 1,6 0 0 0"`,
			`-m bpf --bytecode "4,32 0 0 12,21 0 1 172884226,6 0 0 1,6 0 0 0"`, `-m bpf --bytecode "4,128 0 0 0,37 0 1 44,6 0 0 1,6 0 0 0"`)},
	{name: "bpf of IPv6", weight: 3, proto: "ports", family: netfilter.IPv6,
		make: some(`-m bpf --bytecode "4,48 0 0 6,21 0 1 6,6 0 0 1,6 0 0 0"`, `-m bpf --bytecode "4,40 0 0 42,21 0 1 80,6 0 0 1,6 0 0 0"`)},
	{name: "bpf", weight: 2, make: some(`-m bpf --bytecode "4,32 0 0 4294963220,21 0 1 1,6 0 0 1,6 0 0 0"`,
		`-m bpf --bytecode "4,40 0 0 4294963200,21 0 1 2048,6 0 0 1,6 0 0 0"`, `-m bpf --bytecode "2,32 0 0 60,6 0 0 1"`)},
	{name: "set of sets", weight: 2, make: func(g *gen) string {
		g.usesSets = true
		return "-m set " + g.not("--match-set ") + g.oneOf("cwlist src", "cwlist dst", "cwlist src,src", "cwlist dst,dst")
	}},
}

// randomPiece stands apart since it must be the last match of its rule.
var randomPiece = piece{name: "random", weight: 1, make: func(g *gen) string {
	return "-m statistic --mode random " + g.not("--probability ") +
		g.oneOf("0.50000000000", "0.33333333349", "0.25000000000", "0.90000000000", "0.10000000009")
}}
