//go:build linux

package packetsim

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// newFrameLab is a lab whose node has nothing but a device to each place: what they are is the caller's.
func newFrameLab(t *testing.T) *kernelLab {
	lab := newPlaces(t)
	for _, place := range []string{"client", "server"} {
		dev := "cwps" + place[:1]
		lab.run("node", "ip", "link", "add", dev, "address", nodeMAC(place).String(), "type", "veth", "peer", "name", "eth0", "netns",
			lab.places[place].Path())
		lab.run("node", "ip", "link", "set", dev, "up")
		lab.run(place, "ip", "link", "set", "eth0", "address", placeMAC(place).String(), "up")
		lab.run(place, "iptables-legacy", "-t", "raw", "-A", "PREROUTING", "-j", "DROP")
	}
	for _, key := range []string{"all.rp_filter", "default.rp_filter", "cwpsc.rp_filter", "cwpss.rp_filter", "all.send_redirects",
		"default.send_redirects"} {
		lab.sysctl("net.ipv4.conf."+key, "0")
	}
	lab.sysctl("net.ipv6.conf.all.disable_ipv6", "1") // its own messages would go by the tunnel
	lab.sysctl("net.ipv6.conf.default.disable_ipv6", "1")
	lab.sysctl("net.ipv4.ip_forward", "1")
	lab.sysctl("net.ipv4.icmp_ratemask", "0")
	lab.openLog()
	return lab
}

// frameCase is one packet: the place that sends it, the link-layer address that it goes to and the lines that are awaited.
type frameCase struct {
	name, place, packet string
	mac                 net.HardwareAddr
	verdict             Verdict
	port                string // of the bridge, that it leaves by
}

const bridgeRules = traceFirst + `COMMIT
*mangle
:POSTROUTING ACCEPT [0:0]
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d 10.99.0.1/32 -p udp -j DNAT --to-destination 10.77.1.3:8080
-A PREROUTING -d 10.99.0.2/32 -p udp -j DNAT --to-destination 10.77.1.2:8080
-A PREROUTING -d 10.99.0.3/32 -p udp -j DNAT --to-destination 10.77.1.1:98
-A PREROUTING -d 10.99.0.4/32 -p udp -j DNAT --to-destination 10.98.0.1:98
-A POSTROUTING -s 10.77.1.2/32 -d 10.77.1.2/32 -j MASQUERADE
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -m physdev --physdev-in cwpsc
-A INPUT -m physdev ! --physdev-is-bridged
-A FORWARD -m physdev --physdev-is-bridged
-A FORWARD -m physdev --physdev-in cwpsc --physdev-out cwpss
-A FORWARD -m physdev ! --physdev-out cwpss
-A FORWARD -i cwbr -o cwbr
-A FORWARD -m physdev --physdev-is-in
-A FORWARD -m physdev --physdev-is-out
-A OUTPUT -m physdev ! --physdev-is-in
-A FORWARD -p udp -m udp --dport 7 -j REJECT
COMMIT
`

func bridgeCases() []frameCase {
	gateway, server, client := nodeMAC("bridge"), placeMAC("server"), placeMAC("client")
	return []frameCase{
		{"to another port", "client", "udp 10.77.1.2:41001 > 10.77.1.3:80", server, Accept, "cwpss"},
		{"answer", "server", "udp 10.77.1.3:80 > 10.77.1.2:41001", client, Accept, "cwpsc"},
		{"to the node", "client", "udp 10.77.1.2:41002 > 10.77.1.1:98", gateway, Accept, ""},
		{"translated to another port", "client", "udp 10.77.1.2:41003 > 10.99.0.1:80", gateway, Accept, "cwpss"},
		{"answer of the other port", "server", "udp 10.77.1.3:8080 > 10.77.1.2:41003", client, Accept, "cwpsc"},
		{"translated to the same port", "client", "udp 10.77.1.2:41004 > 10.99.0.2:80", gateway, Drop, ""},
		{"translated to the node", "client", "udp 10.77.1.2:41005 > 10.99.0.3:80", gateway, Accept, ""},
		{"translated to a way without a route", "client", "udp 10.77.1.2:41006 > 10.99.0.4:80", gateway, Reject, ""},
		{"rejected on the bridge", "client", "udp 10.77.1.2:41007 > 10.77.1.3:7", server, Reject, ""},
		{"of the node", "node", "udp 10.77.1.1:41008 > 10.77.1.2:80", nil, Accept, "cwpsc"},
	}
}

// TestBridgeAsKernel compares the walks of bridged packets with those of the kernel's bridge and br_netfilter.
func TestBridgeAsKernel(t *testing.T) {
	lab := newFrameLab(t)
	lab.run("node", "ip", "link", "add", "cwbr", "address", nodeMAC("bridge").String(), "type", "bridge", "forward_delay", "0")
	for _, dev := range []string{"cwpsc", "cwpss"} {
		lab.run("node", "ip", "link", "set", dev, "master", "cwbr")
	}
	lab.run("node", "ip", "addr", "add", "10.77.1.1/24", "dev", "cwbr")
	lab.run("node", "ip", "link", "set", "cwbr", "up")
	for addr, place := range map[string]string{"10.77.1.2": "client", "10.77.1.3": "server"} {
		lab.run("node", "ip", "neigh", "replace", addr, "lladdr", placeMAC(place).String(), "dev", "cwbr", "nud", "permanent")
		lab.run("node", "bridge", "fdb", "replace", placeMAC(place).String(), "dev", "cwps"+place[:1], "master", "static")
	}
	for _, calls := range []string{"1", "0"} {
		for _, hairpin := range []string{"off", "on"} {
			t.Run("calls "+calls+", hairpin "+hairpin, func(t *testing.T) { lab.in(t).compareBridge(calls, hairpin) })
		}
	}
}

func (lab *kernelLab) compareBridge(calls, hairpin string) {
	lab.sysctl("net.bridge.bridge-nf-call-iptables", calls)
	lab.run("node", "ip", "link", "set", "cwpsc", "type", "bridge_slave", "hairpin", hairpin)
	lab.restore(netfilter.IPv4, bridgeRules)
	lab.run("node", "conntrack", "-F")
	host, err := NewHost(HostConfig{
		Name: "node",
		Devices: []Device{
			{Name: "cwbr", Kind: "bridge", Up: true, Addresses: addresses("10.77.1.1/24")},
			{Name: "cwpsc", Up: true, Master: "cwbr", Hairpin: hairpin == "on", Neighbours: []netip.Addr{netip.MustParseAddr("10.77.1.2")}},
			{Name: "cwpss", Up: true, Master: "cwbr", Neighbours: []netip.Addr{netip.MustParseAddr("10.77.1.3")}},
		},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": calls,
			"net.ipv4.conf.all.send_redirects": "0", "net.ipv4.conf.cwbr.send_redirects": "0"},
		Netfilter: restored(lab.t, netfilter.IPv4, bridgeRules).Namespace(),
	})
	require.NoError(lab.t, err)
	for i, c := range bridgeCases() {
		o := lab.compareFrame(host, c, uint16(0x6000+16*i), traceLines)
		if calls == "1" && !(hairpin == "on" && c.name == "translated to the same port") {
			require.Equal(lab.t, c.verdict, o.Verdict, c.name)
			require.Equal(lab.t, c.port, o.Port, c.name)
		}
	}
	real := slices.DeleteFunc(lab.connections(kernelGroup{family: netfilter.IPv4}), func(line string) bool {
		return strings.Contains(line, "224.0.0.22") // the bridge's own
	})
	require.Equal(lab.t, real, hostConnections(host, false))
}

// compareFrame sends one packet both ways. lines is what the kernel logs for an outcome.
func (lab *kernelLab) compareFrame(host *Host, c frameCase, id uint16, lines func(Outcome) []string) Outcome {
	in, err := inet.ParseInput(c.packet)
	require.NoError(lab.t, err)
	return lab.compareInput(host, c, in, id, lines)
}

func (lab *kernelLab) compareInput(host *Host, c frameCase, in inet.Input, id uint16, lines func(Outcome) []string) Outcome {
	if c.place == "node" {
		in.Local = true
	} else {
		in.In = "cwps" + c.place[:1]
	}
	o, err := host.Step(in, &replayChance{})
	require.NoError(lab.t, err, c.name)
	want := lines(o)
	lab.within(c.place, func() {
		if c.place == "node" {
			lab.sendRaw(wireFormat(in.Packet, id), in.Dst)
		} else {
			lab.sendFrame(wireFormat(in.Packet, id), c.mac)
		}
	})
	real := lab.trace(len(want), id)
	if o.To == ToLocal { // what the sockets of the node answer is not the walk's
		real = slices.DeleteFunc(real, func(line string) bool { return strings.HasPrefix(line, "reply ") })
	}
	require.Equal(lab.t, strings.Join(real, "\n"), strings.Join(want, "\n"), "%s: verdict %s %s", c.name, o.Verdict, o.Why)
	return o
}

const tunnelRules = traceFirst + `COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 8472 -j MARK --set-xmark 0x8/0x8
-A PREROUTING -p udp -m udp --dport 80 -j MARK --set-xmark 0x4000/0x4000
-A PREROUTING -m mark --mark 0x8/0x8
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A POSTROUTING -p tcp -j MARK --set-xmark 0x4000/0x0
-A POSTROUTING -j MASQUERADE
COMMIT
*filter
:FORWARD ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p udp -m udp --dport 81 -j MARK --set-xmark 0x4000/0x4000
-A OUTPUT -m mark --mark 0x4000/0x4000
-A OUTPUT -p udp -m udp --dport 8472
COMMIT
`

// TestTunnelAsKernel compares what VXLAN does to a packet: marked or not, it is walked again inside of another one.
func TestTunnelAsKernel(t *testing.T) {
	lab := newFrameLab(t)
	lab.run("node", "ip", "addr", "add", "10.77.1.1/24", "dev", "cwpsc")
	lab.run("node", "ip", "addr", "add", "10.77.2.1/24", "dev", "cwpss")
	lab.run("node", "ip", "neigh", "replace", "10.77.2.2", "lladdr", placeMAC("server").String(), "dev", "cwpss", "nud", "permanent")
	lab.run("node", "ip", "neigh", "replace", "10.77.1.2", "lladdr", placeMAC("client").String(), "dev", "cwpsc", "nud", "permanent")
	lab.run("node", "ip", "link", "add", "cwvx", "address", nodeMAC("tunnel").String(), "type", "vxlan", "id", "7", "dstport", "8472",
		"local", "10.77.2.1", "remote", "10.77.2.2", "nolearning")
	lab.run("node", "ip", "addr", "add", "10.66.0.1/32", "dev", "cwvx")
	lab.run("node", "ip", "link", "set", "cwvx", "up")
	lab.run("node", "ip", "neigh", "replace", "10.66.1.0", "lladdr", placeMAC("server").String(), "dev", "cwvx", "nud", "permanent")
	lab.run("node", "ip", "route", "add", "10.66.1.0/24", "via", "10.66.1.0", "dev", "cwvx", "onlink")
	lab.sysctl("net.ipv4.conf.cwvx.rp_filter", "0")
	lab.sysctl("net.ipv4.conf.cwvx.send_redirects", "0")
	lab.restore(netfilter.IPv4, tunnelRules)
	remote := netip.MustParseAddr("10.66.1.0")
	host, err := NewHost(HostConfig{
		Name: "node",
		Devices: []Device{
			{Name: "cwpsc", Up: true, Addresses: addresses("10.77.1.1/24")},
			{Name: "cwpss", Up: true, Addresses: addresses("10.77.2.1/24")},
			{Name: "cwvx", Kind: "vxlan", Up: true, Addresses: addresses("10.66.0.1/32"),
				VXLAN: &VXLAN{ID: 7, Local: netip.MustParseAddr("10.77.2.1"),
					Remotes: map[netip.Addr]netip.Addr{remote: netip.MustParseAddr("10.77.2.2")}}},
		},
		Routes: []Route{{Dst: netip.MustParsePrefix("10.66.1.0/24"), Via: remote, Dev: "cwvx"}},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.send_redirects": "0", "net.ipv4.conf.cwpsc.send_redirects": "0",
			"net.ipv4.conf.cwpss.send_redirects": "0", "net.ipv4.conf.cwvx.send_redirects": "0"},
		Netfilter: restored(t, netfilter.IPv4, tunnelRules).Namespace(),
	})
	require.NoError(t, err)
	for i, c := range []frameCase{
		{name: "out", place: "client", packet: "udp 10.77.1.2:41001 > 10.66.1.5:82", mac: nodeMAC("client")},
		{name: "out, marked in FORWARD", place: "client", packet: "udp 10.77.1.2:41002 > 10.66.1.5:81", mac: nodeMAC("client")},
		{name: "out, mark taken away", place: "client", packet: "tcp 10.77.1.2:41003 > 10.66.1.5:81 mark 0", mac: nodeMAC("client")},
		{name: "out, marked in PREROUTING", place: "client", packet: "udp 10.77.1.2:41004 > 10.66.1.5:80", mac: nodeMAC("client")},
		{name: "of the node", place: "node", packet: "udp 10.66.0.1:41005 > 10.66.1.5:82"},
	} {
		o := lab.compareFrame(host, c, uint16(0x7000+16*i), tunnelLines)
		require.Equal(t, inet.UDP, o.Final.Proto, c.name)
		require.Equal(t, "10.77.2.2", o.Final.Dst.String(), c.name)
	}
	carried := parse(t, "udp 10.66.1.5:41006 > 10.77.1.2:80 in cwvx").Packet
	in := parse(t, "udp 10.77.2.2:41007 > 10.77.2.1:8472 in cwpss")
	in.Carried, in.VNI = &carried, 7
	o := lab.compareInput(host, frameCase{name: "in", place: "server", mac: nodeMAC("server")}, in, 0x7100, tunnelLines)
	require.Equal(t, "10.66.1.5", carried.Src.String())
	require.Equal(t, "cwpsc", o.Out)
}

// tunnelLines are the lines of both packets: the second, whose identification is another, begins where raw is run again.
func tunnelLines(o Outcome) []string {
	var lines []string
	prefix := ""
	for i, s := range o.Steps {
		if s.Table == "raw" && s.Number == 1 {
			if i > 0 {
				prefix = "reply "
			}
			continue
		}
		lines = append(lines, prefix+s.String())
	}
	return lines
}
