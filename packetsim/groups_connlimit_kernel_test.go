//go:build linux

package packetsim

// connlimitRules count connections by source and destination, of hosts and of networks.
const connlimitRules = traceFirst + `-A PREROUTING -p udp -m udp --dport 7009 -j NOTRACK
COMMIT
*filter
:FORWARD ACCEPT [0:0]
-A FORWARD -m connlimit --connlimit-above 1
-A FORWARD -m connlimit --connlimit-above 2
-A FORWARD -m connlimit --connlimit-upto 2 --connlimit-mask 24
-A FORWARD -m connlimit --connlimit-above 2 --connlimit-mask 0
-A FORWARD -m connlimit --connlimit-above 1 --connlimit-daddr
-A FORWARD -m connlimit ! --connlimit-above 2 --connlimit-mask 24 --connlimit-daddr
-A FORWARD -p tcp -m connlimit --connlimit-above 1
-A FORWARD -m conntrack --ctstate INVALID -j DROP
-A FORWARD -p udp -m udp --dport 7008 -j DROP
COMMIT
`

var connlimitCases = []kernelCase{
	{"connections of a source", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80"},
		{place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:80"}, {place: "server", packet: "udp 10.77.2.2:80 > 10.77.1.2:41002"},
		{place: "client", packet: "udp 10.77.1.2:41003 > 10.77.2.3:80"}, {place: "client", packet: "udp 10.77.1.3:41001 > 10.77.2.2:80"},
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"},
	}},
	{"connections that are over", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.77.2.2:80"}, {place: "client", packet: "tcp 10.77.1.2:41002 > 10.77.2.2:80"},
		{place: "server", packet: "tcp 10.77.2.2:80 > 10.77.1.2:41001 flags RST,ACK"},
		{place: "client", packet: "tcp 10.77.1.2:41002 > 10.77.2.2:80"},
	}},
	{"packets without a connection", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7008"}, {place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:7008"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7009"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7009"},
		{place: "client", packet: "udp 10.77.1.2:41003 > 10.77.2.2:80"},
	}},
}
