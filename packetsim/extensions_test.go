package packetsim

import "github.com/chainwalk/chainwalk/netfilter"

// shippedExtension is a match or a target that version 1.8.9 of the tools ships.
type shippedExtension struct {
	name   string
	family netfilter.Family // 0 for both
	// place is the table and the chain of the sample.
	place string
	// sample is a rule with the extension, as iptables-save prints it behind "-A CHAIN". A rule that it needs stands before it and a ";".
	sample string
	// needs is what the walk asks for beyond the rule, and is empty as long as there is no walk.
	needs string
}

// onlyHeader is what most extensions need: addresses, protocol, ports, and what else every packet has.
const onlyHeader = "the packet's header"

// shippedMatches are the matches, by name.
var shippedMatches = []shippedExtension{
	{"addrtype", 0, "filter FORWARD", "-m addrtype --dst-type LOCAL", "addresses and routes of the host"},
	{"ah", 0, "filter FORWARD", "-p ah -m ah --ahspi 5",
		"the index of IPsec; of IPv6 packets the header's length and reserved field, where the rule asks for them"},
	{"bpf", 0, "filter FORWARD", `-m bpf --bytecode "1,6 0 0 1"`, "bytes of the packet; an error names unknown ones"},
	{"cgroup", 0, "filter OUTPUT", "-m cgroup --cgroup 5", "the packet's socket and its control group"},
	{"cluster", 0, "mangle PREROUTING",
		"-m cluster --cluster-local-nodemask 0x00000001 --cluster-total-nodes 2 --cluster-hash-seed 0x00000001", "the connection"},
	{"comment", 0, "filter FORWARD", `-m comment --comment "a word"`, "nothing"},
	{"connbytes", 0, "filter FORWARD", "-m connbytes --connbytes 5 --connbytes-mode packets --connbytes-dir both",
		"the connection's packets and bytes"},
	{"connlabel", 0, "filter FORWARD", `-m connlabel --label "5"`, "the connection's labels"},
	{"connlimit", 0, "filter FORWARD", "-m connlimit --connlimit-upto 5 --connlimit-mask 32 --connlimit-saddr",
		"connections that came to the rule before, which the host keeps; each packet comes in a tick of the kernel's clock of its own"},
	{"connmark", 0, "filter FORWARD", "-m connmark --mark 0x1", "the connection"},
	{"conntrack", 0, "filter FORWARD", "-m conntrack --ctstate NEW", "the connection"},
	{"cpu", 0, "filter FORWARD", "-m cpu --cpu 0", ""},
	{"dccp", 0, "filter FORWARD", "-p dccp -m dccp --dport 5", ""},
	{"devgroup", 0, "filter FORWARD", "-m devgroup --src-group 0x5", "the groups of devices"},
	{"dscp", 0, "filter FORWARD", "-m dscp --dscp 0x05", onlyHeader},
	{"dst", netfilter.IPv6, "filter FORWARD", "-m dst --dst-len 5", "nothing: no packet has extension headers"},
	{"ecn", 0, "filter FORWARD", "-p tcp -m ecn --ecn-tcp-ece", onlyHeader},
	{"esp", 0, "filter FORWARD", "-p esp -m esp --espspi 5", "the index of IPsec"},
	{"eui64", netfilter.IPv6, "filter FORWARD", "-m eui64", "the link-layer address that the packet came from"},
	{"frag", netfilter.IPv6, "filter FORWARD", "-m frag --fragid 5 --fragmore", "nothing: no packet has extension headers"},
	{"hashlimit", 0, "filter FORWARD",
		"-m hashlimit --hashlimit-upto 5/min --hashlimit-burst 5 --hashlimit-mode srcip --hashlimit-name h", "the host's clock"},
	{"hbh", netfilter.IPv6, "filter FORWARD", "-m hbh --hbh-len 5", "nothing: no packet has extension headers"},
	{"helper", 0, "filter FORWARD", "-m helper --helper ftp", "nothing: no packet carries what helpers read"},
	{"hl", netfilter.IPv6, "filter FORWARD", "-m hl --hl-eq 5", onlyHeader},
	{"icmp", netfilter.IPv4, "filter FORWARD", "-p icmp -m icmp --icmp-type 8", onlyHeader},
	{"icmp6", netfilter.IPv6, "filter FORWARD", "-p ipv6-icmp -m icmp6 --icmpv6-type 128", onlyHeader},
	{"ipcomp", 0, "filter FORWARD", "-p ipcomp -m ipcomp --ipcompspi 5", "the index of IPsec"},
	{"iprange", 0, "filter FORWARD", "-m iprange --src-range @1-@2", onlyHeader},
	{"ipv6header", netfilter.IPv6, "filter FORWARD", "-m ipv6header --header ipv6-frag --soft", onlyHeader},
	{"ipvs", 0, "filter FORWARD", "-m ipvs --ipvs", ""},
	{"length", 0, "filter FORWARD", "-m length --length 40", "the packet's length"},
	{"limit", 0, "filter FORWARD", "-m limit --limit 5/sec", "the host's clock"},
	{"mac", 0, "filter FORWARD", "-m mac --mac-source 02:00:00:00:00:01", "the link-layer address that the packet came from"},
	{"mark", 0, "filter FORWARD", "-m mark --mark 0x1", "the packet's mark"},
	{"mh", netfilter.IPv6, "filter FORWARD", "-p mobility-header -m mh --mh-type 5", ""},
	{"multiport", 0, "filter FORWARD", "-p tcp -m multiport --dports 80,443", onlyHeader},
	{"nfacct", 0, "filter FORWARD", "-m nfacct --nfacct-name  counted", "the accounting object"},
	{"osf", netfilter.IPv4, "filter FORWARD", "-p tcp -m osf --genre Linux", ""},
	{"owner", 0, "filter OUTPUT", "-m owner --uid-owner 0", "the packet's socket and its owner"},
	{"physdev", 0, "filter FORWARD", "-m physdev --physdev-is-bridged", "ports of bridges that the packet passed"},
	{"pkttype", 0, "filter FORWARD", "-m pkttype --pkt-type broadcast", "the kind of link-layer address that the packet came to"},
	{"policy", 0, "filter FORWARD", "-m policy --dir in --pol none", "nothing: no policy of IPsec applies"},
	{"quota", 0, "filter FORWARD", "-m quota --quota 5000", "the packet's length"},
	{"rateest", 0, "filter FORWARD", "-j RATEEST --rateest-name counted --rateest-interval 250.0ms --rateest-ewmalog 500.0ms;" +
		"-m rateest --rateest counted --rateest-gt --rateest-bps 1000bit", ""},
	{"realm", netfilter.IPv4, "filter FORWARD", "-m realm --realm 0x5", "realms of the host's routes"},
	{"recent", 0, "filter FORWARD", "-m recent --set --name l --mask @ones --rsource", "the list, which the host keeps, and its clock"},
	{"rpfilter", 0, "raw PREROUTING", "-m rpfilter", "routes of the host"},
	{"rt", netfilter.IPv6, "filter FORWARD", "-m rt --rt-type 0", "nothing: no packet has extension headers"},
	{"sctp", 0, "filter FORWARD", "-p sctp -m sctp --dport 5", "the packet's chunks, where the rule asks for them"},
	{"set", 0, "filter FORWARD", "-m set --match-set listed@family src", "the set"},
	{"socket", 0, "mangle PREROUTING", "-m socket", "the packet's socket"},
	{"srh", netfilter.IPv6, "filter FORWARD", "-m srh --srh-segs-left-eq 1", "nothing: no packet has extension headers"},
	{"state", 0, "filter FORWARD", "-m state --state NEW", "the connection"},
	{"statistic", 0, "filter FORWARD", "-m statistic --mode random --probability 0.50000000000", "a draw, or the count of the rule"},
	{"string", 0, "filter FORWARD", `-m string --string "word" --algo bm`, "the packet's payload"},
	{"tcp", 0, "filter FORWARD", "-p tcp -m tcp --dport 80", onlyHeader},
	{"tcpmss", 0, "filter FORWARD", "-p tcp -m tcp --tcp-flags SYN,RST SYN -m tcpmss --mss 500", "the segment size that the packet announces"},
	{"time", 0, "filter FORWARD", "-m time --timestart 08:00:00 --timestop 17:00:00 --datestop 2038-01-19T03:14:07", "the host's clock"},
	{"tos", 0, "filter FORWARD", "-m tos --tos 0x10/0x3f", onlyHeader},
	{"ttl", netfilter.IPv4, "filter FORWARD", "-m ttl --ttl-eq 5", onlyHeader},
	{"u32", 0, "filter FORWARD", `-m u32 --u32 "0x0=0x0"`, "bytes of the packet; an error names unknown ones"},
	{"udp", 0, "filter FORWARD", "-p udp -m udp --dport 53", onlyHeader},
}

// shippedTargets are the targets, by name.
var shippedTargets = []shippedExtension{
	{"AUDIT", 0, "filter FORWARD", "-j AUDIT --type drop", "nothing"},
	{"CHECKSUM", 0, "mangle FORWARD", "-p udp -j CHECKSUM --checksum-fill", "nothing"},
	{"CLASSIFY", 0, "mangle FORWARD", "-j CLASSIFY --set-class 0001:0002", "nothing"},
	{"CLUSTERIP", netfilter.IPv4, "filter INPUT", "-d 192.168.0.99/32 -i eth0 -j CLUSTERIP --new --hashmode sourceip " +
		"--clustermac 01:00:5E:00:00:01 --total-nodes 2 --local-node 1 --hash-init 1", ""},
	{"CONNMARK", 0, "mangle FORWARD", "-j CONNMARK --set-xmark 0x1/0xffffffff", "the connection"},
	{"CONNSECMARK", 0, "mangle FORWARD", "-j CONNSECMARK --save", "nothing"},
	{"CT", 0, "raw PREROUTING", "-j CT --zone 5", "nothing"},
	{"DNAT", 0, "nat PREROUTING", "-p tcp -j DNAT --to-destination @2", "the connection"},
	{"DNPT", netfilter.IPv6, "mangle PREROUTING", "-j DNPT --src-pfx fd00:1::/64 --dst-pfx fd00:2::/64", onlyHeader},
	{"DSCP", 0, "mangle FORWARD", "-j DSCP --set-dscp 0x05", onlyHeader},
	{"ECN", netfilter.IPv4, "mangle FORWARD", "-p tcp -j ECN --ecn-tcp-remove", onlyHeader},
	{"HL", netfilter.IPv6, "mangle FORWARD", "-j HL --hl-set 5", onlyHeader},
	{"HMARK", 0, "mangle FORWARD", "-j HMARK --hmark-src-prefix @bits --hmark-rnd 0x00000001 --hmark-mod 2 --hmark-offset 1",
		"the packet's header or connection, and the index of IPsec"},
	{"IDLETIMER", 0, "filter FORWARD", "-j IDLETIMER --timeout 5 --label idle", "nothing"},
	{"LED", 0, "filter FORWARD", `-j LED --led-trigger-id "lamp"`, ""},
	{"LOG", 0, "filter FORWARD", "-j LOG", "nothing"},
	{"MARK", 0, "mangle FORWARD", "-j MARK --set-xmark 0x1/0xffffffff", "the packet's mark"},
	{"MASQUERADE", 0, "nat POSTROUTING", "-j MASQUERADE", "the connection, addresses and routes of the host"},
	{"NETMAP", 0, "nat PREROUTING", "-j NETMAP --to @net", "the connection"},
	{"NFLOG", 0, "filter FORWARD", "-j NFLOG --nflog-group 5", "nothing"},
	{"NFQUEUE", 0, "filter FORWARD", "-j NFQUEUE --queue-num 5", "nothing: no program listens"},
	{"NOTRACK", 0, "raw PREROUTING", "-j NOTRACK", "nothing"},
	{"RATEEST", 0, "filter FORWARD", "-j RATEEST --rateest-name counted --rateest-interval 250.0ms --rateest-ewmalog 500.0ms", "nothing"},
	{"REDIRECT", 0, "nat PREROUTING", "-p tcp -j REDIRECT --to-ports 80", "the connection, addresses of the host"},
	{"REJECT", 0, "filter FORWARD", "-j REJECT --reject-with @unreachable", "routes of the host"},
	{"SECMARK", 0, "mangle FORWARD", "-j SECMARK --selctx system_u:object_r:any_t", "nothing"},
	{"SET", 0, "mangle FORWARD", "-j SET --add-set listed@family src", "the set"},
	{"SNAT", 0, "nat POSTROUTING", "-j SNAT --to-source @1", "the connection"},
	{"SNPT", netfilter.IPv6, "mangle POSTROUTING", "-j SNPT --src-pfx fd00:1::/64 --dst-pfx fd00:2::/64", onlyHeader},
	{"SYNPROXY", 0, "filter FORWARD", "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j SYNPROXY --mss 500", ""},
	{"TCPMSS", 0, "mangle FORWARD", "-p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --set-mss 500",
		"the packet's length, and the segment size that it announces"},
	{"TCPOPTSTRIP", 0, "mangle FORWARD", "-p tcp -j TCPOPTSTRIP --strip-options 8", onlyHeader},
	{"TEE", 0, "mangle FORWARD", "-j TEE --gateway @2", "routes of the host; the copy is walked beside the packet"},
	{"TOS", 0, "mangle FORWARD", "-j TOS --set-tos 0x10/0x3f", onlyHeader},
	{"TPROXY", 0, "mangle PREROUTING", "-p tcp -j TPROXY --on-port 80 --on-ip @any --tproxy-mark 0x0/0x0", "sockets of the host"},
	{"TRACE", 0, "raw PREROUTING", "-j TRACE", "nothing"},
	{"TTL", netfilter.IPv4, "mangle FORWARD", "-j TTL --ttl-set 5", onlyHeader},
	{"ULOG", netfilter.IPv4, "filter FORWARD", "-j ULOG --ulog-nlgroup 1", ""},
}
