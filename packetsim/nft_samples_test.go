package packetsim

// nftSample is a rule with something that nft 1.0.6 has, in the form in which nft lists it.
type nftSample struct {
	name   string
	family string // of the table; empty: inet
	// chain is the type, hook and so on of the base chain; empty: filter at forward.
	chain string
	rule  string
	// block is what the table has beside the chain, as nft lists it.
	block string
}

// nftSamples are all kinds of what rules have, by the titles of the page.
var nftSamples = []struct {
	title   string
	samples []nftSample
}{
	{"Headers", nftHeaderSamples},
	{"Keys of meta", nftMetaSamples},
	{"Keys of ct", nftCTSamples},
	{"Other expressions", nftExpressionSamples},
	{"Statements", nftStatementSamples},
	{"Objects", nftObjectSamples},
	{"Sets and maps", nftSetSamples},
	{"Tables and chains", nftChainSamples},
}

var nftHeaderSamples = []nftSample{
	{name: "ether", rule: "ether saddr 02:00:00:00:00:01"},
	{name: "vlan", family: "bridge", rule: "vlan id 5"},
	{name: "arp", family: "arp", chain: nftARPInput, rule: "arp operation request"},
	{name: "ip", rule: "ip saddr 10.0.0.1"},
	{name: "ip option", family: "ip", rule: "ip option lsrr ptr 1"},
	{name: "icmp", rule: "icmp type echo-request"},
	{name: "igmp", rule: "meta nfproto ipv4 igmp type membership-query"},
	{name: "ip6", rule: "ip6 saddr fd00::1"},
	{name: "icmpv6", rule: "icmpv6 type echo-request"},
	{name: "tcp", rule: "tcp dport 80"},
	{name: "tcp option", rule: "tcp option maxseg size 500"},
	{name: "udp", rule: "udp dport 53"},
	{name: "udplite", rule: "udplite dport 53"},
	{name: "sctp", rule: "sctp dport 53"},
	{name: "sctp chunk", rule: "sctp chunk data exists"},
	{name: "dccp", rule: "dccp dport 53"},
	{name: "dccp type", rule: "dccp type request"},
	{name: "ah", rule: "ah spi 5"},
	{name: "esp", rule: "esp spi 5"},
	{name: "comp", rule: "comp cpi 5"},
	{name: "th", rule: "th dport 80"},
	{name: "hbh", family: "ip6", rule: "hbh hdrlength 5"},
	{name: "rt (header)", family: "ip6", rule: "rt seg-left 5"},
	{name: "srh", family: "ip6", rule: "srh tag 5"},
	{name: "srh sid, rt0 addr", family: "ip6", rule: "srh sid[1] fd00::1"},
	{name: "frag", family: "ip6", rule: "frag id 5"},
	{name: "dst", family: "ip6", rule: "dst hdrlength 5"},
	{name: "mh", family: "ip6", rule: "mh type home-test-init"},
	{name: "exthdr", family: "ip6", rule: "exthdr hbh exists"},
	{name: "@ll", rule: "@ll,0,16 0x5"},
	{name: "@nh", rule: "@nh,0,8 0x45"},
	{name: "@th", rule: "@th,0,8 0x50"},
	{name: "@ih", rule: "@ih,0,16 0x50"},
}

var nftMetaSamples = []nftSample{
	{name: "length", rule: "meta length 40"},
	{name: "protocol", rule: "meta protocol ip"},
	{name: "priority", rule: "meta priority 1:2"},
	{name: "mark", rule: "meta mark 0x00000001"},
	{name: "iif", rule: `iif "lo"`},
	{name: "oif", rule: `oif "lo"`},
	{name: "iifname", rule: `iifname "veth1"`},
	{name: "oifname", rule: `oifname "veth1"`},
	{name: "iiftype", rule: "meta iiftype ether"},
	{name: "oiftype", rule: "meta oiftype ether"},
	{name: "skuid", chain: nftOutput, rule: "meta skuid 1000"},
	{name: "skgid", chain: nftOutput, rule: "meta skgid 1000"},
	{name: "nftrace", rule: "meta nftrace set 1"},
	{name: "rtclassid", rule: "meta rtclassid 5"},
	{name: "nfproto", rule: "meta nfproto ipv4"},
	{name: "l4proto", rule: "meta l4proto tcp"},
	{name: "ibrname", family: "bridge", rule: `meta ibrname "br0"`},
	{name: "obrname", family: "bridge", rule: `meta obrname "br0"`},
	{name: "pkttype", rule: "meta pkttype broadcast"},
	{name: "cpu", rule: "meta cpu 0"},
	{name: "iifgroup", rule: "iifgroup 5"},
	{name: "oifgroup", rule: "oifgroup 5"},
	{name: "cgroup", chain: nftOutput, rule: "meta cgroup 5"},
	{name: "random", rule: "meta random & 1 == 0"},
	{name: "ipsec", rule: "meta ipsec exists"},
	{name: "iifkind", rule: `meta iifkind "veth"`},
	{name: "oifkind", rule: `meta oifkind "veth"`},
	{name: "ibrpvid", family: "bridge", rule: "meta ibrpvid 5"},
	{name: "ibrvproto", family: "bridge", rule: "meta ibrvproto 8021q"},
	{name: "time", rule: `meta time "2022-01-01 00:00:00"`},
	{name: "day", rule: `meta day "Monday"`},
	{name: "hour", rule: `meta hour "08:00"`},
	{name: "sdif", rule: `meta sdif "lo"`},
	{name: "sdifname", rule: `meta sdifname "lo"`},
	{name: "mark set", rule: "meta mark set 0x00000001"},
	{name: "priority set", rule: "meta priority set 1:2"},
	{name: "pkttype set", chain: nftPrerouting, rule: "meta pkttype set host"},
}

var nftCTSamples = []nftSample{
	{name: "state", rule: "ct state established"},
	{name: "direction", rule: "ct direction original"},
	{name: "status", rule: "ct status dnat"},
	{name: "mark", rule: "ct mark 0x00000001"},
	{name: "expiration", rule: "ct expiration 5m"},
	{name: "helper", rule: `ct helper "ftp"`},
	{name: "l3proto", rule: "ct l3proto ipv4"},
	{name: "saddr", rule: "ct original ip saddr 10.0.0.1"},
	{name: "daddr", rule: "ct reply ip6 daddr fd00::1"},
	{name: "protocol", rule: "ct protocol tcp"},
	{name: "proto-src", rule: "meta l4proto tcp ct original proto-src 80"},
	{name: "proto-dst", rule: "meta l4proto tcp ct original proto-dst 80"},
	{name: "label", rule: "ct label 5"},
	{name: "packets", rule: "ct original packets 5"},
	{name: "bytes", rule: "ct original bytes 5"},
	{name: "avgpkt", rule: "ct original avgpkt 5"},
	{name: "zone", rule: "ct zone 5"},
	{name: "id", rule: "ct id 5"},
	{name: "count", rule: "ct count over 5"},
	{name: "mark set", rule: "ct mark set 0x00000001"},
	{name: "label set", rule: "ct label set 5"},
	{name: "zone set", chain: nftRaw, rule: "ct zone set 5"},
	{name: "event set", rule: "ct event set new,destroy"},
}

var nftExpressionSamples = []nftSample{
	{name: "rt classid", chain: nftOutput, rule: "rt classid 5"},
	{name: "rt nexthop", rule: "rt ip nexthop 10.0.0.1"},
	{name: "rt mtu", rule: "rt mtu 1500"},
	{name: "rt ipsec", rule: "rt ipsec exists"},
	{name: "socket transparent", chain: nftPrerouting, rule: "socket transparent 1"},
	{name: "socket mark", chain: nftPrerouting, rule: "socket mark 0x00000001"},
	{name: "socket wildcard", chain: nftPrerouting, rule: "socket wildcard 0"},
	{name: "osf", rule: `osf name "Linux"`},
	{name: "ipsec", rule: "ipsec in reqid 5"},
	{name: "fib oif", chain: nftPrerouting, rule: `fib saddr . iif oif "lo"`},
	{name: "fib oifname", chain: nftPrerouting, rule: `fib saddr . iif oifname "lo"`},
	{name: "fib type", chain: nftPrerouting, rule: "fib daddr type local"},
	{name: "fib exists", chain: nftPrerouting, rule: "fib saddr . iif oif exists"},
	{name: "numgen inc", rule: "numgen inc mod 2 1"},
	{name: "numgen random", rule: "numgen random mod 2 1"},
	{name: "jhash", rule: "jhash ip saddr mod 2 seed 0x1 1"},
	{name: "symhash", rule: "symhash mod 2 1"},
	{name: "prefix", rule: "ip saddr 10.0.0.0/8"},
	{name: "range", rule: "tcp dport 80-90"},
	{name: "comparison", rule: "tcp dport > 80"},
	{name: "&, |, ^", rule: "meta mark set meta mark & 0x0000001f | 0x00000010"},
	{name: "<<, >>", rule: "meta mark set meta mark << 2"},
	{name: "flags", rule: "tcp flags syn / syn,ack"},
	{name: "anonymous set", rule: "tcp dport { 80, 443 }"},
	{name: "named set", block: nftSetBlock, rule: "ip saddr @s"},
	{name: "anonymous map", rule: "meta mark set tcp dport map { 80 : 0x00000001, 443 : 0x00000002 }"},
	{name: "vmap", rule: "tcp dport vmap { 80 : accept, 443 : drop }"},
	{name: "concatenation", rule: "ip saddr . tcp dport { 10.0.0.1 . 80 }"},
}

// The base chains of samples.
const (
	nftPrerouting  = "type filter hook prerouting priority filter; policy accept;"
	nftRaw         = "type filter hook prerouting priority raw; policy accept;"
	nftInput       = "type filter hook input priority filter; policy accept;"
	nftARPInput    = nftInput
	nftForward     = "type filter hook forward priority filter; policy accept;"
	nftOutput      = "type filter hook output priority filter; policy accept;"
	nftPostrouting = "type filter hook postrouting priority filter; policy accept;"
	nftRoute       = "type route hook output priority mangle; policy accept;"
	nftNATPre      = "type nat hook prerouting priority dstnat; policy accept;"
	nftNATPost     = "type nat hook postrouting priority srcnat; policy accept;"
	nftIngress     = `type filter hook ingress device "lo" priority filter; policy accept;`
	nftEgress      = `type filter hook egress device "lo" priority filter; policy accept;`
)

const nftSetBlock = "\tset s {\n\t\ttype ipv4_addr\n\t}\n\n"

var nftStatementSamples = []nftSample{
	{name: "accept", rule: "accept"},
	{name: "drop", rule: "drop"},
	{name: "continue", rule: "continue"},
	{name: "return", rule: "return"},
	{name: "jump", block: "\tchain c {\n\t}\n\n", rule: "jump c"},
	{name: "goto", block: "\tchain c {\n\t}\n\n", rule: "goto c"},
	{name: "jump { }", rule: "jump {\n\t\t\tcounter packets 0 bytes 0\n\t\t}"},
	{name: "counter", rule: "counter packets 0 bytes 0"},
	{name: "quota", rule: "quota 5 mbytes"},
	{name: "limit", rule: "limit rate 5/second"},
	{name: "log", rule: `log prefix "x" level info`},
	{name: "log group", rule: "log group 5"},
	{name: "reject", rule: "reject with icmpx admin-prohibited"},
	{name: "reject with tcp reset", rule: "meta l4proto tcp reject with tcp reset"},
	{name: "dnat", chain: nftNATPre, rule: "dnat ip to 10.244.0.12"},
	{name: "dnat to a port", chain: nftNATPre, rule: "tcp dport 80 dnat ip to 10.244.0.12:8080"},
	{name: "dnat by a map", chain: nftNATPre, rule: "dnat ip to ip daddr map { 10.244.0.12 : 10.244.0.11 }"},
	{name: "dnat prefix", chain: nftNATPre, rule: "dnat ip prefix to ip daddr map { 10.244.0.0/24 : 10.9.0.0/24 }"},
	{name: "snat", chain: nftNATPost, rule: "snat ip to 10.244.0.11"},
	{name: "masquerade", chain: nftNATPost, rule: "masquerade random"},
	{name: "redirect", chain: nftNATPre, rule: "tcp dport 80 redirect to :8080"},
	{name: "notrack", chain: nftRaw, rule: "notrack"},
	{name: "queue", rule: "queue flags bypass to 5"},
	{name: "dup", family: "ip", rule: "dup to 10.244.0.12"},
	{name: "fwd", family: "netdev", chain: nftIngress, rule: `fwd to "lo"`},
	{name: "tproxy", chain: nftPrerouting, rule: "meta l4proto tcp tproxy ip to :80"},
	{name: "synproxy", rule: "tcp flags syn synproxy mss 1460 wscale 7 timestamp sack-perm"},
	{name: "flow add", block: "\tflowtable f {\n\t\thook ingress priority filter\n\t\tdevices = { lo }\n\t}\n\n", rule: "flow add @f"},
	{name: "ip ttl set", rule: "ip ttl set 5"},
	{name: "ip dscp set", family: "ip", rule: "ip dscp set cs1"},
	{name: "tcp dport set", rule: "tcp dport set 80"},
	{name: "ether saddr set", family: "bridge", rule: "ether saddr set 02:00:00:00:00:01"},
	{name: "tcp option set", rule: "tcp option maxseg size set 500"},
	{name: "tcp option set rt mtu", rule: "tcp option maxseg size set rt mtu"},
	{name: "reset tcp option", rule: "reset tcp option timestamp"},
	{name: "add @set", block: nftDynamicBlock, rule: "add @s { ip saddr }"},
	{name: "update @set", block: nftDynamicBlock, rule: "update @s { ip saddr timeout 5s limit rate 5/second }"},
	{name: "delete @set", block: nftDynamicBlock, rule: "delete @s { ip saddr }"},
	{name: "update @map", block: "\tmap m {\n\t\ttype ipv4_addr : mark\n\t\tsize 100\n\t\tflags dynamic\n\t}\n\n",
		rule: "update @m { ip saddr : 0x00000001 }"},
	{name: "meter", rule: "meter flows size 65535 { ip saddr limit rate 5/second }"},
	{name: "comment", rule: `accept comment "a word"`},
}

const nftDynamicBlock = "\tset s {\n\t\ttype ipv4_addr\n\t\tsize 100\n\t\tflags dynamic,timeout\n\t}\n\n"

var nftObjectSamples = []nftSample{
	{name: "counter", block: "\tcounter o {\n\t\tpackets 0 bytes 0\n\t}\n\n", rule: `counter name "o"`},
	{name: "quota", block: "\tquota o {\n\t\t5 mbytes\n\t}\n\n", rule: `quota name "o"`},
	{name: "limit", block: "\tlimit o {\n\t\trate 5/second\n\t}\n\n", rule: `limit name "o"`},
	{name: "ct helper", block: "\tct helper o {\n\t\ttype \"ftp\" protocol tcp\n\t\tl3proto inet\n\t}\n\n", rule: `ct helper set "o"`},
	{name: "ct timeout", block: "\tct timeout o {\n\t\tprotocol tcp\n\t\tl3proto ip\n\t\tpolicy = { established : 100 }\n\t}\n\n",
		rule: `ct timeout set "o"`},
	{name: "ct expectation",
		block: "\tct expectation o {\n\t\tprotocol tcp\n\t\tdport 80\n\t\ttimeout 5s\n\t\tsize 5\n\t\tl3proto ip\n\t}\n\n",
		rule:  `ct expectation set "o"`},
	{name: "synproxy", block: "\tsynproxy o {\n\t\tmss 1460\n\t\twscale 7\n\t\ttimestamp sack-perm\n\t}\n\n", rule: `synproxy name "o"`},
	{name: "secmark", block: "\tsecmark o {\n\t\t\"system_u:object_r:any_t:s0\"\n\t}\n\n", rule: `meta secmark set "o"`},
	{name: "map of objects", block: "\tcounter o {\n\t\tpackets 0 bytes 0\n\t}\n\n", rule: `counter name tcp dport map { 80 : "o" }`},
}

var nftSetSamples = []nftSample{
	{name: "flags constant", rule: "ip saddr @s",
		block: "\tset s {\n\t\ttype ipv4_addr\n\t\tflags constant\n\t\telements = { 10.0.0.1 }\n\t}\n\n"},
	{name: "flags interval", rule: "ip saddr @s",
		block: "\tset s {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = { 10.0.0.0/16, 10.244.0.0-10.244.0.5 }\n\t}\n\n"},
	{name: "flags timeout", rule: "ip saddr @s", block: "\tset s {\n\t\ttype ipv4_addr\n\t\tflags timeout\n\t}\n\n"},
	{name: "flags dynamic", rule: "ip saddr @s", block: "\tset s {\n\t\ttype ipv4_addr\n\t\tsize 65535\n\t\tflags dynamic\n\t}\n\n"},
	{name: "timeout, gc-interval", rule: "ip saddr @s",
		block: "\tset s {\n\t\ttype ipv4_addr\n\t\ttimeout 5m\n\t\tgc-interval 10s\n\t}\n\n"},
	{name: "size", rule: "ip saddr @s", block: "\tset s {\n\t\ttype ipv4_addr\n\t\tsize 100\n\t}\n\n"},
	{name: "policy", rule: "ip saddr @s", block: "\tset s {\n\t\ttype ipv4_addr\n\t\tpolicy memory\n\t}\n\n"},
	{name: "auto-merge", rule: "ip saddr @s",
		block: "\tset s {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\tauto-merge\n\t\telements = { 10.0.0.0/8 }\n\t}\n\n"},
	{name: "counter of elements", rule: "ip saddr @s",
		block: "\tset s {\n\t\ttype ipv4_addr\n\t\tcounter\n\t\telements = { 10.0.0.1 counter packets 0 bytes 0 }\n\t}\n\n"},
	{name: "comment", rule: "ip saddr @s",
		block: "\tset s {\n\t\ttype ipv4_addr\n\t\tcomment \"a set\"\n\t\telements = { 10.0.0.1 comment \"an element\" }\n\t}\n\n"},
	{name: "catch-all element", rule: "ip saddr vmap @s",
		block: "\tmap s {\n\t\ttype ipv4_addr : verdict\n\t\telements = { * : drop }\n\t}\n\n"},
	{name: "typeof", rule: "ct mark @s",
		block: "\tset s {\n\t\ttypeof ct mark\n\t\telements = { 0x00000001 }\n\t}\n\n"},
	{name: "concatenation", rule: "ip saddr . tcp dport @s",
		block: "\tset s {\n\t\ttype ipv4_addr . inet_service\n\t\telements = { 10.0.0.1 . 80 }\n\t}\n\n"},
	{name: "concatenation of ranges", rule: "ip saddr . tcp dport @s",
		block: "\tset s {\n\t\ttype ipv4_addr . inet_service\n\t\tflags interval\n\t\telements = { 10.0.0.0/8 . 80-90 }\n\t}\n\n"},
	{name: "map", rule: "meta mark set ip saddr map @s",
		block: "\tmap s {\n\t\ttype ipv4_addr : mark\n\t\telements = { 10.0.0.1 : 0x00000001 }\n\t}\n\n"},
	{name: "map of verdicts", rule: "ip saddr vmap @s",
		block: "\tmap s {\n\t\ttype ipv4_addr : verdict\n\t\telements = { 10.0.0.1 : drop }\n\t}\n\n"},
	{name: "map to intervals", chain: nftNATPre, rule: "dnat ip to ip saddr map @s",
		block: "\tmap s {\n\t\ttype ipv4_addr : interval ipv4_addr\n\t\telements = { 10.0.0.1 : 10.0.0.2-10.0.0.5 }\n\t}\n\n"},
}

// nftChainSamples each drop what comes to a hook. Where packets are walked, one is dropped.
var nftChainSamples = []nftSample{
	{name: "ip prerouting", family: "ip", chain: nftPrerouting, rule: "drop"},
	{name: "ip input", family: "ip", chain: nftInput, rule: "drop"},
	{name: "ip forward", family: "ip", chain: nftForward, rule: "drop"},
	{name: "ip output", family: "ip", chain: nftOutput, rule: "drop"},
	{name: "ip postrouting", family: "ip", chain: nftPostrouting, rule: "drop"},
	{name: "ip6 forward", family: "ip6", chain: nftForward, rule: "drop"},
	{name: "inet forward", family: "inet", chain: nftForward, rule: "drop"},
	{name: "inet ingress", family: "inet", chain: nftIngress, rule: "drop"},
	{name: "arp input", family: "arp", chain: nftInput, rule: "drop"},
	{name: "bridge forward", family: "bridge", chain: nftForward, rule: "drop"},
	{name: "netdev ingress", family: "netdev", chain: nftIngress, rule: "drop"},
	{name: "netdev egress", family: "netdev", chain: nftEgress, rule: "drop"},
	{name: "type nat", chain: nftNATPre, rule: "ct state new drop"}, // without conntrack no packet meets the chain
	{name: "type route", chain: nftRoute, rule: "drop"},
	{name: "policy drop", chain: "type filter hook forward priority filter; policy drop;", rule: "continue"},
}
