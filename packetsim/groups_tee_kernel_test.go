//go:build linux

package packetsim

import "strings"

// copyRules copy packets in each hook to the gateway, and tell what OUTPUT and POSTROUTING see of a copy.
func copyRules(gateway string) string {
	hl := "-m hl --hl-eq"
	if strings.Contains(gateway, ".") {
		hl = "-m ttl --ttl-eq"
	}
	return strings.NewReplacer("GATEWAY", gateway, "TTL", hl).Replace(traceFirst + `COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7000 -j MARK --set-xmark 0x7/0xffffffff
-A PREROUTING -p udp -m udp --dport 7000 -j TEE --gateway GATEWAY
-A PREROUTING -p udp -m udp --dport 7004 -j TEE --gateway GATEWAY --oif cwpss
-A INPUT -p udp -m udp --dport 7001 -j TEE --gateway GATEWAY
-A FORWARD -p udp -m udp --dport 7002 -j TEE --gateway GATEWAY --oif cwpsc
-A FORWARD -p udp -m udp --dport 7002 -j TEE --gateway GATEWAY
-A OUTPUT -p udp -m udp --dport 7003 -j TEE --gateway GATEWAY
-A OUTPUT -p udp -m udp --dport 7000
-A POSTROUTING -p udp -j TEE --gateway GATEWAY
-A POSTROUTING TTL 64
-A POSTROUTING TTL 63
-A POSTROUTING TTL 62
COMMIT
*nat
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -p udp -j MASQUERADE
COMMIT
*filter
:OUTPUT ACCEPT [0:0]
-A OUTPUT -o cwpsc
-A OUTPUT -o cwpss
-A OUTPUT -m conntrack --ctstate UNTRACKED
-A OUTPUT -m mark --mark 0x7
-A OUTPUT -m owner --socket-exists
COMMIT
`)
}

var copyCases = []kernelCase{
	{"in each hook", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7000"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.1.1:7001"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7002"},
		{place: "node", packet: "udp 10.77.2.1:41001 > 10.77.2.2:7003"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7004"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7000"}}},
}

var copyCases6 = []kernelCase{
	{"in each hook", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7000"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:1::1]:7001"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7002"},
		{place: "node", packet: "udp [fd77:2::1]:41001 > [fd77:2::2]:7003"}}},
}
