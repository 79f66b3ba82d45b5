//go:build linux

package packetsim

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// serviceRules are the rules of the node: like those of kube-proxy, with TRACE first. The real tool and the fake one are given the same
// text.
const serviceRules = `*raw
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -j TRACE
-A OUTPUT -j TRACE
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:MARK-MASQ - [0:0]
:NODEPORTS - [0:0]
:POST - [0:0]
:SERVICES - [0:0]
:SEP-SERVER - [0:0]
:SEP-CLIENT - [0:0]
:SVC-ONE - [0:0]
:SVC-HAIRPIN - [0:0]
:SVC-TWO - [0:0]
:TAILS - [0:0]
-A PREROUTING -m comment --comment "service portals" -j SERVICES
-A OUTPUT -m comment --comment "service portals" -j SERVICES
-A POSTROUTING -j POST
-A MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A NODEPORTS -p tcp -m tcp --dport 30080 -j SVC-ONE
-A NODEPORTS -p udp -m udp --dport 30081 -j SVC-HAIRPIN
-A POST -m mark ! --mark 0x4000/0x4000 -j RETURN
-A POST -j MARK --set-xmark 0x4000/0x0
-A POST -j MASQUERADE
-A SERVICES -d 10.99.0.1/32 -p tcp -m tcp --dport 80 -j SVC-ONE
-A SERVICES -d 10.99.0.2/32 -p tcp -m tcp --dport 80 -j SVC-HAIRPIN
-A SERVICES -d 10.99.0.2/32 -p udp -m udp --dport 80 -j SVC-HAIRPIN
-A SERVICES -d 10.99.0.4/32 -p tcp -m tcp --dport 80 -j SVC-TWO
-A SERVICES -d 10.99.0.5/32 -g TAILS
-A SERVICES -m addrtype --dst-type LOCAL -j NODEPORTS
-A SEP-SERVER -s 10.77.2.2/32 -j MARK-MASQ
-A SEP-SERVER -p tcp -m tcp -j DNAT --to-destination 10.77.2.2:8080
-A SEP-SERVER -p udp -m udp -j DNAT --to-destination 10.77.2.2:8080
-A SEP-CLIENT -s 10.77.1.2/32 -j MARK-MASQ
-A SEP-CLIENT -p tcp -m tcp -j DNAT --to-destination 10.77.1.2:8080
-A SEP-CLIENT -p udp -m udp -j DNAT --to-destination 10.77.1.2:8080
-A SVC-ONE ! -s 10.77.1.0/24 -j MARK-MASQ
-A SVC-ONE -j SEP-SERVER
-A SVC-HAIRPIN ! -s 10.77.1.0/24 -j MARK-MASQ
-A SVC-HAIRPIN -j SEP-CLIENT
-A SVC-TWO -m statistic --mode random --probability 0.50000000000 -j SEP-SERVER
-A SVC-TWO -j SEP-CLIENT
-A TAILS -s 10.77.1.2/32 -j RETURN
-A TAILS -j ACCEPT
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:FORWARDED - [0:0]
:EMPTY - [0:0]
-A INPUT -j EMPTY
-A INPUT -p tcp -m tcp --dport 99 -j DROP
-A INPUT -p udp -m udp --dport 98 -j REJECT --reject-with icmp-port-unreachable
-A FORWARD -d 10.99.0.3/32 -m conntrack --ctstate NEW -j REJECT --reject-with icmp-port-unreachable
-A FORWARD -p tcp -d 10.99.0.6/32 -j REJECT --reject-with tcp-reset
-A FORWARD -p tcp -m tcp --dport 8083 -j REJECT --reject-with tcp-reset
-A FORWARD -j FORWARDED
-A FORWARD -s 10.77.1.0/24
-A FORWARD -s 10.77.0.0/16 -j ACCEPT
-A OUTPUT -d 10.99.0.3/32 -m conntrack --ctstate NEW -j REJECT --reject-with icmp-port-unreachable
-A FORWARDED -m conntrack --ctstate INVALID -j DROP
-A FORWARDED -m mark --mark 0x4000/0x4000 -j ACCEPT
-A FORWARDED -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
`

// kernelGroup is a ruleset of the node and what is sent to it.
type kernelGroup struct {
	name   string
	family netfilter.Family
	rules  string
	cases  []kernelCase
	// sysctls are the node's sysctls for this group, all of which are 0 in the others but ip_forward.
	sysctls map[string]string
	states  bool // compare the connections' states after each packet, too: no socket of the node answers
}

// kernelCase is a sequence of packets to one fresh node. place is where a packet is sent: client, server or node.
type kernelCase struct {
	name    string
	packets []kernelPacket
}

type kernelPacket struct {
	place, packet string
	inner         string // what an ICMP error quotes
}

var serviceCases = []kernelCase{
	{"forward with DNAT, reply, second packet", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.99.0.1:80"},
		{place: "server", packet: "tcp 10.77.2.2:8080 > 10.77.1.2:41001 flags SYN,ACK"},
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.99.0.1:80 flags ACK"},
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.99.0.1:80 flags FIN,ACK"},
	}},
	{"forward with DNAT and masquerade, reply", []kernelPacket{
		{place: "server", packet: "tcp 10.77.2.2:41002 > 10.99.0.1:80"},
		{place: "server", packet: "tcp 10.77.2.2:8080 > 10.77.2.1:41002 flags SYN,ACK"},
		{place: "server", packet: "tcp 10.77.2.2:41002 > 10.99.0.1:80 flags ACK"},
	}},
	{"hairpin", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41003 > 10.99.0.2:80"},
		{place: "client", packet: "udp 10.77.1.2:8080 > 10.77.1.1:41003"},
		{place: "client", packet: "udp 10.77.1.2:41003 > 10.99.0.2:80"},
	}},
	{"one of two endpoints", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41004 > 10.99.0.4:80"}}},
	{"node port", []kernelPacket{
		{place: "server", packet: "tcp 10.77.2.2:41005 > 10.77.2.1:30080"},
		{place: "server", packet: "tcp 10.77.2.2:8080 > 10.77.2.1:41005 flags SYN,ACK"},
	}},
	{"node to the service", []kernelPacket{
		{place: "node", packet: "tcp 10.77.1.1:41006 > 10.99.0.1:80"},
		{place: "server", packet: "tcp 10.77.2.2:8080 > 10.77.2.1:41006 flags SYN,ACK"},
		{place: "node", packet: "tcp 10.77.1.1:41006 > 10.99.0.1:80 flags ACK"},
	}},
	{"node to its own node port on loopback", []kernelPacket{{place: "node", packet: "udp 127.0.0.1:41007 > 127.0.0.1:30081"}}},
	{"node to itself", []kernelPacket{{place: "node", packet: "tcp 10.77.1.1:41008 > 10.77.2.1:99"}}},
	{"node to itself, rejected in INPUT", []kernelPacket{{place: "node", packet: "udp 10.77.1.1:41008 > 10.77.2.1:98"}}},
	{"to the node, dropped by INPUT", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41009 > 10.77.1.1:99"}}},
	{"to the node, rejected by INPUT", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41009 > 10.77.1.1:98"}}},
	{"reject without endpoints", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41010 > 10.99.0.3:80"}}},
	{"reject of the node's own packet", []kernelPacket{{place: "node", packet: "tcp 10.77.1.1:41011 > 10.99.0.3:80"}}},
	{"reset", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41012 > 10.99.0.6:80"}}},
	{"reset of a packet without SYN", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41012 > 10.77.2.2:8083 flags ACK"}}},
	{"syn-ack without a connection", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41013 > 10.77.2.2:80 flags SYN,ACK"}}},
	{"data in mid-stream is picked up", []kernelPacket{{place: "client", packet: "tcp 10.77.1.2:41014 > 10.99.0.1:80 flags PSH,ACK"}}},
	{"return and accept without conditions", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41015 > 10.99.0.5:80"}, {place: "server", packet: "udp 10.77.2.2:41015 > 10.99.0.5:80"},
	}},
	{"no route", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41016 > 10.98.0.1:80"}}},
	{"blackhole", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41017 > 10.97.0.1:80"}}},
	{"prohibited", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41018 > 10.96.0.1:80"}}},
	{"ttl 1", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41019 > 10.77.2.2:80 ttl 1"}}},
	{"martian destination", []kernelPacket{{place: "server", packet: "tcp 10.77.2.2:41020 > 127.0.0.1:80"}}},
	{"martian source", []kernelPacket{{place: "server", packet: "tcp 127.0.0.1:41020 > 10.77.2.1:80"}}},
	{"loopback destination with route_localnet", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41020 > 127.0.0.1:80"}}},
	{"broadcast", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41020 > 10.77.1.255:80"}}},
	{"source is the node's", []kernelPacket{{place: "client", packet: "tcp 10.77.2.1:41021 > 10.77.2.2:80"}}},
	{"echo and reply", []kernelPacket{
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"}, {place: "server", packet: "icmp 10.77.2.2 > 10.77.1.2 type 0/0"},
		{place: "server", packet: "icmp 10.77.2.2 > 10.77.1.2 type 14/0"},
	}},
	{"sctp", []kernelPacket{{place: "client", packet: "sctp 10.77.1.2:41022 > 10.77.2.2:80"}}},
	{"repeated syn, then a reset", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41023 > 10.99.0.1:80"}, {place: "client", packet: "tcp 10.77.1.2:41023 > 10.99.0.1:80"},
		{place: "server", packet: "tcp 10.77.2.2:8080 > 10.77.1.2:41023 flags RST,ACK"},
		{place: "client", packet: "tcp 10.77.1.2:41023 > 10.99.0.1:80"},
	}},
	{"icmp error about a translated packet", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41025 > 10.99.0.1:80"},
		{place: "server", packet: "icmp 10.77.2.2 > 10.77.1.2 type 3/3", inner: "tcp 10.77.1.2:41025 > 10.77.2.2:8080"},
		{place: "server", packet: "icmp 10.77.2.2 > 10.77.1.2 type 3/3", inner: "tcp 10.77.1.2:41026 > 10.77.2.2:8080"},
		{place: "client", packet: "icmp 10.77.1.2 > 10.99.0.1 type 3/4", inner: "tcp 10.99.0.1:80 > 10.77.1.2:41025"},
	}},
	{"icmp error about a masqueraded packet", []kernelPacket{
		{place: "server", packet: "tcp 10.77.2.2:41027 > 10.99.0.1:80"},
		{place: "server", packet: "icmp 10.77.2.2 > 10.77.2.1 type 11/0", inner: "tcp 10.77.2.1:41027 > 10.77.2.2:8080"},
		{place: "server", packet: "icmp 10.77.2.9 > 10.77.2.1 type 3/1", inner: "tcp 10.77.2.1:41028 > 10.77.2.2:8080"},
	}},
	{"same source to two services of one endpoint", []kernelPacket{
		{place: "client", packet: "tcp 10.77.1.2:41024 > 10.99.0.1:80"}, {place: "client", packet: "tcp 10.77.1.2:41024 > 10.77.2.2:8080"},
	}},
}

// TestWalkAsKernel sends each packet through a node of the real kernel and through a Host, and compares the lines of the kernel's TRACE log
// and the connections that both know.
func TestWalkAsKernel(t *testing.T) {
	lab := newKernelLab(t)
	for i, g := range kernelGroups {
		t.Run(g.name, func(t *testing.T) {
			lab.in(t).groupSysctls(g)
			for j, c := range g.cases {
				if !sample.InPart(t, i+j) {
					continue
				}
				t.Run(c.name, func(t *testing.T) { lab.in(t).compareAll(g, c, uint16(0x1000+i*0x800+j*16)) })
			}
		})
	}
}

// compareAll sends the packets of a case to a node without connections. The first has the IP identification id.
func (lab *kernelLab) compareAll(g kernelGroup, c kernelCase, id uint16) {
	lab.restore(g.family, emptyRules) // which also ends the state of the rules before
	lab.restore(g.family, g.rules)
	lab.run("node", "conntrack", "-F")
	host := kernelHost(lab.t, g)
	for i, p := range c.packets {
		lab.compare(host, p, id+uint16(i))
		if g.states {
			require.Equal(lab.t, lab.connections(g), hostConnections(host, true), "after %s", p.packet)
		}
	}
	require.Equal(lab.t, lab.connections(g), hostConnections(host, g.states), "connections")
}

// kernelHost is the Host that is like the lab's node with the rules of a group.
func kernelHost(t *testing.T, g kernelGroup) *Host {
	return labHost(t, g.sysctls, restored(t, g.family, emptyRules+g.rules))
}

// labHost is the Host that is like the lab's node.
func labHost(t *testing.T, set map[string]string, kernel *fakeipt.Kernel) *Host {
	sysctls := map[string]string{
		"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1",
		"net.ipv4.conf.cwpsc.route_localnet": "1", "net.ipv4.conf.all.rp_filter": "0",
		"net.ipv4.conf.cwpsc.rp_filter": "0", "net.ipv4.conf.cwpss.rp_filter": "0",
		"net.ipv4.conf.all.send_redirects": "0", "net.ipv4.conf.cwpsc.send_redirects": "0", "net.ipv4.conf.cwpss.send_redirects": "0",
	}
	maps.Copy(sysctls, set)
	h, err := NewHost(HostConfig{
		Name: "node",
		Devices: []Device{
			{Name: "cwpsc", Up: true, MAC: nodeMAC("client").String(), Addresses: addresses("10.77.1.1/24", "fd77:1::1/64")},
			{Name: "cwpss", Up: true, MTU: serverMTU, MAC: nodeMAC("server").String(), Addresses: addresses("10.77.2.1/24", "fd77:2::1/64")},
		},
		Routes: append(routeCasesRoutes(), []Route{
			{Dst: netip.MustParsePrefix("10.99.0.0/16"), Via: netip.MustParseAddr("10.77.2.2"), Dev: "cwpss"},
			{Dst: netip.MustParsePrefix("fd99::/16"), Via: netip.MustParseAddr("fd77:2::2"), Dev: "cwpss"},
			{Dst: netip.MustParsePrefix("10.95.0.0/16"), Via: netip.MustParseAddr("10.77.2.2"), Dev: "cwpss"},
			{Dst: netip.MustParsePrefix("10.95.0.0/16"), Dev: "cwpsc", Table: 95},
			{Dst: netip.MustParsePrefix("10.97.0.0/16"), Type: RouteBlackhole},
			{Dst: netip.MustParsePrefix("10.96.0.0/16"), Type: RouteProhibit},
		}...),
		PolicyRules: append(append(defaultRules(netfilter.IPv4), defaultRules(netfilter.IPv6)...), []PolicyRule{
			{Family: netfilter.IPv4, Priority: 95, Mark: 95, Table: 95},
			{Family: netfilter.IPv6, Priority: 95, Mark: 95, Table: 95},
			{Family: netfilter.IPv4, Priority: 96, In: "cwpss", To: netip.MustParsePrefix("10.99.3.0/24"), Action: RuleProhibit},
			{Family: netfilter.IPv6, Priority: 96, In: "cwpss", To: netip.MustParsePrefix("fd99:3::/32"), Action: RuleBlackhole},
		}...),
		Sysctls:   sysctls,
		Netfilter: kernel.Namespace(),
	})
	require.NoError(t, err)
	return h
}

func hostConnections(h *Host, states bool) []string {
	var lines []string
	for _, e := range h.Conntrack() {
		line := connectionText(e.Original) + " " + connectionText(e.Reply)
		if states {
			line += stateText(e.State, int(e.Timeout), !e.Replied, e.Assured)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// stateText is a connection's state; the timeouts are apart enough that those of a second ago are told by rounding up.
func stateText(state string, timeout int, unreplied, assured bool) string {
	return fmt.Sprintf(" %s %d unreplied=%t assured=%t", state, (timeout+4)/5*5, unreplied, assured)
}

// connectionText leaves ports out that are not the packets' own: where the kernel chooses one, it is another each time.
func connectionText(t conntrack.Tuple) string {
	return fmt.Sprintf("%s %s:%s>%s:%s", t.Proto, t.Src, knownPort(t.SrcPort), t.Dst, knownPort(t.DstPort))
}

func knownPort(port uint16) string {
	if port > 1023 && port != 8080 && (port < 30080 || port > 30081) && (port < 41000 || port > 41100) {
		return "chosen"
	}
	return fmt.Sprint(port)
}
