package explain_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

func address(text string) snapshot.Address {
	return snapshot.Address{Prefix: netip.MustParsePrefix(text)}
}

// node is a node with an underlay, a pod's device and a bridge with two ports, and rules of one table.
func node(rules string) *snapshot.NodeSnapshot {
	s := &snapshot.NodeSnapshot{
		Version: snapshot.Version, Hostname: "node1",
		Devices: []snapshot.Device{
			{Name: "eth0", Index: 2, Up: true, MTU: 1500, Addresses: []snapshot.Address{address("192.168.0.2/24")}},
			{Name: "pod1", Index: 3, Up: true, MTU: 1500},
			{Name: "cni0", Index: 4, Kind: "bridge", Up: true, Addresses: []snapshot.Address{address("10.244.1.1/24")}},
			{Name: "port1", Index: 5, Master: "cni0", Up: true, Neighbours: []netip.Addr{netip.MustParseAddr("10.244.1.5")}},
		},
		Routes: []snapshot.Route{
			{Dst: netip.MustParsePrefix("10.250.0.7/32"), Dev: "pod1", Table: packetsim.TableMain},
			{Dst: netip.MustParsePrefix("192.168.0.0/24"), Dev: "eth0", Table: packetsim.TableMain},
			{Dst: netip.MustParsePrefix("10.244.1.0/24"), Dev: "cni0", Table: packetsim.TableMain},
			{Dst: netip.MustParsePrefix("10.66.0.0/16"), Type: packetsim.RouteBlackhole, Table: packetsim.TableMain},
			{Dst: netip.MustParsePrefix("10.67.0.0/16"), Type: packetsim.RouteUnreachable, Table: packetsim.TableMain},
		},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": "0"},
	}
	if rules != "" {
		s.IPTables = []snapshot.Rules{{Family: netfilter.IPv4, Dialect: netfilter.Legacy, Save: rules}}
	}
	return s
}

func filter(lines string) string {
	return "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" + lines + "COMMIT\n"
}

func TestOfOutcomeNamesWhatStopped(t *testing.T) {
	set := func(key, value string) func(*snapshot.NodeSnapshot) {
		return func(s *snapshot.NodeSnapshot) { s.Sysctls[key] = value }
	}
	const passing = "tcp 10.250.0.7:40000 > 192.168.0.9:80 in pod1"
	for _, row := range []stopped{
		{name: "policy", rules: "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n", packet: passing, want: cause.Cause{
			Code: cause.Policy, What: "iptables -t filter -P FORWARD DROP", Says: "The policy DROP of filter FORWARD drops the packet.",
			Remedy: "iptables -t filter -P FORWARD ACCEPT"}},
		{name: "a rule of Docker", packet: passing,
			rules: filter(":DOCKER-USER - [0:0]\n-A FORWARD -j DOCKER-USER\n-A DOCKER-USER -i pod1 -j DROP\n"), want: cause.Cause{
				Code: cause.ForeignDrop, What: "iptables -t filter -A DOCKER-USER -i pod1 -j DROP", Owner: "Docker",
				Says:   "Rule 1 of filter DOCKER-USER, which is Docker's, drops the packet.",
				Remedy: "iptables -t filter -D DOCKER-USER -i pod1 -j DROP"}},
		{name: "a rule of somebody else", packet: passing, rules: filter("-A FORWARD -i pod1 -j REJECT --reject-with icmp-port-unreachable\n"),
			want: cause.Cause{
				Code: cause.ForeignDrop, What: "iptables -t filter -A FORWARD -i pod1 -j REJECT --reject-with icmp-port-unreachable",
				Says:   "Rule 1 of filter FORWARD, which is somebody else's, rejects the packet.",
				Remedy: "iptables -t filter -D FORWARD -i pod1 -j REJECT --reject-with icmp-port-unreachable"}},
		{name: "a foreign translation before a drop", packet: passing,
			rules: "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j DNAT --to-destination 10.66.0.1:80\nCOMMIT\n", want: cause.Cause{
				Code: cause.ForeignNAT, What: "iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.66.0.1:80",
				Says:   "Rule 1 of nat PREROUTING, which is somebody else's, of node1 translates the destination before kube-proxy's rules can.",
				Remedy: "iptables -t nat -D PREROUTING -p tcp -j DNAT --to-destination 10.66.0.1:80"}},
		{name: "kube-proxy: no endpoints", packet: passing,
			rules: filter(":KUBE-SERVICES - [0:0]\n-A FORWARD -j KUBE-SERVICES\n-A KUBE-SERVICES -d 192.168.0.9/32 -p tcp -m comment " +
				"--comment \"shop/web has no endpoints\" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable\n"), want: cause.Cause{
				Code: cause.NoEndpoints, Owner: "kube-proxy", Says: "shop/web has no endpoint that serves, by the rules of node1.",
				What: "iptables -t filter -A KUBE-SERVICES -d 192.168.0.9/32 -p tcp -m comment --comment \"shop/web has no endpoints\" -m tcp " +
					"--dport 80 -j REJECT --reject-with icmp-port-unreachable",
				Remedy: "kubectl describe endpointslices of shop/web: a ready pod that the selector selects"}},
		{name: "ip_forward", packet: passing, change: set("net.ipv4.ip_forward", "0"), want: cause.Cause{
			Code: cause.ForwardingOff, What: "net.ipv4.ip_forward = 0", Says: "node1 does not forward packets, and the packet is for another host.",
			Remedy: "sysctl -w net.ipv4.ip_forward=1"}},
		{name: "forwarding of one device", packet: passing, change: set("net.ipv4.conf.pod1.forwarding", "0"), want: cause.Cause{
			Code: cause.ForwardingOff, What: "net.ipv4.conf.pod1.forwarding = 0",
			Says:   "node1 does not forward packets, and the packet is for another host.",
			Remedy: "sysctl -w net.ipv4.conf.pod1.forwarding=1"}},
		{name: "rp_filter", packet: "tcp 192.168.0.7:40000 > 10.250.0.7:80 in pod1", change: set("net.ipv4.conf.pod1.rp_filter", "1"),
			want: cause.Cause{
				Code: cause.ReversePath, What: "net.ipv4.conf.pod1.rp_filter = 1",
				Says:   "The packet comes to node1 by pod1, and the route back to 192.168.0.7 is another: the reverse path filter drops it.",
				Remedy: "sysctl -w net.ipv4.conf.pod1.rp_filter=2, or a route to 192.168.0.7 by pod1"}},
		{name: "rp_filter of all devices", packet: "tcp 192.168.0.7:40000 > 10.250.0.7:80 in pod1",
			change: set("net.ipv4.conf.all.rp_filter", "1"),
			want: cause.Cause{
				Code: cause.ReversePath, What: "net.ipv4.conf.all.rp_filter = 1",
				Says:   "The packet comes to node1 by pod1, and the route back to 192.168.0.7 is another: the reverse path filter drops it.",
				Remedy: "sysctl -w net.ipv4.conf.all.rp_filter=2, or a route to 192.168.0.7 by pod1"}},
		{name: "a loopback destination", packet: "tcp 10.250.0.7:40000 > 127.0.0.1:30080 in pod1", want: cause.Cause{
			Code: cause.RouteLocalnet, What: "net.ipv4.conf.all.route_localnet = 0",
			Says:   "node1 does not route packets with a loopback address, which the packet has.",
			Remedy: "sysctl -w net.ipv4.conf.all.route_localnet=1 (kube-proxy: iptables.localhostNodePorts), or call an address of the node"}},
		{name: "a martian", packet: "tcp 224.0.0.1:40000 > 192.168.0.9:80 in pod1", want: cause.Cause{
			Code: cause.Martian, What: "224.0.0.1 > 192.168.0.9 in pod1",
			Says: "node1 takes no packet from 224.0.0.1 to 192.168.0.9 by pod1: martian source."}},
		{name: "no route", packet: "tcp 10.250.0.7:40000 > 203.0.113.1:80 in pod1", want: cause.Cause{
			Code: cause.NoRoute, What: "the route to 203.0.113.1", Says: "node1 has no route to 203.0.113.1.",
			Remedy: "ip route add 203.0.113.1/32 dev DEVICE (what the network plugin should have done)"}},
		{name: "a blackhole", packet: "tcp 10.250.0.7:40000 > 10.66.0.1:80 in pod1", want: cause.Cause{
			Code: cause.RouteRefuses, What: "the route to 10.66.0.1", Remedy: "ip route get 10.66.0.1",
			Says: "node1 has a route for 10.66.0.1 that refuses packets (blackhole route)."}},
		{name: "an unreachable route", packet: "tcp 10.250.0.7:40000 > 10.67.0.1:80 in pod1", want: cause.Cause{
			Code: cause.RouteRefuses, What: "the route to 10.67.0.1", Remedy: "ip route get 10.67.0.1",
			Says: "node1 has a route for 10.67.0.1 that refuses packets (unreachable route)."}},
		{name: "TTL", packet: passing + " ttl 1", want: cause.Cause{
			Code: cause.Loop, What: "the route to 192.168.0.9", Says: "The packet goes round between hosts until its TTL has run out.",
			Remedy: "ip route get 192.168.0.9"}},
		{name: "no hairpin", packet: "tcp 10.244.1.5:40000 > 10.244.1.5:80 in port1", want: cause.Cause{
			Code: cause.Hairpin, What: "port port1 is not in hairpin mode",
			Says:   "The packet would have to leave node1 by the port port1 that it came by, which is not in hairpin mode.",
			Remedy: "bridge link set dev port1 hairpin on (kubelet: hairpinMode, CNI bridge: hairpinMode true)"}},
	} {
		t.Run(row.name, row.check)
	}
}

// TestOfOutcomeNamesDevicesThatAreDown: the routes by a device go with it, but a port of a bridge has none.
func TestOfOutcomeNamesDevicesThatAreDown(t *testing.T) {
	for _, row := range []stopped{
		{name: "a device that is down", packet: "tcp 10.250.0.7:40000 > 192.168.0.9:80 in pod1", change: func(s *snapshot.NodeSnapshot) {
			s.Devices[1].Up = false
		}, want: cause.Cause{
			Code: cause.DeviceDown, What: "device pod1", Says: "Device pod1 of node1 is down.",
			Remedy: "restart what makes pod1 and its routes (the network plugin's pod, or the node's network service): ip link set pod1 up alone " +
				"brings no route back"}},
		{name: "a port that is down", packet: "tcp 10.244.1.5:40000 > 192.168.0.9:80 in port1", change: func(s *snapshot.NodeSnapshot) {
			s.Devices[slices.IndexFunc(s.Devices, func(d snapshot.Device) bool { return d.Name == "port1" })].Up = false
		}, want: cause.Cause{
			Code: cause.DeviceDown, What: "device port1", Says: "Device port1 of node1 is down.", Remedy: "ip link set port1 up"}},
	} {
		t.Run(row.name, row.check)
	}
}

// stopped is a packet that is stopped on a node with rules and a change, and the cause that is named.
type stopped struct {
	name, rules, packet string
	change              func(*snapshot.NodeSnapshot)
	want                cause.Cause
}

func (row *stopped) check(t *testing.T) {
	s := node(row.rules)
	if row.change != nil {
		row.change(s)
	}
	in, err := inet.ParseInput(row.packet)
	require.NoError(t, err)
	result, err := s.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
	require.NoError(t, err)
	require.Len(t, result.Outcomes, 1)
	got, ok := cause.OfOutcome("node1", in, &result.Outcomes[0], s)
	require.True(t, ok, result.Outcomes[0].Summary())
	row.want.Host, row.want.Family = "node1", netfilter.IPv4
	assert.Equal(t, row.want, got)
}

func TestOfOutcomeOfWhatPasses(t *testing.T) {
	in, err := inet.ParseInput("tcp 10.250.0.7:40000 > 192.168.0.9:80 in pod1")
	require.NoError(t, err)
	result, err := node("").Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
	require.NoError(t, err)
	_, ok := cause.OfOutcome("node1", in, &result.Outcomes[0], nil)
	assert.False(t, ok)
}
