//go:build linux

package packetsim

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

var kernelGroups = []kernelGroup{
	{name: "services", family: netfilter.IPv4, rules: serviceRules, cases: serviceCases},
	{name: "targets", family: netfilter.IPv4, rules: targetRules, cases: targetCases},
	{name: "matches", family: netfilter.IPv4, rules: matchRules, cases: matchCases},
	{name: "lives", family: netfilter.IPv4, rules: lifeRules, cases: lifeCases, states: true},
	{name: "strict reverse path", family: netfilter.IPv4, rules: lifeRules, cases: sourceCases,
		sysctls: map[string]string{"net.ipv4.conf.all.rp_filter": "1"}},
	{name: "loose reverse path", family: netfilter.IPv4, rules: lifeRules, cases: sourceCases,
		sysctls: map[string]string{"net.ipv4.conf.all.rp_filter": "2"}},
	{name: "no reverse path filter", family: netfilter.IPv4, rules: lifeRules, cases: sourceCases},
	{name: "accept local", family: netfilter.IPv4, rules: lifeRules, cases: sourceCases,
		sysctls: map[string]string{"net.ipv4.conf.all.accept_local": "1"}},
	{name: "redirects on", family: netfilter.IPv4, rules: lifeRules, cases: sourceCases,
		sysctls: map[string]string{"net.ipv4.conf.cwpsc.send_redirects": "1"}},
	{name: "forwarding off", family: netfilter.IPv4, rules: lifeRules, cases: sourceCases,
		sysctls: map[string]string{"net.ipv4.ip_forward": "0"}},
	{name: "IPv6", family: netfilter.IPv6, rules: rules6, cases: cases6},
	{name: "what is known of a packet", family: netfilter.IPv4, rules: packetMatchRules, cases: packetMatchCases},
	{name: "transparent proxy", family: netfilter.IPv4, rules: tproxyRules, cases: tproxyCases},
	{name: "routes", family: netfilter.IPv4, rules: routeRules, cases: routeCases},
	{name: "realms of routes", family: netfilter.IPv4, rules: realmRules, cases: realmCases},
	{name: "routes of IPv6", family: netfilter.IPv6, rules: routeRules, cases: routeCases6},
	{name: "packets longer than the MTU", family: netfilter.IPv4, rules: routeRules, cases: longCases},
	{name: "packets longer than the MTU of IPv6", family: netfilter.IPv6, rules: routeRules, cases: longCases6},
	{name: "hashes", family: netfilter.IPv4, rules: hashRules(netfilter.IPv4), cases: hashCases},
	{name: "hashes of IPv6", family: netfilter.IPv6, rules: hashRules(netfilter.IPv6), cases: hashCases6},
	{name: "authentication headers of IPv6", family: netfilter.IPv6, rules: authenticationRules, cases: authenticationCases},
	{name: "prefixes", family: netfilter.IPv6, rules: prefixRules(), cases: prefixCases},
	{name: "counted connections", family: netfilter.IPv4, rules: connlimitRules, cases: connlimitCases},
	{name: "copies", family: netfilter.IPv4, rules: copyRules("10.77.1.2"), cases: copyCases},
	{name: "copies of IPv6", family: netfilter.IPv6, rules: copyRules("fd77:1::2"), cases: copyCases6},
	{name: "every answer", family: netfilter.IPv4, rules: rejectRules, cases: rejectCases},
	{name: "every answer of IPv6", family: netfilter.IPv6, rules: rejectRules6, cases: rejectCases6},
}

const traceFirst = `*raw
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -j TRACE
-A OUTPUT -j TRACE
`

// targetRules show a connection's and a packet's mark, NAT in every hook, and what the first packet of a connection meets.
const targetRules = traceFirst + `-A PREROUTING -p udp -m udp --dport 7000 -j NOTRACK
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -j CONNMARK --restore-mark
-A PREROUTING -m mark --mark 0x5 -j ACCEPT
-A PREROUTING -p udp -m udp --dport 7001 -j MARK --set-xmark 0x5/0xffffffff
-A PREROUTING -m mark --mark 0x5 -j CONNMARK --save-mark
-A OUTPUT -p udp -m udp --dport 7002 -j MARK --set-xmark 0x5f/0xffffffff
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7003 -j REDIRECT --to-ports 98
-A PREROUTING -p udp -m udp --dport 7004 -j DNAT --to-destination 10.77.2.1:98
-A PREROUTING -p udp -m udp --dport 7005 -j DNAT --to-destination :7006
-A INPUT -p udp -m udp --dport 7007 -j SNAT --to-source 10.77.9.9
-A OUTPUT -p udp -m udp --dport 7008 -j REDIRECT --to-ports 98
-A OUTPUT -p udp -m udp --dport 7009 -j DNAT --to-destination 10.77.1.2:7010
-A POSTROUTING -p udp -m udp --dport 7010 -j SNAT --to-source 10.77.9.8
-A POSTROUTING -p udp -m udp --dport 7011 -j SNAT --to-source 10.77.2.1:41050
-A POSTROUTING -p udp -m udp --dport 7012 -j MASQUERADE --random-fully
-A POSTROUTING -p icmp -j MASQUERADE
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -m conntrack --ctstate UNTRACKED -j LOG --log-prefix untracked
-A FORWARD -m conntrack --ctstate SNAT
-A FORWARD -m conntrack --ctstate DNAT
-A OUTPUT -o lo -p udp
-A OUTPUT -o cwpsc -p udp
COMMIT
`

var targetCases = []kernelCase{
	{"not tracked", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7000"}}},
	{"mark of the connection", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:7001"}, {place: "server", packet: "udp 10.77.2.2:7001 > 10.77.1.2:41002"},
		{place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:7001"},
	}},
	{"mark routes again", []kernelPacket{{place: "node", packet: "udp 10.77.1.1:41003 > 10.95.0.2:7002"}}},
	{"redirect", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41004 > 10.77.2.2:7003"}}},
	{"to the node", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41005 > 10.99.2.2:7004"}}},
	{"port only", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41006 > 10.77.2.2:7005"},
		{place: "server", packet: "udp 10.77.2.2:7006 > 10.77.1.2:41006"}}},
	{"source in INPUT", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41007 > 10.77.1.1:7007"}}},
	{"redirect of the node", []kernelPacket{{place: "node", packet: "udp 10.77.1.1:41008 > 10.77.2.2:7008"}}},
	{"node's packet to the other device, source translated", []kernelPacket{
		{place: "node", packet: "udp 10.77.2.1:41009 > 10.77.2.2:7009"}, {place: "client", packet: "udp 10.77.1.2:7010 > 10.77.9.8:41009"},
	}},
	{"one source port for two", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41010 > 10.77.2.2:7011"},
		{place: "client", packet: "udp 10.77.1.2:41011 > 10.77.2.2:7011"}}},
	{"random port", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41012 > 10.77.2.2:7012"}}},
	{"echo is masqueraded", []kernelPacket{{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"},
		{place: "server", packet: "icmp 10.77.2.2 > 10.77.2.1 type 0/0"}}},
}

const matchRules = traceFirst + `COMMIT
*filter
:FORWARD ACCEPT [0:0]
-A FORWARD -p udp -m multiport --dports 7000:7005,7007
-A FORWARD -p udp -m multiport ! --sports 41001
-A FORWARD -m statistic --mode nth --every 3 --packet 1
-A FORWARD -m addrtype --dst-type UNICAST
-A FORWARD -m addrtype --src-type LOCAL
-A FORWARD -m addrtype --dst-type LOCAL --limit-iface-out
-A FORWARD -p udp -m udp --dport 7001 -m recent --set --name cwps --mask 255.255.255.255 --rsource
-A FORWARD -p udp -m recent --rcheck --seconds 60 --hitcount 2 --name cwps --mask 255.255.255.255 --rsource
-A FORWARD -p udp -m udp --dport 7002 -m recent --remove --name cwps --mask 255.255.255.255 --rsource
-A FORWARD -p udp -m recent ! --update --name cwps --mask 255.255.255.255 --rsource
-A FORWARD -p icmp -m icmp --icmp-type 8
-A FORWARD -p icmp -m icmp --icmp-type 3/4
-A FORWARD -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN
-A FORWARD -p tcp -m tcp ! --tcp-flags FIN ACK
-A FORWARD -m conntrack --ctstate NEW --ctorigdst 10.77.2.0/24 --ctdir ORIGINAL
-A FORWARD -m conntrack --ctstatus NONE
-A FORWARD -m conntrack --ctstatus SEEN_REPLY
-A FORWARD -m state --state INVALID
COMMIT
`

var matchCases = []kernelCase{
	{"udp", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:7006"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7003"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7002"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7007"},
		{place: "server", packet: "udp 10.77.2.2:7007 > 10.77.1.2:41001"},
	}},
	{"tcp flags", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41003 > 10.77.2.2:80"}, {place: "client",
			packet: "tcp 10.77.1.2:41004 > 10.77.2.2:80 flags FIN,ACK"}, {place: "client", packet: "tcp 10.77.1.2:41005 > 10.77.2.2:80 flags NONE"},
		{place: "client", packet: "tcp 10.77.1.2:41005 > 10.77.2.2:80 flags SYN,FIN"},
		{place: "client", packet: "tcp 10.77.1.2:41006 > 10.77.2.2:80 flags ACK,URG"},
		{place: "client", packet: "tcp 10.77.1.2:41007 > 10.77.2.2:80 flags FIN"},
	}},
	{"icmp", []kernelPacket{{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"},
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2 type 0/0"}, {place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2 type 13/0"}}},
}

// rules6 are services of IPv6.
const rules6 = traceFirst + `COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:SERVICES - [0:0]
:SEP - [0:0]
-A PREROUTING -j SERVICES
-A OUTPUT -j SERVICES
-A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A POSTROUTING -j MASQUERADE
-A SERVICES -d fd99::1/128 -p tcp -m tcp --dport 80 -j SEP
-A SERVICES -d fd99::1/128 -p udp -m udp --dport 80 -j SEP
-A SERVICES -p tcp -m tcp --dport 30080 -m addrtype --dst-type LOCAL -j SEP
-A SEP ! -s fd77:1::/64 -j MARK --set-xmark 0x4000/0x4000
-A SEP -p tcp -m tcp -j DNAT --to-destination [fd77:2::2]:8080
-A SEP -p udp -m udp -j DNAT --to-destination [fd77:2::2]:8080
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -p udp -m udp --dport 98 -j REJECT --reject-with icmp6-port-unreachable
-A INPUT -p tcp -m tcp --dport 99 -j DROP
-A FORWARD -d fd99::3/128 -j REJECT --reject-with icmp6-port-unreachable
-A FORWARD -d fd99::4/128 -p tcp -j REJECT --reject-with tcp-reset
-A FORWARD -m conntrack --ctstate INVALID -j DROP
-A FORWARD -m conntrack --ctstate ESTABLISHED -j ACCEPT
-A OUTPUT -d fd99::3/128 -j REJECT --reject-with icmp6-port-unreachable
-A OUTPUT -o lo
COMMIT
`

var cases6 = []kernelCase{
	{"service, reply, second packet", []kernelPacket{
		{place: "client", packet: "tcp [fd77:1::2]:41001 > [fd99::1]:80"}, {place: "server",
			packet: "tcp [fd77:2::2]:8080 > [fd77:1::2]:41001 flags SYN,ACK"},
		{place: "client", packet: "tcp [fd77:1::2]:41001 > [fd99::1]:80 flags ACK"},
	}},
	{"masquerade, reply", []kernelPacket{
		{place: "server", packet: "tcp [fd77:2::2]:41002 > [fd77:2::1]:30080"},
		{place: "server", packet: "tcp [fd77:2::2]:8080 > [fd77:2::1]:41002 flags SYN,ACK"},
	}},
	{"node to the service", []kernelPacket{{place: "node", packet: "udp [fd77:1::1]:41003 > [fd99::1]:80"},
		{place: "server", packet: "udp [fd77:2::2]:8080 > [fd77:2::1]:41003"}}},
	{"node to itself", []kernelPacket{{place: "node", packet: "tcp [fd77:1::1]:41004 > [fd77:2::1]:99"}}},
	{"loopback to a node port", []kernelPacket{{place: "node", packet: "tcp [::1]:41005 > [::1]:30080"}}},
	{"reject", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41006 > [fd99::3]:80"}}},
	{"reject in INPUT", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41007 > [fd77:1::1]:98"}}},
	{"reject of the node", []kernelPacket{{place: "node", packet: "udp [fd77:1::1]:41008 > [fd99::3]:80"}}},
	{"reset", []kernelPacket{{place: "client", packet: "tcp [fd77:1::2]:41009 > [fd99::4]:80"}}},
	{"no route", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41010 > [fd98::1]:80"}}},
	{"last hop", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41011 > [fd77:2::2]:80 ttl 1"}}},
	{"loopback from outside", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41012 > [::1]:80"}}},
	{"source is the node's", []kernelPacket{{place: "client", packet: "udp [fd77:2::1]:41013 > [fd77:2::2]:80"}}},
	{"echo", []kernelPacket{{place: "client", packet: "icmpv6 fd77:1::2 > fd77:2::2"},
		{place: "server", packet: "icmpv6 fd77:2::2 > fd77:1::2 type 129/0"},
		{place: "server", packet: "icmpv6 fd77:2::2 > fd77:1::2 type 129/1"}}},
}

// lifeRules tell a packet's state, and translate one service.
const lifeRules = traceFirst + `COMMIT
*nat
:PREROUTING ACCEPT [0:0]
-A PREROUTING -d 10.99.0.1/32 -p tcp -j DNAT --to-destination 10.77.2.2:80
COMMIT
*filter
:FORWARD ACCEPT [0:0]
-A FORWARD -m conntrack --ctstate NEW -j ACCEPT
-A FORWARD -m conntrack --ctstate ESTABLISHED -j ACCEPT
-A FORWARD -m conntrack --ctstate RELATED -j ACCEPT
-A FORWARD -m conntrack --ctstate INVALID -j ACCEPT
COMMIT
`

// flight is a conversation: c and s begin the packets of client and server.
func flight(proto string, packets ...string) []kernelPacket {
	var list []kernelPacket
	for _, p := range packets {
		if rest, ok := strings.CutPrefix(p, "c"); ok {
			list = append(list, kernelPacket{place: "client", packet: proto + " 10.77.1.2:41001 > 10.77.2.2:80" + rest})
		} else {
			list = append(list, kernelPacket{place: "server", packet: proto + " 10.77.2.2:80 > 10.77.1.2:41001" + p[1:]})
		}
	}
	return list
}

var lifeCases = []kernelCase{
	{"client closes", flight("tcp", "c", "s flags SYN,ACK", "c flags ACK", "c flags PSH,ACK", "c flags FIN,ACK", "s flags ACK",
		"s flags FIN,ACK", "c flags ACK", "c")},
	{"server closes", flight("tcp", "c", "s flags SYN,ACK", "c flags ACK", "s flags FIN,ACK", "c flags ACK", "c flags FIN,ACK", "s flags ACK",
		"s flags ACK")},
	{"both close at once", flight("tcp", "c", "s flags SYN,ACK", "c flags ACK", "s flags FIN,ACK", "c flags FIN,ACK", "s flags ACK",
		"c flags ACK")},
	{"close before the handshake ends", flight("tcp", "c", "s flags SYN,ACK", "c flags FIN,ACK", "s flags ACK")},
	{"refused, tried again", flight("tcp", "c", "s flags RST,ACK", "c", "s flags SYN,ACK")},
	{"reset by the server, tried again", flight("tcp", "c", "s flags SYN,ACK", "c flags ACK", "s flags RST", "c")},
	{"reset by the client, tried again", flight("tcp", "c", "s flags SYN,ACK", "c flags ACK", "c flags RST", "c", "s flags SYN,ACK")},
	{"client gives up", flight("tcp", "c", "c flags RST", "s flags SYN,ACK")},
	{"repeated handshake", flight("tcp", "c", "c", "s flags SYN,ACK", "s flags SYN,ACK", "c", "c flags ACK", "c", "s flags SYN,ACK")},
	{"both open at once", flight("tcp", "c", "s", "c flags SYN,ACK", "s flags SYN,ACK", "c flags ACK")},
	{"server's acknowledgement too early", flight("tcp", "c", "s flags ACK", "s flags SYN,ACK", "s flags ACK", "c flags ACK")},
	{"picked up by the client's data", flight("tcp", "c flags ACK", "s flags ACK", "c flags ACK")},
	{"picked up by the server's data", flight("tcp", "s flags PSH,ACK", "c flags ACK", "s flags ACK")},
	{"begins nothing", flight("tcp", "c flags FIN,ACK", "c flags RST", "c flags SYN,ACK", "c flags NONE", "c flags SYN,RST")},
	{"bad flags in a connection", flight("tcp", "c", "s flags SYN,ACK", "c flags ACK", "c flags FIN", "c flags SYN,FIN", "c flags NONE",
		"c flags SYN,ACK")},
	{"udp", flight("udp", "c", "c", "s", "c", "s")},
	{"udp from the other side", flight("udp", "s", "c")},
	{"other protocols", []kernelPacket{{place: "client", packet: "47 10.77.1.2 > 10.77.2.2"},
		{place: "server", packet: "47 10.77.2.2 > 10.77.1.2"}, {place: "client", packet: "47 10.77.1.2 > 10.77.2.2"},
		{place: "server", packet: "99 10.77.2.2 > 10.77.1.2"}, {place: "client", packet: "99 10.77.1.2 > 10.77.2.2"}}},
}

// sourceCases are packets whose source or destination may be refused. Those that are told of a missing route have sources
// of their own, since the kernel tells each source only five times in a row.
var sourceCases = []kernelCase{
	{"source of the device", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80"}}},
	{"source of another device", []kernelPacket{{place: "client", packet: "udp 10.77.2.9:41001 > 10.77.2.2:80"}}},
	{"source of another device to the node", []kernelPacket{{place: "client", packet: "udp 10.77.2.9:41001 > 10.77.1.1:80"}}},
	{"source without a route", []kernelPacket{{place: "client", packet: "udp 10.50.0.1:41001 > 10.77.2.2:80"}}},
	{"source of the node", []kernelPacket{{place: "client", packet: "udp 10.77.1.1:41001 > 10.77.2.2:80"}}},
	{"source of the node to the node", []kernelPacket{{place: "client", packet: "udp 10.77.2.1:41001 > 10.77.1.1:80"}}},
	{"broadcast source", []kernelPacket{{place: "client", packet: "udp 10.77.1.255:41001 > 10.77.2.2:80"}}},
	{"loopback source", []kernelPacket{{place: "server", packet: "udp 127.0.0.1:41001 > 10.77.1.2:80"}}},
	{"multicast source", []kernelPacket{{place: "client", packet: "udp 224.0.0.9:41001 > 10.77.2.2:80"}}},
	{"zero source", []kernelPacket{{place: "client", packet: "udp 0.0.0.0:41001 > 10.77.2.2:80"}}},
	{"limited broadcast", []kernelPacket{{place: "client", packet: "udp 0.0.0.0:41001 > 255.255.255.255:80"}}},
	{"zero destination", []kernelPacket{{place: "client", packet: "udp 10.77.1.3:41001 > 0.0.0.9:80"}}},
	{"no route", []kernelPacket{{place: "client", packet: "udp 10.77.1.4:41001 > 10.98.0.1:80"}}},
	{"last hop", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80 ttl 1"}}},
}
