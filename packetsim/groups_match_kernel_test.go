//go:build linux

package packetsim

// packetMatchRules ask for what beside the header is known of a packet, and for what a rule remembers.
const packetMatchRules = `*raw
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -j TRACE
-A PREROUTING -m rpfilter
-A PREROUTING -m rpfilter --loose --invert
-A PREROUTING -m rpfilter --accept-local
-A PREROUTING -i cwps+ -m socket
-A PREROUTING -m mac --mac-source 02:78:00:00:00:63
-A PREROUTING -m mac ! --mac-source 02:78:00:00:00:63
-A PREROUTING -m pkttype --pkt-type unicast
-A PREROUTING -m pkttype ! --pkt-type broadcast
-A PREROUTING -m physdev ! --physdev-is-in
-A PREROUTING -m physdev --physdev-in cwpsc
-A OUTPUT -j TRACE
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp --dport 7001 -j CONNMARK --set-xmark 0x5
-A PREROUTING -m connmark --mark 0x5
-A PREROUTING -m connmark ! --mark 0x5
-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu
-A FORWARD -p udp -j NFLOG --nflog-group 77
-A POSTROUTING -p udp -j CHECKSUM --checksum-fill
-A POSTROUTING -m owner --uid-owner 0-5
-A POSTROUTING -m owner ! --uid-owner 0-5
-A POSTROUTING -m owner --socket-exists
-A POSTROUTING -m owner ! --socket-exists
COMMIT
*filter
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -m limit --limit 1/hour --limit-burst 2
-A FORWARD -m limit --limit 1/hour --limit-burst 3
-A FORWARD -m statistic --mode nth --every 2 --packet 0
-A FORWARD -m statistic --mode nth --every 2 --packet 0
-A FORWARD -p udp -m hashlimit --hashlimit-upto 1/hour --hashlimit-burst 2 --hashlimit-mode srcip,dstport --hashlimit-name cwa
-A FORWARD -p udp -m hashlimit --hashlimit-above 1/hour --hashlimit-burst 1 --hashlimit-mode dstip --hashlimit-dstmask 24 ` +
	`--hashlimit-name cwb
-A FORWARD -p udp -m hashlimit --hashlimit-upto 30b/s --hashlimit-mode srcip --hashlimit-name cwc
-A FORWARD -p udp -m hashlimit --hashlimit-upto 30b/s --hashlimit-burst 120b --hashlimit-mode srcip --hashlimit-name cwd
-A FORWARD -p esp -m hashlimit --hashlimit-upto 1/hour --hashlimit-burst 1 --hashlimit-mode dstport --hashlimit-name cwe
-A FORWARD -p esp -m hashlimit --hashlimit-upto 1/hour --hashlimit-burst 1 --hashlimit-mode srcport --hashlimit-name cwf
-A FORWARD -p ah -m hashlimit --hashlimit-upto 1/hour --hashlimit-burst 1 --hashlimit-mode dstport --hashlimit-name cwg
-A FORWARD -m iprange --src-range 10.77.1.0-10.77.1.9
-A FORWARD -m iprange ! --dst-range 10.77.2.3-10.77.2.9
-A FORWARD -m length --length 28
-A FORWARD -m length ! --length 29:65535
-A FORWARD -p udp -m udp --dport 7002 -j NFQUEUE --queue-num 9 --queue-bypass
-A FORWARD -p udp -m udp --dport 7003 -j NFQUEUE --queue-num 9
-A FORWARD -m physdev ! --physdev-is-bridged
-A OUTPUT -m owner --uid-owner 0
-A OUTPUT -m owner ! --gid-owner 0
-A OUTPUT -m owner --socket-exists
-A OUTPUT -m owner ! --socket-exists
-A OUTPUT -p udp --dport 7004 -j REJECT
COMMIT
`

var packetMatchCases = []kernelCase{
	{"udp", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:80"},
		{place: "server", packet: "udp 10.77.2.2:7001 > 10.77.1.2:41001"}, {place: "client", packet: "udp 10.77.1.3:41002 > 10.77.2.2:80"},
		{place: "client", packet: "udp 10.77.1.3:41002 > 10.99.0.9:80"}, {place: "client", packet: "udp 10.77.1.10:41002 > 10.77.2.2:80"},
	}},
	{"the index of IPsec as ports", []kernelPacket{
		{place: "client", packet: "50 10.77.1.2 > 10.77.2.2 spi 5"}, {place: "client", packet: "50 10.77.1.2 > 10.77.2.2 spi 5"},
		{place: "client", packet: "50 10.77.1.2 > 10.77.2.2 spi 0x10005"}, {place: "client", packet: "50 10.77.1.2 > 10.77.2.2 spi 6"},
		{place: "client", packet: "51 10.77.1.2 > 10.77.2.2 spi 0x10005"}, {place: "client", packet: "51 10.77.1.2 > 10.77.2.2 spi 5"},
		{place: "client", packet: "51 10.77.1.2 > 10.77.2.2 spi 7"},
	}},
	{"queues", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7002"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7003"},
	}},
	{"tcp and icmp", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.77.2.2:80"}, {place: "server",
			packet: "tcp 10.77.2.2:80 > 10.77.1.2:41001 flags SYN,ACK"}, {place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"},
	}},
	{"sources", []kernelPacket{
		{place: "client", packet: "udp 10.77.2.9:41001 > 10.77.2.2:80"}, {place: "client", packet: "udp 10.50.0.1:41001 > 10.77.2.2:80"},
		{place: "client", packet: "udp 10.77.2.1:41001 > 10.77.2.2:80"},
	}},
	{"owner", []kernelPacket{
		{place: "node", packet: "udp 10.77.1.1:41001 > 10.77.2.2:80"}, {place: "node", packet: "udp 10.77.1.1:41001 > 10.77.2.2:7004"},
		{place: "node", packet: "udp 127.0.0.1:41001 > 127.0.0.1:80"},
	}},
}

// tproxyRules hand packets to a transparent socket that is not there.
const tproxyRules = traceFirst + `COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7001 -j TPROXY --on-port 99 --on-ip 0.0.0.0 --tproxy-mark 0x1/0x1
-A PREROUTING -m mark --mark 0x1/0x1
COMMIT
`

var tproxyCases = []kernelCase{
	{"no socket", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7000"}}},
}

// rejectRules answer in every way that there is; a rule of OUTPUT shows how the answer leaves.
const rejectRules = traceFirst + `COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -p udp -m udp --dport 7001 -j REJECT --reject-with icmp-net-unreachable
-A INPUT -p tcp -m tcp --dport 7002 -j REJECT --reject-with tcp-reset
-A FORWARD -p udp -m udp --dport 7001 -j REJECT --reject-with icmp-net-unreachable
-A FORWARD -p udp -m udp --dport 7002 -j REJECT --reject-with icmp-host-unreachable
-A FORWARD -p udp -m udp --dport 7003 -j REJECT --reject-with icmp-proto-unreachable
-A FORWARD -p udp -m udp --dport 7004 -j REJECT --reject-with icmp-port-unreachable
-A FORWARD -p udp -m udp --dport 7005 -j REJECT --reject-with icmp-net-prohibited
-A FORWARD -p udp -m udp --dport 7006 -j REJECT --reject-with icmp-host-prohibited
-A FORWARD -p udp -m udp --dport 7007 -j REJECT --reject-with icmp-admin-prohibited
-A FORWARD -p tcp -m tcp --dport 7008 -j REJECT --reject-with tcp-reset
-A FORWARD -p icmp -j REJECT
-A FORWARD -p sctp -j REJECT
-A OUTPUT -p udp -m udp --dport 7009 -j REJECT --reject-with icmp-admin-prohibited
-A OUTPUT -p tcp -m tcp --dport 7009 -j REJECT --reject-with tcp-reset
-A OUTPUT -p icmp -m icmp --icmp-type 3/0
-A OUTPUT -p icmp -m icmp --icmp-type 3/1
-A OUTPUT -p icmp -m icmp --icmp-type 3/2
-A OUTPUT -p icmp -m icmp --icmp-type 3/3
-A OUTPUT -p icmp -m icmp --icmp-type 3/9
-A OUTPUT -p icmp -m icmp --icmp-type 3/10
-A OUTPUT -p icmp -m icmp --icmp-type 3/13
-A OUTPUT -p tcp -m tcp --tcp-flags RST,ACK RST,ACK
-A OUTPUT -p tcp -m tcp --tcp-flags RST,ACK RST
-A OUTPUT -m conntrack --ctstate RELATED
-A OUTPUT -m conntrack --ctstate ESTABLISHED
-A OUTPUT -m owner --socket-exists
-A OUTPUT -m owner --uid-owner 0
COMMIT
`

var rejectCases = []kernelCase{
	{"every code", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7002"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7003"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7004"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7005"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7006"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7007"},
	}},
	{"reset", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.77.2.2:7008"}, {place: "client",
			packet: "tcp 10.77.1.2:41002 > 10.77.2.2:7008 flags ACK"}, {place: "client", packet: "tcp 10.77.1.2:41002 > 10.77.2.2:7008 flags RST"},
	}},
	{"icmp", []kernelPacket{
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"}, {place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2 type 3/3",
			inner: "udp 10.77.2.2:41026 > 10.77.1.2:8080"},
	}},
	{"sctp", []kernelPacket{{place: "client", packet: "sctp 10.77.1.2:41001 > 10.77.2.2:80"}}},
	{"in INPUT", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.1:7001"},
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.77.1.1:7002"}}},
	{"in OUTPUT", []kernelPacket{{place: "node", packet: "udp 10.77.1.1:41001 > 10.77.2.2:7009"},
		{place: "node", packet: "tcp 10.77.1.1:41001 > 10.77.2.2:7009"}}},
	{"source without a route", []kernelPacket{{place: "client", packet: "udp 10.50.0.1:41001 > 10.77.2.2:7004"}}},
}

const rejectRules6 = traceFirst + `COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -p udp -m udp --dport 7001 -j REJECT --reject-with icmp6-adm-prohibited
-A FORWARD -p udp -m udp --dport 7001 -j REJECT --reject-with icmp6-no-route
-A FORWARD -p udp -m udp --dport 7002 -j REJECT --reject-with icmp6-adm-prohibited
-A FORWARD -p udp -m udp --dport 7003 -j REJECT --reject-with icmp6-addr-unreachable
-A FORWARD -p udp -m udp --dport 7004 -j REJECT --reject-with icmp6-port-unreachable
-A FORWARD -p udp -m udp --dport 7005 -j REJECT --reject-with icmp6-policy-fail
-A FORWARD -p udp -m udp --dport 7006 -j REJECT --reject-with icmp6-reject-route
-A FORWARD -p tcp -m tcp --dport 7008 -j REJECT --reject-with tcp-reset
-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 1/0
-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 1/1
-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 1/3
-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 1/4
-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 1/5
-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 1/6
-A OUTPUT -p tcp -m tcp --tcp-flags RST,ACK RST,ACK
-A OUTPUT -m conntrack --ctstate RELATED
COMMIT
`

var rejectCases6 = []kernelCase{
	{"codes", []kernelPacket{
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7001"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7002"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7003"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7004"},
	}},
	{"more codes", []kernelPacket{
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7005"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7006"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:1::1]:7001"},
		{place: "client", packet: "tcp [fd77:1::2]:41001 > [fd77:2::2]:7008"},
	}},
}
