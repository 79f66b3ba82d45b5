package differ

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// piece is one kind of match or target. The generator picks pieces by weight.
type piece struct {
	name   string
	weight int
	// tables and hooks are where it is legal, separated by blanks; empty is everywhere.
	tables, hooks string
	// proto is the protocol that the rule must name for it: tcp, udp, sctp, icmp, or "ports" for the first three.
	proto  string
	family fakeipt.Family // 0: both
	make   func(g *gen) string
}

// some makes a piece that is one of a few texts.
func some(texts ...string) func(*gen) string {
	return func(g *gen) string { return g.oneOf(texts...) }
}

// matchPieces are the matches. Chances are the last match of a rule (see gen.rule), so each draw shows in the trace.
var matchPieces = []piece{
	{name: "source", weight: 12, make: func(g *gen) string { return g.not("-s ") + g.network() }},
	{name: "destination", weight: 12, make: func(g *gen) string { return g.not("-d ") + g.network() }},
	{name: "fragment", weight: 2, family: fakeipt.IPv4, make: some("-f", "! -f")},
	{name: "in device", weight: 5, hooks: "PREROUTING INPUT FORWARD", make: func(g *gen) string { return g.not("-i ") + g.oneOf(clientDev, serverDev, "lo", "cwd+") }},
	{name: "out device", weight: 5, hooks: "FORWARD OUTPUT POSTROUTING", make: func(g *gen) string { return g.not("-o ") + g.oneOf(clientDev, serverDev, "lo", "cwd+") }},
	{name: "tcp ports", weight: 12, proto: "tcp", make: func(g *gen) string { return "-m tcp " + g.ports() }},
	{name: "tcp flags", weight: 8, proto: "tcp", make: func(g *gen) string {
		return "-m tcp " + g.not("--tcp-flags ") + g.oneOf("SYN,RST,ACK,FIN SYN", "RST RST", "ACK ACK", "SYN,ACK SYN,ACK", "FIN,SYN,RST,PSH,ACK,URG NONE")
	}},
	{name: "tcp option", weight: 2, proto: "tcp", make: some("-m tcp --tcp-option 2", "-m tcp ! --tcp-option 2")},
	{name: "syn", weight: 4, proto: "tcp", make: func(g *gen) string { return "-m tcp " + g.not("--syn") }},
	{name: "udp ports", weight: 12, proto: "udp", make: func(g *gen) string { return "-m udp " + g.ports() }},
	{name: "sctp ports", weight: 12, proto: "sctp", make: func(g *gen) string { return "-m sctp " + g.ports() }},
	{name: "sctp chunks", weight: 3, proto: "sctp", make: some("-m sctp --chunk-types any INIT", "-m sctp --chunk-types all INIT,DATA", "-m sctp ! --chunk-types only INIT")},
	{name: "icmp type", weight: 12, proto: "icmp", family: fakeipt.IPv4, make: func(g *gen) string {
		return "-m icmp " + g.not("--icmp-type ") + g.oneOf("8", "0", "3", "3/3", "any", "11/0", "echo-request")
	}},
	{name: "icmp6 type", weight: 12, proto: "icmp", family: fakeipt.IPv6, make: func(g *gen) string {
		return "-m icmp6 " + g.not("--icmpv6-type ") + g.oneOf("128", "129", "1", "1/4", "3/0", "echo-request")
	}},
	{name: "multiport", weight: 6, proto: "ports", make: func(g *gen) string {
		return "-m multiport " + g.not(g.oneOf("--dports ", "--sports ", "--ports ")) + g.oneOf("80,443", "53,1000:2000", "80", "40001:40002,8080", "1:65535")
	}},
	{name: "comment", weight: 3, make: some(`-m comment --comment "a b"`, "-m comment --comment x")},
	{name: "ctstate", weight: 12, make: func(g *gen) string {
		return "-m conntrack " + g.not("--ctstate ") + g.oneOf("NEW", "ESTABLISHED", "RELATED", "INVALID", "UNTRACKED", "SNAT", "DNAT", "RELATED,ESTABLISHED", "NEW,INVALID", "DNAT,INVALID")
	}},
	{name: "ctstatus", weight: 4, make: func(g *gen) string {
		return "-m conntrack " + g.not("--ctstatus ") + g.oneOf("SEEN_REPLY", "ASSURED", "CONFIRMED", "NONE", "EXPECTED", "SEEN_REPLY,CONFIRMED")
	}},
	{name: "ctdir", weight: 4, make: some("-m conntrack --ctdir ORIGINAL", "-m conntrack --ctdir REPLY")},
	{name: "ctproto", weight: 3, make: some("-m conntrack --ctproto 6", "-m conntrack ! --ctproto 17", "-m conntrack --ctproto 17 --ctdir REPLY")},
	{name: "ct addresses", weight: 5, make: func(g *gen) string {
		return "-m conntrack " + g.not(g.oneOf("--ctorigsrc ", "--ctorigdst ", "--ctreplsrc ", "--ctrepldst ")) + g.network()
	}},
	{name: "ct ports", weight: 4, make: func(g *gen) string {
		return "-m conntrack --ctproto " + g.oneOf("6", "17") + " " + g.not(g.oneOf("--ctorigdstport ", "--ctorigsrcport ", "--ctreplsrcport ", "--ctrepldstport ")) + g.oneOf("80", "8080", "1:1000", "40001:40003")
	}},
	{name: "ctexpire", weight: 2, make: some("-m conntrack --ctexpire 1:1000", "-m conntrack ! --ctexpire 200:500000")},
	{name: "state", weight: 3, make: func(g *gen) string {
		return "-m state " + g.not("--state ") + g.oneOf("NEW", "ESTABLISHED,RELATED", "INVALID", "UNTRACKED")
	}},
	{name: "mark", weight: 18, make: func(g *gen) string { return "-m mark " + g.not("--mark ") + g.markMask() }},
	{name: "connmark", weight: 5, make: func(g *gen) string { return "-m connmark " + g.not("--mark ") + g.markMask() }},
	{name: "addrtype", weight: 8, make: func(g *gen) string {
		return "-m addrtype " + g.not(g.oneOf("--dst-type ", "--src-type ")) + g.oneOf("LOCAL", "LOCAL", "UNICAST", "UNICAST,LOCAL", "UNSPEC", "MULTICAST", "ANYCAST", "UNREACHABLE")
	}},
	{name: "addrtype of IPv4", weight: 4, family: fakeipt.IPv4, make: func(g *gen) string {
		return "-m addrtype " + g.not(g.oneOf("--dst-type ", "--dst-type ", "--src-type ")) + g.oneOf("BROADCAST", "LOCAL,BROADCAST", "BLACKHOLE", "PROHIBIT", "THROW", "NAT", "XRESOLVE")
	}},
	{name: "addrtype in", weight: 3, hooks: "PREROUTING INPUT FORWARD", make: some("-m addrtype --dst-type LOCAL --limit-iface-in", "-m addrtype --src-type LOCAL --limit-iface-in", "-m addrtype --dst-type UNICAST --limit-iface-in")},
	{name: "addrtype out", weight: 3, hooks: "POSTROUTING OUTPUT FORWARD", make: some("-m addrtype --dst-type LOCAL --limit-iface-out", "-m addrtype --src-type LOCAL --limit-iface-out", "-m addrtype ! --dst-type UNICAST --limit-iface-out")},
	{name: "nth", weight: 4, make: func(g *gen) string {
		return "-m statistic --mode nth " + g.not("--every ") + g.oneOf("2 --packet 0", "3 --packet 0", "4 --packet 2", "2 --packet 1", "1 --packet 0")
	}},
	{name: "recent set", weight: 4, make: func(g *gen) string {
		return "-m recent --set --name " + g.list() + g.oneOf("", " --rdest", " --rsource")
	}},
	{name: "recent check", weight: 6, make: func(g *gen) string {
		return "-m recent " + g.not(g.oneOf("--rcheck", "--update")) + g.oneOf("", " --seconds 600", " --hitcount 2", " --seconds 600 --hitcount 3", " --seconds 600 --reap") + " --name " + g.list() + g.oneOf("", " --rdest")
	}},
	{name: "recent remove", weight: 2, make: func(g *gen) string { return "-m recent --remove --name " + g.list() }},
	{name: "recent mask", weight: 2, family: fakeipt.IPv4, make: func(g *gen) string {
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
	{name: "pkttype", weight: 2, make: some("-m pkttype --pkt-type unicast", "-m pkttype ! --pkt-type broadcast", "-m pkttype --pkt-type multicast")},
	{name: "mac", weight: 3, hooks: "PREROUTING INPUT FORWARD", make: func(g *gen) string {
		return "-m mac " + g.not("--mac-source ") + strings.ToUpper(sideMAC(g.oneOf(clientPlace, serverPlace)).String())
	}},
	{name: "limit", weight: 3, make: some("-m limit --limit 1/hour --limit-burst 2", "-m limit --limit 1/hour --limit-burst 1", "-m limit --limit 2/hour")},
	{name: "hashlimit", weight: 3, make: func(g *gen) string {
		return "-m hashlimit " + g.oneOf("--hashlimit-upto", "--hashlimit-above") + " 1/hour --hashlimit-burst " + g.oneOf("1", "2", "3") +
			g.oneOf("", " --hashlimit-mode srcip", " --hashlimit-mode srcip,dstport", " --hashlimit-mode dstip", " --hashlimit-mode srcport,dstip", " --hashlimit-mode srcip --hashlimit-srcmask 24") + " --hashlimit-name " + g.unique("h")
	}},
	{name: "owner", weight: 2, hooks: "OUTPUT POSTROUTING", make: some("-m owner --uid-owner 0", "-m owner ! --uid-owner 0", "-m owner --uid-owner 0-9", "-m owner --gid-owner 7", "-m owner --gid-owner 0", "-m owner --socket-exists", "-m owner ! --socket-exists")},
	{name: "rpfilter", weight: 2, tables: "raw mangle", hooks: "PREROUTING", make: some("-m rpfilter", "-m rpfilter --invert", "-m rpfilter --loose", "-m rpfilter --accept-local --invert")},
	{name: "socket", weight: 2, hooks: "PREROUTING INPUT", make: some("-m socket", "-m socket --transparent", "-m socket --nowildcard")},
	{name: "physdev", weight: 1, make: some("-m physdev --physdev-is-in", "-m physdev ! --physdev-is-bridged", "-m physdev ! --physdev-in cwdc")},
	{name: "set", weight: 4, make: func(g *gen) string { return "-m set " + g.not("--match-set ") + g.set() }},
	{name: "set of sets", weight: 2, make: func(g *gen) string {
		g.usesSets = true
		return "-m set " + g.not("--match-set ") + g.oneOf("cwlist src", "cwlist dst", "cwlist src,src", "cwlist dst,dst")
	}},
}

// targetPieces are the targets besides verdicts and jumps.
var targetPieces = []piece{
	{name: "MARK", weight: 16, make: func(g *gen) string {
		return "-j MARK " + g.oneOf("--set-mark ", "--set-xmark ", "--and-mark ", "--or-mark ", "--xor-mark ", "--xor-mark ") + g.oneOf("0x1", "0x1", "0x2", "0x3", "0x3", "0x4000")
	}},
	{name: "MARK with mask", weight: 4, make: func(g *gen) string { return "-j MARK " + g.oneOf("--set-mark ", "--set-xmark ") + g.markMask() }},
	{name: "CONNMARK", weight: 6, make: some("-j CONNMARK --save-mark", "-j CONNMARK --restore-mark", "-j CONNMARK --set-mark 0x1", "-j CONNMARK --set-xmark 0x2/0x3",
		"-j CONNMARK --save-mark --nfmask 0x3 --ctmask 0xff", "-j CONNMARK --restore-mark --nfmask 0xff --ctmask 0x3", "-j CONNMARK --or-mark 0x4", "-j CONNMARK --and-mark 0x1", "-j CONNMARK --xor-mark 0x2")},
	{name: "DNAT to an address", weight: 14, tables: "nat", hooks: "PREROUTING OUTPUT", make: func(g *gen) string { return "-j DNAT --to-destination " + g.endpoint() }},
	{name: "DNAT to a port", weight: 10, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports", make: func(g *gen) string {
		return "-j DNAT --to-destination " + g.withPort(g.endpoint(), g.oneOf("8080", "80"))
	}},
	{name: "DNAT of the port alone", weight: 3, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports", make: some("-j DNAT --to-destination :8080", "-j DNAT --to-destination :1000")},
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
	{name: "REDIRECT to a port", weight: 5, tables: "nat", hooks: "PREROUTING OUTPUT", proto: "ports", make: some("-j REDIRECT --to-ports 8080", "-j REDIRECT --to-ports 1000", "-j REDIRECT --to-ports 8080 --random")},
	{name: "SNAT", weight: 10, tables: "nat", hooks: "POSTROUTING INPUT", make: func(g *gen) string { return "-j SNAT --to-source " + g.source() }},
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
	{name: "MASQUERADE random", weight: 4, tables: "nat", hooks: "POSTROUTING", make: some("-j MASQUERADE --random", "-j MASQUERADE --random-fully")},
	{name: "MASQUERADE to ports", weight: 2, tables: "nat", hooks: "POSTROUTING", proto: "ports", make: some("-j MASQUERADE --to-ports 50001", "-j MASQUERADE --to-ports 50001-50009")},
	{name: "NETMAP", weight: 3, tables: "nat", hooks: "PREROUTING OUTPUT", make: func(g *gen) string {
		return "-j NETMAP --to " + g.oneOf(g.w.networks[1].String(), g.w.networks[0].String())
	}},
	{name: "NETMAP of the source", weight: 2, tables: "nat", hooks: "POSTROUTING INPUT", make: func(g *gen) string {
		return "-j NETMAP --to " + g.oneOf(g.w.networks[1].String(), g.w.networks[0].String())
	}},
	{name: "REJECT", weight: 10, tables: "filter", make: some("-j REJECT")},
	{name: "REJECT with", weight: 6, tables: "filter", family: fakeipt.IPv4, make: some("-j REJECT --reject-with icmp-host-unreachable", "-j REJECT --reject-with icmp-net-unreachable",
		"-j REJECT --reject-with icmp-proto-unreachable", "-j REJECT --reject-with icmp-admin-prohibited", "-j REJECT --reject-with icmp-host-prohibited", "-j REJECT --reject-with icmp-net-prohibited", "-j REJECT --reject-with icmp-port-unreachable")},
	{name: "REJECT with 6", weight: 6, tables: "filter", family: fakeipt.IPv6, make: some("-j REJECT --reject-with icmp6-no-route", "-j REJECT --reject-with icmp6-adm-prohibited",
		"-j REJECT --reject-with icmp6-addr-unreachable", "-j REJECT --reject-with icmp6-policy-fail", "-j REJECT --reject-with icmp6-reject-route", "-j REJECT --reject-with icmp6-port-unreachable")},
	{name: "REJECT with a reset", weight: 6, tables: "filter", proto: "tcp", make: some("-j REJECT --reject-with tcp-reset")},
	{name: "NOTRACK", weight: 5, tables: "raw", make: some("-j NOTRACK")},
	{name: "CT notrack", weight: 3, tables: "raw", make: some("-j CT --notrack")},
	{name: "CT zone", weight: 3, tables: "raw", make: some("-j CT --zone 1", "-j CT --zone 2", "-j CT --zone-orig 1", "-j CT --zone-reply 1")},
	{name: "CT", weight: 2, tables: "raw", make: some("-j CT", "-j CT --ctevents new", "-j CT --zone 1 --ctevents new,destroy")},
	{name: "NFQUEUE", weight: 3, make: some("-j NFQUEUE --queue-num 3", "-j NFQUEUE --queue-num 3 --queue-bypass", "-j NFQUEUE --queue-balance 3:5 --queue-bypass")},
	{name: "LOG", weight: 2, make: some(`-j LOG --log-prefix "cw "`, "-j LOG --log-level 7")},
	{name: "NFLOG", weight: 2, make: some("-j NFLOG --nflog-group 5", `-j NFLOG --nflog-prefix "x"`)},
	{name: "TPROXY", weight: 2, tables: "mangle", hooks: "PREROUTING", proto: "tcp", make: some("-j TPROXY --on-port 8080 --tproxy-mark 0x1/0x1", "-j TPROXY --on-port 80")},
	{name: "TCPMSS", weight: 2, tables: "mangle", proto: "tcp syn", hooks: "FORWARD OUTPUT POSTROUTING", make: some("-j TCPMSS --clamp-mss-to-pmtu", "-j TCPMSS --set-mss 1000")},
	{name: "CHECKSUM", weight: 2, tables: "mangle", make: some("-j CHECKSUM --checksum-fill")},
	{name: "SET", weight: 3, make: func(g *gen) string {
		return "-j SET " + g.oneOf("--add-set "+g.set()+g.oneOf("", " --exist"), "--del-set "+g.set())
	}},
	{name: "no target", weight: 10, make: some("")},
}

// allPieces are both kinds with the kind's name.
func allPieces() map[string]piece {
	all := map[string]piece{}
	for _, p := range matchPieces {
		all["match "+p.name] = p
	}
	for _, p := range targetPieces {
		all["target "+p.name] = p
	}
	all["match random"] = randomPiece
	return all
}

// randomPiece stands apart since it must be the last match of its rule.
var randomPiece = piece{name: "random", weight: 1, make: func(g *gen) string {
	return "-m statistic --mode random " + g.not("--probability ") + g.oneOf("0.50000000000", "0.33333333349", "0.25000000000", "0.90000000000", "0.10000000009")
}}

// fits says whether the piece may stand in a rule of the table in a chain that these hooks reach.
func (p *piece) fits(g *gen, table string, hooks []string, proto string) bool {
	if g.off[p.name] || p.family != 0 && p.family != g.w.family || p.tables != "" && !strings.Contains(" "+p.tables+" ", " "+table+" ") {
		return false
	}
	for _, h := range hooks {
		if p.hooks != "" && !strings.Contains(" "+p.hooks+" ", " "+h+" ") {
			return false
		}
	}
	switch p.proto {
	case "", proto:
		return true
	case "ports":
		return proto == "tcp" || proto == "udp" || proto == "sctp"
	case "tcp syn":
		return proto == "tcp"
	}
	return false
}

// text makes the piece's words.
func (p *piece) text(g *gen) string {
	text := p.make(g)
	if p.proto == "tcp syn" {
		text = "-m tcp --tcp-flags SYN,RST SYN " + text
	}
	return strings.TrimSpace(text)
}

// protoWord is how -p names a protocol of the generator.
func protoWord(proto string, f fakeipt.Family) string {
	if proto == "icmp" && f == fakeipt.IPv6 {
		return "ipv6-icmp"
	}
	return proto
}

func (g *gen) ports() string {
	return g.not(g.oneOf("--dport ", "--dport ", "--sport ")) + g.oneOf("80", "80", "443", "53", "8080", "1:1000", "40001", "40001:40002", "1000:")
}

func (g *gen) markMask() string {
	return g.oneOf("0x1", "0x1/0x1", "0x1/0x1", "0x2/0x2", "0x4000/0x4000", "0x0/0x3", "0x3/0xff", "0x0")
}

// network is an address or a network of the lab.
func (g *gen) network() string {
	if g.chance(50) {
		return g.w.networks[g.r.IntN(len(g.w.networks))].String()
	}
	return g.oneAddr(g.w.clients, g.w.servers, g.w.services, g.w.node)
}

// endpoint is where DNAT may lead; source is what SNAT may make.
func (g *gen) endpoint() string {
	return g.oneAddr(g.w.servers, g.w.servers, g.w.clients, g.w.node[:2])
}
func (g *gen) source() string { return g.oneAddr(g.w.node[:2], g.w.servers, g.w.services) }

func (g *gen) withPort(addr, port string) string {
	if strings.Contains(addr, ":") {
		return "[" + addr + "]:" + port
	}
	return addr + ":" + port
}

// set is the name of a set and the sides of the packet that are looked up.
func (g *gen) set() string {
	g.usesSets = true
	return g.oneOf("cwip src", "cwip dst", "cwipport dst,dst", "cwipport src,src", "cwnet src", "cwnet dst",
		"cwipportip dst,dst,src", "cwipportnet src,dst,dst", "cwnetport dst,dst", "cwport dst", "cwport src")
}

func (g *gen) account() string {
	g.usesAccounts = true
	return g.oneOf(accounts...)
}

var accounts = []string{"cw-one", "cw-two"}

// sets is the input of ipset for the sets of the generator.
func (w *world) sets() string {
	family := "inet"
	if w.family == fakeipt.IPv6 {
		family = "inet6"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "create cwip hash:ip family %s\ncreate cwipport hash:ip,port family %s\ncreate cwnet hash:net family %s\n", family, family, family)
	fmt.Fprintf(&b, "add cwip %s\nadd cwip %s\nadd cwip %s\n", w.clients[0], w.servers[1], w.services[0])
	fmt.Fprintf(&b, "add cwipport %s,tcp:80\nadd cwipport %s,udp:53\nadd cwipport %s,tcp:80\n", w.services[0], w.services[0], w.servers[0])
	fmt.Fprintf(&b, "add cwnet %s\nadd cwnet %s\n", w.networks[0], w.networks[2])
	fmt.Fprintf(&b, "create cwipportip hash:ip,port,ip family %s\ncreate cwipportnet hash:ip,port,net family %s\ncreate cwnetport hash:net,port family %s\n", family, family, family)
	fmt.Fprintf(&b, "add cwipportip %s,tcp:80,%s\nadd cwipportip %s,udp:80,%s\n", w.services[0], w.clients[0], w.servers[0], w.clients[1])
	fmt.Fprintf(&b, "add cwipportnet %s,tcp:80,%s\nadd cwipportnet %s,tcp:443,%s\n", w.clients[0], w.networks[2], w.clients[1], w.networks[1])
	fmt.Fprintf(&b, "add cwnetport %s,tcp:80\nadd cwnetport %s,udp:443\n", w.networks[2], w.networks[1])
	b.WriteString("create cwport bitmap:port range 0-60000\nadd cwport 80\nadd cwport 40001-40002\n")
	b.WriteString("create cwlist list:set\nadd cwlist cwip\nadd cwlist cwipport\nadd cwlist cwnet\n")
	return b.String()
}
